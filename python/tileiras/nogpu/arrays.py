"""Arrays among the arguments of a launch: where their memory is, and how the front end is shown those of numpy."""
from __future__ import annotations

import dataclasses
from typing import Any, Iterator, NamedTuple, Sequence

import numpy as np


class Array(NamedTuple):
    """One array argument."""
    name: str                 # "x", "tables[2]"
    address: int              # of the element at index 0
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in bytes
    itemsize: int
    dtype: str
    read_only: bool = False

    def byte_range(self) -> tuple[int, int]:
        """The address of the first byte of the elements, and that after the last; equal when there is none."""
        low = high = self.address
        for n, stride in zip(self.shape, self.strides):
            if n == 0:
                return self.address, self.address
            if stride < 0:
                low += stride * (n - 1)
            else:
                high += stride * (n - 1)
        return low, high + self.itemsize

    def holds(self, address: int) -> bool:
        """Whether the byte at an address is one of an element."""
        low, high = self.byte_range()
        return low <= address < high and self.index(address) is not None

    def describe(self) -> str:
        return f"'{self.name}' ({self.dtype}, shape {self.shape})"

    def index(self, address: int) -> tuple[int, ...] | None:
        """The index of the element that holds a byte, for arrays whose elements do not overlap; None when none does."""
        rest, at = address - self.address, [0] * len(self.shape)
        for d in sorted(range(len(self.shape)), key=lambda d: -abs(self.strides[d])):
            stride = self.strides[d]
            if stride <= 0:
                continue
            at[d] = min(rest // stride, self.shape[d] - 1)
            rest -= at[d] * stride
        return tuple(at) if 0 <= rest < self.itemsize else None


class NumpyArgument:
    """Shows the memory of a numpy array as the front end expects memory of a GPU."""
    __slots__ = ("array", "__cuda_array_interface__")

    def __init__(self, array: np.ndarray):
        self.array = array
        self.__cuda_array_interface__ = {**array.__array_interface__, "version": 3, "strides": array.strides}


def wrap_numpy(value: Any) -> Any:
    """The value with every numpy array in it replaced; itself when there is none."""
    kind = type(value)
    if isinstance(value, np.ndarray):
        return NumpyArgument(value)
    if kind is list or kind is tuple:
        new = [wrap_numpy(v) for v in value]
        return value if all(a is b for a, b in zip(new, value)) else kind(new)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = {}
        for f in dataclasses.fields(value):
            old = getattr(value, f.name)
            if (new := wrap_numpy(old)) is not old:
                changed[f.name] = new
        return dataclasses.replace(value, **changed) if changed else value
    return value


def array_arguments(names: Sequence[str], values: Sequence[Any]) -> list[Array]:
    """The arrays among arguments, with those in lists, tuples and data classes."""
    out: list[Array] = []
    for i, value in enumerate(values):
        out.extend(_iter_arrays(names[i] if i < len(names) else f"argument {i}", value))
    return out


def launch_signature(values: Any) -> Any:
    """What tells launches apart but for the contents of arrays: their shapes, strides and types, and all other values."""
    if isinstance(values, (list, tuple)):
        return tuple(launch_signature(v) for v in values)
    found = list(_iter_arrays("", wrap_numpy(values)))
    if found:
        return tuple((a.shape, a.strides, a.dtype, a.address % 16) for a in found)
    return (type(values), values) if isinstance(values, _SCALARS) else id(values)


_SCALARS = (int, float, bool, str, type(None))


def _iter_arrays(name: str, value: Any) -> Iterator[Array]:
    if isinstance(value, _SCALARS):
        return
    if isinstance(value, NumpyArgument):
        a = value.array
        yield Array(name, a.__array_interface__["data"][0], a.shape, a.strides, a.itemsize, str(a.dtype), not a.flags.writeable)
    elif isinstance(value, (list, tuple)):
        for i, v in enumerate(value):
            yield from _iter_arrays(f"{name}[{i}]", v)
    elif hasattr(value, "data_ptr") and hasattr(value, "element_size"):  # torch
        size = value.element_size()
        yield Array(name, value.data_ptr(), tuple(value.shape), tuple(s * size for s in value.stride()), size, str(value.dtype))
    elif (interface := getattr(value, "__cuda_array_interface__", None)) is not None:
        size = int(interface["typestr"][2:])
        shape = tuple(interface["shape"])
        yield Array(name, interface["data"][0], shape, tuple(interface.get("strides") or _row_major(shape, size)), size, interface["typestr"], bool(interface["data"][1]))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for f in dataclasses.fields(value):
            yield from _iter_arrays(f"{name}.{f.name}", getattr(value, f.name))
    elif hasattr(value, "__dlpack__"):
        yield from _iter_arrays(name, NumpyArgument(np.from_dlpack(value)))


def _row_major(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    strides, step = [], size
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def disjoint_regions(found: Sequence[Array]) -> list[tuple[str, int, int, bool]]:
    """The bytes that arrays have, as regions that do not overlap: name, address, size, whether all of its arrays may only be read; by address."""
    out: list[tuple[str, int, int, bool]] = []
    for low, high, name, read_only in sorted((*a.byte_range(), a.name, a.read_only) for a in found):
        if low == high:
            continue
        if out and low < out[-1][1] + out[-1][2]:
            before, address, size, all_read_only = out[-1]
            if name not in before.split(" and "):
                before = f"{before} and {name}"
            out[-1] = (before, address, max(size, high - address), all_read_only and read_only)
        else:
            out.append((name, low, high - low, read_only))
    return out
