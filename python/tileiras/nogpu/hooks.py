"""Patches modules as they are imported, so that nothing is imported that the program does not import."""
from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import Callable, Sequence

Patch = Callable[[ModuleType], None]


class _Loader(importlib.abc.Loader):
    """Loads a module as its own loader does, and then patches it."""

    def __init__(self, loader: importlib.abc.Loader, patch: Patch):
        self.loader, self.patch = loader, patch

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.patch(module)


class Finder(importlib.abc.MetaPathFinder):
    """Finds modules as the others do and wraps their loaders."""

    def __init__(self) -> None:
        self.patches: dict[str, Patch] = {}
        self.blocked: dict[str, str] = {}

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if name in self.blocked:
            raise ImportError(self.blocked[name], name=name)
        patch = self.patches.get(name)
        if patch is None:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(spec.loader, patch)
                return spec
        return None

    def patch_on_import(self, name: str, patch: Patch) -> None:
        """Patches a module after its import, or now when it is imported already."""
        if name in sys.modules:
            patch(sys.modules[name])
        else:
            self.patches[name] = patch


finder = Finder()


def install() -> Finder:
    if finder not in sys.meta_path:
        sys.meta_path.insert(0, finder)
    return finder
