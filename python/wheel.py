"""Makes the wheel of the package: python3 python/wheel.py FOLDER-OF-BINARIES FOLDER-FOR-THE-WHEEL

The platform is that of the binaries, as their headers say it, which may be another one than this. It needs Python alone. The library goes into the package, the commands into the environment's folder of programs, so that frontends find tileiras on
PATH. The same input gives the same bytes.
"""
from __future__ import annotations

import base64
import hashlib
import pathlib
import re
import struct
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


ELF = {62: "x86_64", 183: "aarch64"}                 # e_machine
MACH_O = {0x01000007: "x86_64", 0x0100000C: "arm64"}  # cputype
BUILD_VERSION, VERSION_MIN_MACOSX = 0x32, 0x24        # load commands


def macos(data: bytes) -> tuple[int, int]:
    """The oldest macOS that a Mach-O file is for."""
    at = 32
    for _ in range(struct.unpack_from("<I", data, 16)[0]):
        command, size = struct.unpack_from("<II", data, at)
        if command in (BUILD_VERSION, VERSION_MIN_MACOSX):
            version = struct.unpack_from("<I", data, at + (12 if command == BUILD_VERSION else 8))[0]
            return version >> 16, version >> 8 & 255
        at += size
    return 12, 0


def platform_tag(files: list[pathlib.Path]) -> str:
    """The tag of the platform of some binaries, as pip spells it; all must be for the same one."""
    tags = set()
    for f in files:
        data = f.read_bytes()
        if data[:4] == b"\x7fELF" and (machine := ELF.get(struct.unpack_from("<H", data, 18)[0])):
            tags.add("linux_" + machine)
        elif data[:4] == b"\xcf\xfa\xed\xfe" and (machine := MACH_O.get(struct.unpack_from("<I", data, 4)[0])):
            major, minor = macos(data)
            tags.add(f"macosx_{major}_{0 if major > 10 else minor}_{machine}")
        else:
            sys.exit(f"error: {f} is no program for Linux or macOS on x86-64 or arm64, which the package is for")
    if len({re.sub(r"\d+_\d+_", "", t) for t in tags}) > 1:
        sys.exit(f"error: binaries for different platforms: {', '.join(sorted(tags))}")
    tag = max(tags, key=lambda t: [int(n) for n in re.findall(r"\d+", t)])
    if tag.startswith("linux_"):
        major, minor = glibc(files)
        tag = f"manylinux_{major}_{minor}_{tag.removeprefix('linux_')}"
    return tag


def main(binaries: pathlib.Path, out: pathlib.Path) -> pathlib.Path:
    here = pathlib.Path(__file__).resolve().parent
    library = next((f for suffix in ("so", "dylib") if (f := binaries / f"libtileiras.{suffix}").is_file()), binaries / "libtileiras.so")
    commands = [binaries / c for c in COMMANDS]
    for f in (library, *commands):
        if not f.is_file():
            sys.exit(f"error: {f} is missing: make wheel")
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
