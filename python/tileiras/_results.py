"""What a compile leaves."""
from __future__ import annotations

import dataclasses
from typing import Any, Iterator, Literal, TypedDict


class Diagnostic(TypedDict):
    """One thing that the compiler has to say."""
    severity: Literal["error", "warning", "remark", "note"]
    kind: str  # what went wrong, for programs: docs/library.md lists them; "" of notes
    message: str  # without the place
    file: str  # of the place; "" is not known
    line: int  # from 1
    column: int  # from 1, as the frontend wrote it; 0 is not known
    notes: list[Diagnostic]  # the calls that inlined code came through, and what else belongs to it


class Place(TypedDict):
    """A place in a source."""
    file: str
    line: int
    column: int


class Arg(TypedDict):
    """A fact of a remark."""
    key: str  # "Instruction"
    value: str | int


# A choice of the compiler, or a fact: docs/remarks.md lists them.
Remark = TypedDict("Remark", {
    "pass": str,        # "Memory"
    "kind": Literal["passed", "missed", "failed", "analysis"],
    "id": str,          # "RemarkMemoryLoadInstructionSelected"
    "text": str,        # one sentence without a full stop
    "function": str,    # as the source calls it
    "kernel": str,      # the name of the one that it is about
    "loc": "Place | None",
    "args": "list[Arg]",  # in order
})


@dataclasses.dataclass(frozen=True)
class Result:
    """What a compile made. It unpacks as the pair of output and metadata."""
    output: bytes = dataclasses.field(repr=False)  # the text, the bytecode or the cubin
    metadata: dict[str, Any] | None = dataclasses.field(repr=False)  # how to launch the kernels (docs/launch.md); None where it is neither PTX nor a cubin
    diagnostics: list[Diagnostic]  # warnings
    remarks: list[Remark] = dataclasses.field(repr=False)  # what was chosen and why, with the option remarks
    explain: str = dataclasses.field(repr=False)  # a page for each kernel, with the option remarks

    def __iter__(self) -> Iterator[Any]:
        return iter((self.output, self.metadata))


class CompileError(RuntimeError):
    """A compile that failed: the text of the command, its exit code, and what is wrong."""

    def __init__(self, message: str, code: int, diagnostics: list[Diagnostic]):
        super().__init__(message)
        self.code, self.diagnostics = code, diagnostics
