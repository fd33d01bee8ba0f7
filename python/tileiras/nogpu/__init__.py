"""Runs cuTile programs and their tests on this machine, without a GPU.

    python -m tileiras.nogpu program.py ...      runs a program
    pytest -p tileiras.nogpu ...                 runs tests

Settings are environment variables or options: TILEIRAS_GPU, TILEIRAS_ENGINE, TILEIRAS_CHECKS, TILEIRAS_UNDEFINED, TILEIRAS_WORKERS,
TILEIRAS_TUNING, TILEIRAS_TMA, TILEIRAS_ROLES (config.py). What a kernel does wrong is raised as a KernelFault where it was launched.
"""
from __future__ import annotations

import importlib.util
import sys
from typing import Any

from tileiras.nogpu.config import Config, ConfigError, from_environment
from tileiras.nogpu.faults import AssertionFailed, KernelFault, Misaligned, OutOfBounds, Race, ReadOnly, UndefinedValue
from tileiras.nogpu.frontend import NotWithoutGPU
from tileiras.nogpu.report import report

__all__ = ["AssertionFailed", "Config", "ConfigError", "KernelFault", "Misaligned", "NotWithoutGPU", "OutOfBounds", "Race", "ReadOnly", "UndefinedValue", "enable"]

_enabled: Config | None = None


def enable(config: Config | None = None) -> Config:
    """Makes launches of cuTile Python run here, from now on and for the whole process. It must come before the import of cuda.tile."""
    global _enabled
    if _enabled is not None:
        return _enabled
    from tileiras.nogpu import frontend, hooks, torch_shim
    config = config or from_environment()
    if "cuda.tile" in sys.modules:
        raise RuntimeError("tileiras.nogpu must be enabled before cuda.tile is imported")
    frontend.install(config)
    finder = hooks.install()
    if importlib.util.find_spec("cupy") is not None:
        finder.blocked["cupy"] = "cupy needs a GPU: without one, use numpy or torch arrays, which tileiras.nogpu runs kernels on"
    finder.patch_on_import("torch", lambda torch: torch_shim.patch(torch, config))
    frontend.install_in_children(config)
    finder.patch_on_import("cuda.tile._compile", lambda module: frontend.patch_compiler(module, config))
    finder.patch_on_import("cuda.tile", lambda module: frontend.patch_launch(module, config))
    _enabled = config
    return config


def pytest_load_initial_conftests(early_config: Any, parser: Any, args: Any) -> None:
    """Of pytest: before any conftest, which may import cuda.tile. The settings come from the environment."""
    try:
        enable()
    except ConfigError as e:
        raise __import__("pytest").UsageError(str(e)) from None


def pytest_report_header(config: Any) -> str:
    return f"tileiras.nogpu: {enable().describe()}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.section("kernels without a GPU")
    for line in report.lines(enable()):
        terminalreporter.write_line(line)
