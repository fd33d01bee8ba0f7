"""The options of the library. Written by go run ./internal/gen from the table in internal/library; edit that."""
from __future__ import annotations

import os
from typing import Literal, TypedDict


class CompileOptions(TypedDict, total=False):
    """What a compile can be asked for. None is as if the option were not there."""
    gpu: str | None  # sm_90, or native for that of this machine
    emit: Literal["ptx", "cudatile", "bytecode", "tileaa", "llvm", "cubin"] | None  # ptx (default): the level at which to stop
    abi: Literal["cuda", "tile"] | None  # launch convention; cuda is the default of ptx, tile that of a cubin
    opt: Literal[0, 1, 2, 3] | None  # 3 (default): optimization level
    name: str | None  # of the source, in diagnostics
    lineinfo: bool | None  # source lines in PTX and cubins
    roles: Literal["auto", "on", "off"] | None  # auto (default): warps of their own that begin the copies of loops
    tf32: Literal["rounded", "truncated"] | None  # rounded (default): how f32 becomes the tf32 that products multiply by
    tma: bool | None  # copies to shared memory take tensor maps, where they can: from sm_90 on
    slices_k: int | None  # 1, 2 or 4 slices along K in which warps share products; 0 (default) is as many as cost least
    max_ptx: str | None  # 8.4: code that needs a later version of PTX is an error
    max_shared: int | None  # bytes of shared memory that a thread block may have; 0 (default) is what the GPU has
    ptxas: str | os.PathLike[str] | None  # NVIDIA's ptxas, for emit=cubin; without it it is looked for
    sanitize: bool | None  # have ptxas instrument a cubin for compute-sanitizer
    remarks: bool | None  # collect remarks
    bytecode_version: str | None  # 13.3, of emit=bytecode
    stop_after: str | None  # the pass after which to stop, with its module as the output
    cache: str | os.PathLike[str] | None  # a folder, or the http:// URL of a server of Bazel's remote cache protocol
    cache_patience: float | None  # seconds that such a server may do nothing, 0.2 (default), before it is not asked for a while
    time_limit: float | None  # seconds that a compile may take, 2.5
    memory_limit: int | None  # bytes of modules that it may hold, about
    reproducer_dir: str | os.PathLike[str] | None  # the folder where a fault of the compiler leaves its input; without it nowhere


class ProgramOptions(CompileOptions, total=False):
    """What a program that runs on this machine can be asked for."""
    engine: Literal["interp", "emu"] | None  # interp (default): the interpreter of Tile IR, or our PTX on the emulator
    checks: str | None  # all (default), none, or some of races, undefined, alignment with commas between; bounds are always checked
    undefined: Literal["error", "zero"] | None  # error (default): what the interpreter loads where a program names no padding
    equal_stores: bool | None  # unordered stores of equal values are no race
    workers: int | None  # tile blocks that may run at once, where the checks allow it; 0 (default) is one
