"""A plugin of pytest: PART=N runs every Nth test, the same ones each time, and PART=N+1 to N+(N-1) the other parts of the suite.

A test that needs more memory than most machines have is skipped.
"""
from __future__ import annotations

import os
import zlib
from typing import Any

import pytest

# Tests of arrays of 2^32 elements, with the bytes that they take.
BIG = {"test_int64_index_inc1": 13 << 30, "test_add_list_of_int64_index_arrays": 17 << 30}


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    part, _, offset = os.environ.get("PART", "1").partition("+")
    parts, which = int(part), int(offset or 0)
    if not 0 <= which < parts:
        raise pytest.UsageError(f"PART={part}+{offset}: the parts are {part}+0 to {part}+{parts - 1}")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    kept, left = [], []
    for item in items:
        (kept if zlib.crc32(item.nodeid.encode()) % parts == which else left).append(item)
        if 2 * (needs := BIG.get(item.originalname, 0)) > memory:
            item.add_marker(pytest.mark.skip(reason=f"needs {needs >> 30} GB of memory"))
    config.hook.pytest_deselected(items=left)
    items[:] = kept
