"""Launches: cuTile's own launch on the stand-in for the driver, waiting, and faults."""
from __future__ import annotations

import ctypes
import math
import sys
import threading
import time
import weakref
from typing import Any, Callable, Sequence

from tileiras import _library
from tileiras._library import library
from tileiras.nogpu import arrays, faults
from tileiras.nogpu.report import report

POLL_MS = 50        # how long a signal such as Ctrl-C may have to wait
CANCEL_MS = 100     # how long a canceled launch is waited for

_parameter_names: "weakref.WeakKeyDictionary[Any, tuple[str, ...]]" = weakref.WeakKeyDictionary()
_thread = threading.local()

# Whose turn it is to launch: the stand-in runs one launch at a time, and a thread that waited for another there would keep the interpreter of Python,
# and with it the signals that may end what it waits for.
_turn = threading.RLock()

# Launches that were canceled and have not ended yet, with the memory that they may still write to.
_canceled: list[tuple[int, Any]] = []


def parameter_names(kernel: Any) -> tuple[str, ...]:
    """The names of a kernel's parameters."""
    try:
        return _parameter_names[kernel]
    except (KeyError, TypeError):
        pass
    code = getattr(getattr(kernel, "_pyfunc", None), "__code__", None)
    names = code.co_varnames[:code.co_argcount] if code is not None else ()
    try:
        _parameter_names[kernel] = names
    except TypeError:
        pass
    return names


def function_name(kernel: Any, attribute: str) -> str:
    """The name of the Python function of a kernel."""
    return getattr(getattr(kernel, "_pyfunc", None), attribute, "kernel")


def reap_canceled() -> None:
    """Waits until canceled launches have ended, and frees them."""
    while _canceled:
        while library().c.tileiras_wait(_canceled[-1][0], POLL_MS) == 0:
            pass
        library().free(_canceled.pop()[0])


def run(call: Callable[[tuple[Any, ...]], Any], kernel: Any, values: Sequence[Any], limit: float | None = None) -> dict[str, Any]:
    """Calls what begins a launch of a kernel on arguments, waits for its end, and gives its counters. A fault is raised as a KernelFault; a launch
    that takes more than limit seconds is canceled, with a TimeoutError."""
    library()  # or its error, before the turn of a process that this one was forked from
    values = arrays.wrap_numpy(tuple(values)) if isinstance(values, (tuple, list)) else values
    found = arrays.array_arguments(parameter_names(kernel), values) if isinstance(values, tuple) else []
    for a in found:
        if any(stride < 0 for stride in a.strides):
            raise ValueError(f"{a.name} has strides {a.strides}: cuTile takes no array with a negative one")
    with _turn:
        reap_canceled()
        return _run(call, kernel, values, found, limit)


def _run(call: Callable[[tuple[Any, ...]], Any], kernel: Any, values: Any, found: list[arrays.Array], limit: float | None) -> dict[str, Any]:
    """Does that, of arguments among which are arrays, in its turn."""
    memory = arrays.disjoint_regions(found)
    table = _library.regions(memory)
    lib = library()
    lib.c.tileiras_driver_memory(ctypes.addressof(table), len(memory))
    _thread.table = table
    if sys.stdout is not None:
        sys.stdout.flush()
    try:
        call(values)
    finally:
        lib.c.tileiras_driver_memory(None, 0)
    launch = lib.c.tileiras_driver_launched()
    if not launch:
        return {"seconds": 0.0, "blocks": 0, "operations": 0, "instructions": 0, "notes": []}
    deadline = time.monotonic() + limit if limit is not None else math.inf
    try:
        while lib.c.tileiras_wait(launch, POLL_MS) == 0:
            if time.monotonic() > deadline:
                raise TimeoutError(f"a launch of {function_name(kernel, '__name__')} took more than {limit} s")
    except BaseException:
        lib.c.tileiras_cancel(launch)
        if lib.c.tileiras_wait(launch, CANCEL_MS) == 1:
            lib.free(launch)
        else:
            _canceled.append((launch, (values, table)))
        raise
    try:
        status = lib.status(launch)
        counters = lib.json(launch, "counters")
        report.launched(function_name(kernel, "__qualname__"), counters, status == _library.FAULT)
        if status == _library.FAULT:
            fault = lib.json(launch, "fault")
            faults.raise_fault({**fault, "kernel": function_name(kernel, "__name__") or fault["kernel"]}, found)
        if status != _library.OK:
            raise RuntimeError(f"kernel {function_name(kernel, '__name__')}: {lib.error(launch)}")
        return counters
    finally:
        lib.free(launch)
