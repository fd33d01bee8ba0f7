"""tileiras: a compiler from CUDA Tile IR to PTX, and kernels without a GPU.

``tileiras.compile`` compiles. The command ``tileiras`` of this package is what cuTile Python, cutile-rs and cuTile.jl look for on PATH. ``python -m tileiras.nogpu program.py`` runs
a cuTile program on this machine, without a GPU; ``pytest -p tileiras.nogpu`` does so for its tests. See docs/nogpu.md.
"""
from tileiras._library import CancelToken, Library, LibraryError, compile, library
from tileiras._options import CompileOptions, ProgramOptions
from tileiras._results import CompileError, Diagnostic, Remark, Result

__all__ = ["CancelToken", "CompileError", "CompileOptions", "Diagnostic", "Library", "LibraryError", "ProgramOptions", "Remark", "Result", "compile", "library"]
