"""A plugin of pytest: PART=N runs every Nth test, the same ones each time, and none of those that need what no run without a GPU has."""
from __future__ import annotations

import os
import zlib
from typing import Any


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    part = int(os.environ.get("PART", "1"))
    kept, left = [], []
    for item in items:
        big = "int64_index_inc1" in item.nodeid  # arrays of 4 GB
        (left if big or zlib.crc32(item.nodeid.encode()) % part else kept).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept
