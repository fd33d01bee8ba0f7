"""Changes to modules as they are imported, so that nothing is imported that the program does not import."""
from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import Callable, Sequence

Change = Callable[[ModuleType], None]


class _Loader(importlib.abc.Loader):
    """Loads a module as its own loader does, and then changes it."""

    def __init__(self, loader: importlib.abc.Loader, change: Change):
        self.loader, self.change = loader, change

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.change(module)


class Finder(importlib.abc.MetaPathFinder):
    """Finds modules as the others do and puts changes behind their loaders."""

    def __init__(self) -> None:
        self.changes: dict[str, Change] = {}
        self.refused: dict[str, str] = {}

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if name in self.refused:
            raise ImportError(self.refused[name], name=name)
        change = self.changes.get(name)
        if change is None:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(spec.loader, change)
                return spec
        return None

    def after(self, name: str, change: Change) -> None:
        """Changes a module after its import, or now when it is there already."""
        if name in sys.modules:
            change(sys.modules[name])
        else:
            self.changes[name] = change


finder = Finder()


def install() -> Finder:
    if finder not in sys.meta_path:
        sys.meta_path.insert(0, finder)
    return finder
