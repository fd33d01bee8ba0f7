"""Makes the wheel of the package for this platform: python3 python/wheel.py FOLDER-OF-BINARIES FOLDER-FOR-THE-WHEEL

It needs Python alone. The library goes into the package, the commands into the environment's folder of programs, so that frontends find tileiras on
PATH. The same input gives the same bytes.
"""
from __future__ import annotations

import base64
import hashlib
import pathlib
import platform
import re
import sys
import zipfile

NAME, VERSION = "tileiras", "0.1.0"
COMMANDS = ["tileiras", "tileirdisasm", "tilerun"]

METADATA = f"""Metadata-Version: 2.1
Name: {NAME}
Version: {VERSION}
Summary: An open compiler from CUDA Tile IR to PTX, and cuTile kernels without a GPU
License: Apache-2.0
Requires-Python: >=3.10
Requires-Dist: numpy
Description-Content-Type: text/markdown

"""


def glibc(files: list[pathlib.Path]) -> tuple[int, int]:
    """The newest version of the C library that files ask for."""
    found = {(2, 17)}
    for f in files:
        found.update((2, int(m)) for m in re.findall(rb"GLIBC_2\.(\d+)\x00", f.read_bytes()))
    return max(found)


def platform_tag(files: list[pathlib.Path]) -> str:
    """The tag of this platform, as pip spells it."""
    machine = platform.machine().lower()
    if sys.platform == "linux":
        major, minor = glibc(files)
        return f"manylinux_{major}_{minor}_{machine}"
    if sys.platform == "darwin":
        return "macosx_12_0_" + ("arm64" if machine == "arm64" else "x86_64")
    return "win_amd64" if machine in ("amd64", "x86_64") else f"win_{machine}"


def main(binaries: pathlib.Path, out: pathlib.Path) -> pathlib.Path:
    here = pathlib.Path(__file__).resolve().parent
    suffix = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")
    exe = ".exe" if sys.platform == "win32" else ""
    library = binaries / f"libtileiras.{suffix}"
    commands = [binaries / (c + exe) for c in COMMANDS]
    for f in (library, *commands):
        if not f.is_file():
            sys.exit(f"error: {f} is missing: make build lib")
    tag = f"py3-none-{platform_tag([library, *commands])}"
    info = f"{NAME}-{VERSION}.dist-info"
    files: dict[str, tuple[bytes, int]] = {}
    for f in sorted((here / NAME).rglob("*.py")):
        files[f.relative_to(here).as_posix()] = f.read_bytes(), 0o644
    files[f"{NAME}/bin/{library.name}"] = library.read_bytes(), 0o755
    for c in commands:
        files[f"{NAME}-{VERSION}.data/scripts/{c.name}"] = c.read_bytes(), 0o755
    files[f"{info}/LICENSE"] = (here.parent / "LICENSE").read_bytes(), 0o644
    files[f"{info}/METADATA"] = (METADATA + (here / "README.md").read_text()).encode(), 0o644
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), 0o644
    record = ""
    for name, (data, _) in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode(), 0o644
    out.mkdir(parents=True, exist_ok=True)
    wheel = out / f"{NAME}-{VERSION}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as z:
        for name, (data, mode) in files.items():
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(entry, data)
    return wheel


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
