"""tileiras: a compiler from CUDA Tile IR to PTX, and kernels without a GPU.

``tileiras.compile`` compiles. The command ``tileiras`` of this package is what cuTile Python, cutile-rs and cuTile.jl look for on PATH. ``python -m tileiras.nogpu program.py`` runs
a cuTile program on this machine, without a GPU; ``pytest -p tileiras.nogpu`` does so for its tests. See docs/nogpu.md.
"""
from tileiras._library import CompileError, Library, LibraryError, compile, library

__all__ = ["CompileError", "Library", "LibraryError", "compile", "library"]
