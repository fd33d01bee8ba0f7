"""Puts the stand-in for the driver under cuTile Python: its compiler is this package, its launches run here."""
from __future__ import annotations

import ast
import ctypes
import dataclasses
import functools
import linecache
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import threading
import types
from typing import Any, Callable

from tileiras import _library
from tileiras._library import library
from tileiras.nogpu import faults, launching, tuning
from tileiras.nogpu.config import MOST_WORKERS, Config, ConfigError


class NotWithoutGPU(RuntimeError):
    """Something that cannot work without a GPU."""


def install(config: Config) -> None:
    """Makes cuTile Python compile and run on this machine. It must be called before cuda.tile is imported. The library is loaded by what needs it
    first, a compile or a launch: processes forked before that may load it too."""
    check_gpu(config.gpu)
    # cuda.tile asks this module of its own for cuGetProcAddress, at its first launch, and that for all else.
    loader = types.ModuleType("cuda.tile._load_libcuda")
    values: dict[str, Callable[[], Any]] = {
        "address": lambda: driver(config),
        "cuGetProcAddress_v2_ptrptr": lambda: ctypes.addressof(driver(config)),
        "_cuGetProcAddress_v2": lambda: ctypes.CFUNCTYPE(ctypes.c_int)(driver(config).value or 0),
    }

    def lazily(name: str) -> Any:
        if name not in values:
            raise AttributeError(f"module {loader.__name__!r} has no attribute {name!r}", name=name, obj=loader)
        return values[name]()

    loader.__getattr__ = lazily  # type: ignore[method-assign]
    sys.modules["cuda.tile._load_libcuda"] = loader
    _prepend("PATH", str(command("tileiras").parent))


def check_gpu(gpu: str) -> None:
    """Asks the compiler, a process of its own, whether there is such a GPU."""
    if gpu == Config.gpu:
        return
    try:
        done = subprocess.run([command("tileiras"), f"--gpu-name={gpu}", "-o", os.devnull, os.devnull], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError:  # it is not here: driver asks
        return
    if done.returncode == _library.USAGE:
        raise ConfigError("gpu", f"is {gpu!r}: {_reason(done.stderr)}")


def _reason(text: str) -> str:
    """The last line of what the compiler says."""
    return text.strip().splitlines()[-1].removeprefix("tileiras: ")


_driver_lock = threading.Lock()
_driver: ctypes.c_void_p | None = None


def driver(config: Config) -> ctypes.c_void_p:
    """The address of cuGetProcAddress of the stand-in, which is made once."""
    global _driver
    lib = library()
    with _driver_lock:
        if _driver is None:
            options = lib.options(gpu=config.gpu, engine=config.engine, checks=config.checks, undefined=config.undefined, equal_stores=1,
                                  workers=config.workers or min(os.cpu_count() or 1, MOST_WORKERS), tma=int(config.tma == "on"), roles=config.roles)
            address = ctypes.c_void_p(lib.c.tileiras_driver(options))
            if not address:
                raise ConfigError("gpu", f"is {config.gpu!r}: {_reason(lib.error(lib.c.tileiras_load(b'', 0, options, 0)))}")
            lib.free(options)
            _driver = address
        return _driver


def device_attribute(attribute: int) -> int:
    """What the driver says of its device: a number of CUdevice_attribute."""
    lookup = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p)
    function, value = ctypes.c_void_p(), ctypes.c_int()
    address = sys.modules["cuda.tile._load_libcuda"].address.value
    lookup(address)(b"cuDeviceGetAttribute", ctypes.addressof(function), 13000, 0, None)
    ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)(function.value or 0)(ctypes.addressof(value), attribute, 0)
    return value.value


def install_in_children(config: Config) -> None:
    """Makes Python processes that this one starts run kernels here too: what they import first is child/sitecustomize.py."""
    here = pathlib.Path(__file__).resolve().parent
    _prepend("PYTHONPATH", str(here / "child"), str(here.parent.parent))
    for name, value in dataclasses.asdict(config).items():
        os.environ["TILEIRAS_" + name.upper()] = str(value)


def _prepend(variable: str, *folders: str) -> None:
    """Prepends folders to a search path of the environment, once."""
    old = [f for f in os.environ.get(variable, "").split(os.pathsep) if f and f not in folders]
    os.environ[variable] = os.pathsep.join([*folders, *old])


def command(name: str) -> pathlib.Path:
    """Where a command of this package is: beside the library in a source tree, among the programs of the environment when installed."""
    for folder in (_library.folder(), pathlib.Path(sysconfig.get_path("scripts"))):
        if (folder / name).is_file():
            return folder / name
    return pathlib.Path(shutil.which(name) or name)


def patch_compiler(module: types.ModuleType, config: Config) -> None:
    """Of cuda.tile._compile: the compiler is in this process, and what it makes are images for the stand-in."""
    binary = module._CompilerBinary
    path = command("tileiras")

    def run(self: Any, args: list[str], flags: list[str], timeout_sec: float | None = None) -> None:
        source, target = args[0], args[args.index("-o") + 1]
        level = next((f[2:] for f in flags if f.startswith("-O")), "3")
        gpu = flags[flags.index("--gpu-name") + 1] if "--gpu-name" in flags else config.gpu
        lib = library()
        options = lib.options(gpu=gpu, opt=level, name=pathlib.Path(source).name)
        try:
            status, image, error = lib.image(pathlib.Path(source).read_bytes(), options)
        finally:
            lib.free(options)
        if status != _library.OK:
            message, loc = module._parse_tileir_stderr(error)
            raise module.TileCompilerExecutionError(status, message, with_function(loc), " ".join(flags), version())
        pathlib.Path(target).write_bytes(image)

    @functools.cache
    def version() -> str:
        return f"tileiras, kernels without a GPU\n{library().build}\n{config.describe()}\n"

    @functools.cache
    def find() -> Any:
        return binary(str(path), os.environ.get("PATH", ""), os.environ.get("LD_LIBRARY_PATH", ""), pass_cuda_home_var=True)

    binary.run = run
    module._find_compiler_bin = find
    module._get_compiler_version_string = version


def with_function(loc: Any) -> Any:
    """A place in the source with the function that it lies in: cuTile 1.7 cannot print one without, as the compiler's are."""
    if loc.is_unknown() or loc.line is None or loc.function is not None:
        return loc
    try:
        tree = ast.parse("".join(linecache.getlines(loc.filename)))
    except SyntaxError:
        tree = ast.Module([], [])
    around = [f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) and f.lineno <= loc.line <= (f.end_lineno or 0)]
    name = max(around, key=lambda f: f.lineno).name if around else "kernel"
    function = sys.modules[type(loc).__module__].FunctionDesc(name, loc.filename, loc.line, loc.col)
    return dataclasses.replace(loc, function=function)


def patch_launch(tile: types.ModuleType, config: Config) -> None:
    """Of cuda.tile: launches wait for their end and raise faults."""
    cext = sys.modules["cuda.tile._cext"]
    original = cext.launch

    @functools.wraps(original)
    def launch(stream: Any, grid: Any, kernel: Any, kernel_args: Any, /, **more: Any) -> None:
        try:
            launching.run(lambda values: original(stream, grid, kernel, values, **more), kernel, kernel_args)
        except faults.KernelFault as fault:
            raise faults.strip_inner_frames(fault)

    cext.launch = tile.launch = launch
    tuning.patch(tile, cext, original, first=config.tuning == "first")
