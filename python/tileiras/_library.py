"""The C library libtileiras by ctypes; tileiras.h says what its functions promise."""
from __future__ import annotations

import ctypes
import difflib
import functools
import json
import os
import pathlib
import sys
from typing import TYPE_CHECKING, Any, Sequence

from tileiras._options import CompileOptions, ProgramOptions
from tileiras._results import CompileError, Result

if TYPE_CHECKING:
    from typing_extensions import Buffer, Unpack

OK, USAGE, OPTIONS, INPUT, UNSUPPORTED, FAULT, BUG = 0, 1, 2, 3, 5, 6, 70

_ABI = 2


class LibraryError(RuntimeError):
    """The library is missing, of another version, or was asked for something that makes no sense."""


class Region(ctypes.Structure):
    """Memory that a kernel may touch: tileiras_region."""
    _fields_ = [("name", ctypes.c_char_p), ("address", ctypes.c_uint64), ("data", ctypes.c_void_p), ("size", ctypes.c_uint64), ("read_only", ctypes.c_uint64)]


_handle = ctypes.c_uint64
# Each function with its result and its parameters.
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "tileiras_abi": (ctypes.c_int, []),
    "tileiras_build": (ctypes.c_char_p, []),
    "tileiras_options_new": (_handle, []),
    "tileiras_set": (ctypes.c_int, [_handle, ctypes.c_char_p, ctypes.c_char_p]),
    "tileiras_cancel_new": (_handle, []),
    "tileiras_cancel": (None, [_handle]),
    "tileiras_load": (_handle, [ctypes.c_char_p, ctypes.c_size_t, _handle, _handle]),
    "tileiras_compile": (_handle, [ctypes.c_char_p, ctypes.c_size_t, _handle, _handle]),
    "tileiras_launch": (_handle, [_handle, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]),
    "tileiras_wait": (ctypes.c_int, [_handle, ctypes.c_int]),
    "tileiras_progress": (ctypes.c_int64, [_handle, ctypes.POINTER(ctypes.c_int64)]),
    "tileiras_status": (ctypes.c_int, [_handle]),
    "tileiras_error": (ctypes.c_char_p, [_handle]),
    "tileiras_output": (ctypes.c_void_p, [_handle, ctypes.POINTER(ctypes.c_size_t)]),
    "tileiras_json": (ctypes.c_char_p, [_handle, ctypes.c_char_p]),
    "tileiras_explain": (ctypes.c_char_p, [_handle]),
    "tileiras_free": (ctypes.c_int, [_handle]),
    "tileiras_driver": (ctypes.c_void_p, [_handle]),
    "tileiras_driver_memory": (None, [ctypes.c_void_p, ctypes.c_size_t]),
    "tileiras_driver_launched": (_handle, []),
    "tileiras_image": (_handle, [ctypes.c_char_p, ctypes.c_size_t, _handle]),
}


def folder() -> pathlib.Path:
    """Where the library and the commands are: beside this file in a wheel, in bin/ of a source tree, or where TILEIRAS_BIN says."""
    if named := os.environ.get("TILEIRAS_BIN"):
        return pathlib.Path(named)
    here = pathlib.Path(__file__).resolve().parent
    packaged = here / "bin"
    return packaged if packaged.is_dir() else here.parent.parent / "bin"


