"""Compiles the kernels of kernels.py with cuTile Python through the tileiras on PATH, for four GPUs each, and looks at what comes out.

    python cutile.py FOLDER-OF-TILEIRAS FOLDER-OF-NVIDIAS-TOOLS [KERNEL ...]

PATH begins with the first folder; ptxas is that of the second, by TILEIRAS_PTXAS. Prints a line per finding that is wrong and ends with 1 then.
"""
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ours, tools = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
work = pathlib.Path(tempfile.mkdtemp(prefix="tileiras-frontends-"))
os.environ["PATH"] = f"{ours}:{os.environ['PATH']}"
os.environ["TILEIRAS_PTXAS"] = str(tools / "ptxas")
os.environ["CUDA_TILE_CACHE_DIR"] = str(work / "cache")
os.environ["CUDA_TILE_TEMP_DIR"] = str(work)

import cuda.tile as ct  # noqa: E402
import cuda.tile._compile as frontend  # noqa: E402
from cuda.tile.compilation import CallingConvention, KernelSignature, export_kernel  # noqa: E402

import kernels  # noqa: E402

GPUS = ["sm_80", "sm_90", "sm_100", "sm_120"]
chosen = [k for k in kernels.KERNELS if not sys.argv[3:] or k[0] in sys.argv[3:]]
wrong = []


def check(ok, what):
    if not ok:
        wrong.append(what)
        print("WRONG:", what)


def export(kernel, parameters, name, gpu):
    out = io.BytesIO()
    signature = KernelSignature(parameters, CallingConvention.cutile_python_v1(), symbol=name)
    export_kernel(kernel, [signature], out, gpu_code=gpu, output_format="cubin")
    return out.getvalue()


def tool(name, *args):
    p = subprocess.run([tools / name, *args], capture_output=True, text=True)
    check(p.returncode == 0, f"{name} {args}: {p.stderr}")
    return p.stdout


def all_kernels():
    """Every kernel for every GPU; the cubins are read by cuobjdump and nvdisasm."""
    for name, kernel, parameters in chosen:
        for gpu in GPUS:
            try:
                cubin = export(kernel, parameters, name, gpu)
            except Exception as e:
                check(False, f"{name} for {gpu}: {type(e).__name__}: {e}")
                continue
            file = work / f"{name}.{gpu}.cubin"
            file.write_bytes(cubin)
            check(f"Function {name}:" in tool("cuobjdump", "-res-usage", str(file)), f"{file}: cuobjdump knows no {name}")
            sass = tool("nvdisasm", "--print-line-info", str(file))
            check(f".text.{name}" in sass and "EXIT" in sass, f"{file}: nvdisasm shows no code")
            check("kernels.py\", line" in sass, f"{file}: nvdisasm shows no lines of the source")
    return len(chosen) * len(GPUS)


def cache():
    """A second export takes the cubin from the cache: no ptxas is needed for it. Another build of the compiler does not find it there."""
    name, kernel, parameters = kernels.KERNELS[0]
    first = export(kernel, parameters, name, "sm_90")
    os.environ["TILEIRAS_PTXAS"] = "/nowhere/ptxas"
    try:
        check(export(kernel, parameters, name, "sm_90") == first, "the cache gave another cubin")
        other = work / "other-build"
        other.mkdir()
        shutil.copy(ours / "tileiras", other / "tileiras")
        program = (other / "tileiras").read_bytes()
        said = subprocess.run([ours / "tileiras", "--version"], capture_output=True, text=True, check=True).stdout
        build = said.split("Build go:")[1].strip().encode()  # the ID that Go gives a build, which says what is in it
        check(program.count(build) == 1, "the ID of the build is not in the program once")
        (other / "tileiras").write_bytes(program.replace(build, build[:-1] + (b"A" if build[-1:] != b"A" else b"B")))
        frontend._find_compiler_bin.cache_clear()
        frontend._get_compiler_version_string.cache_clear()
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{other}:{path}"
        try:
            export(kernel, parameters, name, "sm_90")
            check(False, "another build of the compiler found the cubin of this one in the cache")
        except ct.TileCompilerExecutionError as e:
            check("/nowhere/ptxas" in str(e), f"another build: {e}")
        os.environ["PATH"] = path
        frontend._find_compiler_bin.cache_clear()
        frontend._get_compiler_version_string.cache_clear()
    finally:
        os.environ["TILEIRAS_PTXAS"] = str(tools / "ptxas")


def error():
    """What ptxas refuses arrives with the line of the Python source, and with the words that autotuners look for."""
    refusing = work / "ptxas"
    refusing.write_text("#!/bin/sh\necho \"ptxas error   : Entry function 'refused' uses too much shared data (0x493e0 bytes, 0x38c00 max)\" >&2\nexit 255\n")
    refusing.chmod(0o755)
    os.environ["TILEIRAS_PTXAS"] = str(refusing)
    name, kernel, parameters = kernels.KERNELS[0]
    try:
        export(kernel, parameters, "refused", "sm_90")
        check(False, "what ptxas refuses compiled")
    except ct.TileCompilerExecutionError as e:
        check(str(e.loc.filename).endswith("kernels.py") and e.loc.line, f"the error has no place: {e.loc}")
        check("uses too much shared data" in e.message, f"the error does not say what is wrong: {e.message}")
        print("an error with its line:", f"{e.loc.filename}:{e.loc.line}:", " | ".join(e.message.splitlines())[:200])
    os.environ["TILEIRAS_PTXAS"] = str(tools / "ptxas")


def main():
    found = frontend._find_compiler_bin()
    check(pathlib.Path(found.path).resolve() == (ours / "tileiras").resolve(), f"the frontend found {found.path}")
    version = frontend._get_max_supported_bytecode_version(str(work))
    check(version.as_string() == "13.4", f"the probe says {version}")
    check(frontend._tileiras_supports_remarks(str(work)), "the probe says that there are no remarks")
    began = time.time()
    n = all_kernels()
    print(f"{len(chosen)} kernels for {', '.join(GPUS)}: {n} cubins in {time.time() - began:.0f} s")
    cache()
    error()
    stored = list((work / "cache").rglob("*"))
    check(len([f for f in stored if f.is_file()]) > 0, "nothing is in the cache")
    shutil.rmtree(work)
    print(f"{len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


main()
