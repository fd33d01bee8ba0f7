"""Autotuning: its measure is the work of a launch, not time, and a launch with a time limit runs in this process and is canceled when it is over."""
from __future__ import annotations

import functools
import sys
import time
import types
from typing import Any, Callable

from tileiras.nogpu import arrays, faults, launching

# How many seconds here a second of single_run_timeout_sec stands for, which is chosen for a GPU, to end configurations that hang.
TIMEOUT_SCALE = 10

Launch = Callable[..., None]


def patch(tile: types.ModuleType, cext: types.ModuleType, launch: Launch, first: bool) -> None:
    """Of cuda.tile and its extension, whose own launch is given. first ends each search with the first configuration that runs."""
    measured: dict[Any, float] = {}

    def work(stream: Any, grid: Any, kernel: Any, kernel_args: Any, flush_l2: bool = True, /, *, limit: float | None = None) -> float:
        counters = launching.run(lambda values: launch(stream, grid, kernel, values), kernel, kernel_args, limit)
        return float(counters["instructions"] or counters["operations"])

    def memoized(stream: Any, grid: Any, kernel: Any, kernel_args: Any, flush_l2: bool = True, /) -> float:
        """The work of a launch: it does not change from run to run, so the same launch of the same kernel runs once."""
        key = (kernel, tuple(grid), arrays.launch_signature(kernel_args))
        if key not in measured:
            measured[key] = work(stream, grid, kernel, kernel_args)
        return measured[key]

    def payload(*call: Any) -> tuple[Any, ...]:
        """What another process would be sent, to make the launch."""
        return call

    cext._benchmark = work
    cext._export_ipc_benchmark_payload = payload
    cext._benchmark_with_ipc_payload = lambda call: work(*call)
    for name in ("cuda.tile.tune._tune", "cuda.tile.tune._tune_utils"):
        if (module := sys.modules.get(name)) is not None:
            module._benchmark = memoized
    if first:
        tune = sys.modules["cuda.tile.tune"]
        tune.exhaustive_search = _first_valid(tune.exhaustive_search)
    if (utils := sys.modules.get("cuda.tile.tune._tune_utils")) is not None and hasattr(utils, "_get_timed_benchmark_runner"):
        runner = _Runner(work, utils.TileLaunchTimeoutError)
        utils._export_ipc_benchmark_payload = payload
        utils._get_timed_benchmark_runner = lambda: runner


def _first_valid(search: Callable[..., Any]) -> Callable[..., Any]:
    """A search that tries one configuration after the other and ends with the first that compiles and runs."""
    @functools.wraps(search)
    def search_first_valid(search_space: Any, *more: Any, **named: Any) -> Any:
        for configuration in search_space[:-1]:
            try:
                return search([configuration], *more, **named)
            except ValueError as e:
                if not str(e).startswith("No valid config found"):
                    raise
        return search(search_space[-1:], *more, **named)

    return search_first_valid


class _Runner:
    """Takes the place of the process in which the front end runs launches that may hang."""

    def __init__(self, work: Callable[..., float], timeout_error: type[Exception]):
        self.work, self.timeout_error = work, timeout_error

    def run(self, payload: tuple[Any, ...], timeout_sec: float) -> tuple[float, float]:
        """The work of a launch and the seconds that it took."""
        start = time.perf_counter()
        message = f"CUDA kernel launch exceeded timeout {timeout_sec} sec"
        try:
            return self.work(*payload, limit=TIMEOUT_SCALE * timeout_sec), time.perf_counter() - start
        except TimeoutError:
            raise self.timeout_error(f"{message}, of which each is {TIMEOUT_SCALE} without a GPU") from None
        except faults.KernelFault as fault:
            if fault.kind not in ("step limit", "endless loop"):  # of the engine, which may come first
                raise
            raise self.timeout_error(f"{message}: {fault.message}") from None