class Library:
    """The functions of the library. Handles are numbers; those that a method gives out must be freed."""

    def __init__(self, file: pathlib.Path):
        try:
            self.c = ctypes.CDLL(str(file))
        except OSError as e:
            raise LibraryError(f"the library of tileiras cannot be loaded: {e}") from None
        for name, (result, parameters) in _FUNCTIONS.items():
            function = getattr(self.c, name)
            function.restype, function.argtypes = result, parameters
        if self.c.tileiras_abi() != _ABI:
            raise LibraryError(f"{file} has version {self.c.tileiras_abi()} of the interface, this package is for {_ABI}")
        self.file = file

    @property
    def build(self) -> str:
        return self.c.tileiras_build().decode()

    def options(self, **values: object) -> int:
        """Makes an object of options; a value of None is left out."""
        options = self.c.tileiras_options_new()
        for name, value in values.items():
            text = str(int(value) if isinstance(value, bool) else value)
            if value is not None and self.c.tileiras_set(options, name.encode(), text.encode()) != OK:
                self.free(options)
                raise LibraryError(refusal(name, value))
        return options

    def status(self, handle: int) -> int:
        return self.c.tileiras_status(handle)

    def error(self, handle: int) -> str:
        return (self.c.tileiras_error(handle) or b"").decode(errors="replace")

    def output(self, handle: int) -> bytes:
        size = ctypes.c_size_t()
        data = self.c.tileiras_output(handle, ctypes.byref(size))
        return ctypes.string_at(data, size.value) if data else b""

    def json(self, handle: int, part: str) -> Any:
        text = self.c.tileiras_json(handle, part.encode())
        return None if text is None else json.loads(text)

    def free(self, handle: int) -> None:
        self.c.tileiras_free(handle)

    def explain(self, handle: int) -> str:
        return (self.c.tileiras_explain(handle) or b"").decode(errors="replace")

    def compile(self, source: Buffer | str, *, cancel: CancelToken | None = None, **options: Unpack[CompileOptions]) -> Result:
        """See compile."""
        data = source_bytes(source)
        o = self.options(**options)
        h = self.c.tileiras_compile(data, len(data), o, cancel.handle if cancel else 0)
        try:
            if code := self.status(h):
                raise CompileError(self.error(h), code, self.json(h, "diagnostics"))
            return Result(self.output(h), self.json(h, "metadata"), self.json(h, "diagnostics"), self.json(h, "remarks"), self.explain(h))
        finally:
            self.free(h)
            self.free(o)

    def image(self, source: bytes, options: int) -> tuple[int, bytes, str]:
        """Tile IR as the stand-in for the driver takes it: status, bytes, error."""
        h = self.c.tileiras_image(source, len(source), options)
        try:
            return self.status(h), self.output(h), self.error(h)
        finally:
            self.free(h)

    def progress(self, launch: int) -> tuple[int, int]:
        """How many tile blocks of a launch have ended, and of how many."""
        total = ctypes.c_int64()
        return self.c.tileiras_progress(launch, ctypes.byref(total)), total.value


def source_bytes(source: Buffer | str) -> bytes:
    """Tile IR as the library takes it. A text is read as UTF-8."""
    if isinstance(source, bytes):
        return source
    return source.encode() if isinstance(source, str) else memoryview(source).tobytes()


def refusal(name: str, value: object) -> str:
    """What is wrong with an option that the library refuses."""
    names = ProgramOptions.__optional_keys__
    if name in names:
        return f"{value!r} is no value of the option '{name}'"
    near = difflib.get_close_matches(name, names, 1)
    return f"there is no option '{name}'" + (f"; did you mean '{near[0]}'?" if near else "")


def regions(memory: Sequence[tuple[str, int, int, bool]]) -> ctypes.Array[Region]:
    """An array of regions from names, addresses, sizes, and whether they may only be read."""
    return (Region * len(memory))(*((name.encode(), address, address, size, read_only) for name, address, size, read_only in memory))


_SUFFIX = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")


_forked = False     # this process came by fork from one that had loaded the library
_loaded = False


def _after_fork() -> None:
    """Of a child: of the threads of the library, which is written in Go, none has come along, so that a call would wait for ever."""
    global _forked
    _forked = _loaded


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def library() -> Library:
    """The library of this package, loaded once, by the first who asks for it."""
    if _forked:
        raise LibraryError("this process was forked from one that had used the library of tileiras already, which does not survive that: "
                           "start processes by the method 'spawn' of multiprocessing, or fork before the first launch")
    return _load()


@functools.cache
def _load() -> Library:
    global _loaded
    _loaded = True
    return Library(folder() / f"libtileiras.{_SUFFIX}")


class CancelToken:
    """Ends the compiles that were given it, within 10 ms. Any thread may do so."""

    def __init__(self) -> None:
        self._library = library()
        self.handle: int = self._library.c.tileiras_cancel_new()

    def cancel(self) -> None:
        """Ends them, and those that are given it later."""
        self._library.c.tileiras_cancel(self.handle)

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            self._library.free(self.handle)


def compile(source: Buffer | str, *, cancel: CancelToken | None = None, **options: Unpack[CompileOptions]) -> Result:
    """Compiles Tile IR, bytecode or text, such as compile(source, gpu="sm_90", emit="cubin", tma=True).

    What is wrong with the source, or with the value of an option, is a CompileError; an option that does not exist, or a value that is none, such as
    a text for a number, is a LibraryError. Any thread may call it.
    """
    return library().compile(source, cancel=cancel, **options)
