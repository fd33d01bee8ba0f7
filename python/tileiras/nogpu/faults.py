"""What a kernel does wrong, as exceptions that point at the line of the kernel."""
from __future__ import annotations

import linecache
import types
from typing import Any, NoReturn, Sequence

from tileiras.nogpu.arrays import Array


class KernelFault(RuntimeError):
    """A kernel did something wrong.

    kind, message: what; kernel: its name; file, line: of the access in the Python source (None when unknown); block: the tile block;
    element: the place in the tile at hand (None when unknown); array, index: what was accessed (None when it is no element of an argument);
    sharing: the names of all arrays that have that element; address: of the access; other: of a race, the earlier access as a dict with write, file, line and block; detail: all that the engine says.
    """

    def __init__(self, fault: dict[str, Any], found: Sequence[Array] = ()):
        self.kind: str = fault["kind"]
        self.message: str = fault["message"]
        self.kernel: str = fault["kernel"]
        self.block: tuple[int, ...] = tuple(fault["block"])
        self.element: tuple[int, ...] | None = None if fault["element"] is None else tuple(fault["element"])
        self.address = int(fault["address"], 16) or None
        self.detail: str = fault["detail"]
        self.file, self.line = user_location(fault["places"])
        self.array, self.index = locate_element(self.address, found)
        self.sharing = [a.name for a in found if self.address is not None and a.holds(self.address)]
        self.other: dict[str, Any] | None = None
        if (other := fault["other"]) is not None:
            file, line = user_location(other["places"])
            self.other = {"write": other["write"], "file": file, "line": line, "block": tuple(other["block"])}
        super().__init__(self._text())

    def _text(self) -> str:
        lines = [f"{self.kind}: {self.message}", f"  kernel {self.kernel}, tile block {numbers(self.block)}"
                 + (f", element {list(self.element)} of the tile" if self.element is not None else "")]
        if self.file is not None:
            lines.append(f'  File "{self.file}", line {self.line}')
            if source := linecache.getline(self.file, self.line or 0).strip():
                lines.append(f"    {source}")
        if self.array is not None:
            lines.append(f"  accessed: {self.array.name}{list(self.index) if self.index else ''} of {self.array.describe()}" if self.index is not None
                         else f"  nearest array: {self.array.describe()}")
        if self.other is not None and self.other["file"] is not None:
            lines.append(f"  the earlier {'write' if self.other['write'] else 'read'}, by tile block {numbers(self.other['block'])}:")
            lines.append(f'  File "{self.other["file"]}", line {self.other["line"]}')
            if source := linecache.getline(self.other["file"], self.other["line"]).strip():
                lines.append(f"    {source}")
        return "\n".join(lines)


def numbers(block: tuple[int, ...]) -> str:
    """A tile block as all messages have it."""
    return " ".join(map(str, block))


class OutOfBounds(KernelFault):
    """An access outside the arrays that the kernel was given."""


class Race(KernelFault):
    """Two accesses, one of them a write, that nothing orders."""

    def _text(self) -> str:
        text = super()._text()
        if len(self.sharing) > 1:
            text += (f"\n  {' and '.join(map(repr, self.sharing))} share this memory, which cuTile says that arrays of a launch never do: it orders no"
                     " access through one after those through another")
        return text


class UndefinedValue(KernelFault):
    """A value that nobody defined reached memory or decided something: it may differ from run to run and from GPU to GPU."""


class ReadOnly(KernelFault):
    """A store to an array that may only be read."""


class Misaligned(KernelFault):
    """An address that is no multiple of what it needs to be."""


class AssertionFailed(KernelFault, AssertionError):
    """An assertion in the kernel does not hold."""


CLASSES: dict[str, type[KernelFault]] = {
    "out of bounds": OutOfBounds, "race": Race, "in flight": Race, "undefined": UndefinedValue, "undefined behaviour": UndefinedValue,
    "read-only": ReadOnly, "misaligned": Misaligned, "assertion": AssertionFailed,
}


def user_location(places: Sequence[dict[str, Any]]) -> tuple[str | None, int | None]:
    """The innermost place that is the user's own: not in cuTile itself."""
    own = [p for p in places if "/cuda/tile/" not in p["file"].replace("\\", "/")]
    for p in own or places:
        return p["file"], p["line"]
    return None, None


def locate_element(address: int | None, found: Sequence[Array]) -> tuple[Array | None, tuple[int, ...] | None]:
    """The array and the index of an address; the nearest array and None when the address is outside of all."""
    best: tuple[int, Array] | None = None
    for a in found if address is not None else ():
        low, high = a.byte_range()
        if low <= address < high:
            return a, a.index(address)
        distance = low - address if address < low else address - high
        if best is None or distance < best[0]:
            best = distance, a
    return (best[1], None) if best is not None and best[0] < 1 << 30 else (None, None)


def strip_inner_frames(fault: KernelFault) -> KernelFault:
    """The fault with no frame of the traceback but that of the kernel."""
    trace = fault.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return fault.with_traceback(trace if fault.file is not None else None)


def raise_fault(fault: dict[str, Any], found: Sequence[Array]) -> NoReturn:
    """Raises the exception of a fault, with the line of the kernel as the innermost frame of the traceback."""
    error = CLASSES.get(fault["kind"], KernelFault)(fault, found)
    if error.file is None:
        raise error
    code = compile("\n" * max((error.line or 1) - 1, 0) + "raise error", error.file, "exec")
    function = types.FunctionType(code.replace(co_name=error.kernel), {"error": error})
    function()
    raise error
