"""python -m tileiras.nogpu [options] program.py [arguments]"""
from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import pathlib
import runpy
import sys
import traceback
import types

from tileiras.nogpu import KernelFault, config, enable, report


def strip_runpy_frames(trace: types.TracebackType | None) -> types.TracebackType | None:
    """A traceback without the frames that started the program."""
    at = trace
    while at is not None and (at.tb_frame.f_code.co_filename == __file__ or "runpy" in at.tb_frame.f_code.co_filename):
        at = at.tb_next
    return at or trace


def why_missing(program: str, module: bool) -> str | None:
    """Why there is no such program; None where there is one."""
    if module:
        try:
            found = importlib.util.find_spec(program) is not None
        except ModuleNotFoundError as e:  # of a package that it is in, or of another that such a package imports
            found = not f"{program}.".startswith(f"{e.name}.")
        return None if found else f"there is no module {program}"
    path = pathlib.Path(program)
    if path.is_dir():
        return None if (path / "__main__.py").is_file() else f"{program} is a folder without a __main__.py"
    return None if path.exists() else f"there is no file {program}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tileiras.nogpu", description="Runs a cuTile program on this machine, without a GPU.")
    parser.add_argument("--gpu", help="that the program sees, such as sm_90 (TILEIRAS_GPU)")
    parser.add_argument("--engine", choices=config.CHOICES["engine"], help="the interpreter, or compiled code on the emulator (TILEIRAS_ENGINE)")
    parser.add_argument("--checks", help="all, none, or some of races, undefined, alignment with commas between (TILEIRAS_CHECKS)")
    parser.add_argument("--undefined", choices=config.CHOICES["undefined"], help="what loads without padding give outside an array (TILEIRAS_UNDEFINED)")
    parser.add_argument("--workers", help="tile blocks at once; one a core if not given (TILEIRAS_WORKERS)")
    parser.add_argument("--tuning", choices=config.CHOICES["tuning"], help="which configurations autotuning runs: all, or until the first that runs (TILEIRAS_TUNING)")
    parser.add_argument("--tma", choices=config.CHOICES["tma"], help="whether the emulator's code copies by tensor maps (TILEIRAS_TMA)")
    parser.add_argument("--roles", choices=config.CHOICES["roles"], help="whether it has warps of their own for copies (TILEIRAS_ROLES)")
    parser.add_argument("--quiet", "-q", action="store_true", help="no report at the end")
    parser.add_argument("-m", dest="module", action="store_true", help="program is the name of a module")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER).required = False
    given = parser.parse_args()
    try:
        settings = enable(config.from_environment(**{f.name: getattr(given, f.name) for f in dataclasses.fields(config.Config)}))
    except config.ConfigError as e:
        parser.error(str(e) if getattr(given, e.setting) is None else f"--{e.setting} {e.text}")
    if missing := why_missing(given.program, given.module):
        parser.error(missing)
    sys.argv = [given.program, *given.arguments]
    try:
        if given.module:
            runpy.run_module(given.program, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = str(pathlib.Path(given.program).resolve().parent)
            runpy.run_path(given.program, run_name="__main__")
    except KernelFault as fault:
        sys.stdout.flush()
        traceback.print_exception(type(fault), fault, strip_runpy_frames(fault.__traceback__))
        return 1
    finally:
        if not given.quiet:
            sys.stdout.flush()
            print("\n".join(report.lines(settings)), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
