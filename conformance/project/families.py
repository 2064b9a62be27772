"""Model families: their folders, the names they are registered under, and the files of their networks."""

from __future__ import annotations

import os
from dataclasses import dataclass

from conformance.facts.ir import Attr, Call, Const, Expr, Name
from conformance.facts.module import ModuleFacts
from conformance.project.project import ClassDef, Project


@dataclass(frozen=True, slots=True)
class Family:
    """One registration: the folder's name, the registered name, the class and the file of its network."""

    folder: str
    name: str
    registered: ClassDef
    network: ClassDef | None
    """None when the network is chosen at run time."""


class Families:
    """The families below one source root; files are read when a question needs them."""

    def __init__(self, project: Project, root: str) -> None:
        self._project = project
        folder = project.profile.families_folder
        self._folder = os.path.join(root, *folder.split("/")) if folder else ""
        self._families: list[Family] | None = None

    def folder_of(self, path: str) -> str | None:
        """The family whose folder holds a file; None outside of all."""
        if not self._folder or not path.startswith(self._folder + os.sep):
            return None
        head, _, rest = path[len(self._folder) + 1 :].partition(os.sep)
        return head if rest else None

    def all(self) -> list[Family]:
        """Every registration that can be resolved, in the order of folders and files."""
        if self._families is None:
            self._families = list(self._read())
        return self._families

    def names(self) -> list[str]:
        """Every name that `--family` knows."""
        found = {family.name for family in self.all()} | {family.folder for family in self.all()}
        if self._folder:
            found |= {
                name
                for name in self._project.overlay.list_dir(self._folder)
                if self._project.overlay.is_dir(os.path.join(self._folder, name)) and name.isidentifier()
            }
        return sorted(found)

    def files(self, name: str) -> set[str]:
        """The files of a family, by either of its names: its folder's, and those of its network and its bases."""
        wanted = {name, *self._project.profile.aliases.get(name, ())}
        result: set[str] = set()
        folders = {family.folder for family in self.all() if family.name in wanted or family.folder in wanted}
        folders |= wanted
        for folder in folders:
            base = os.path.join(self._folder, folder)
            result.update(self._below(base))
        for family in self.all():
            if family.network is not None and (family.name in wanted or family.folder in wanted):
                for cls in self._project.mro(family.network):
                    if isinstance(cls, ClassDef):
                        result.add(cls.module.path)
        return result

    def _below(self, folder: str) -> set[str]:
        overlay = self._project.overlay
        result: set[str] = set()
        if not overlay.is_dir(folder):
            return result
        for name in overlay.list_dir(folder):
            path = os.path.join(folder, name)
            if name.endswith(".py"):
                result.add(path)
            elif name != "__pycache__" and overlay.is_dir(path):
                result |= self._below(path)
        return result

    def _read(self) -> list[Family]:
        result: list[Family] = []
        registries = self._project.profile.registries
        if not self._folder or not registries:
            return result
        words = [registry.callable.rsplit(".", 1)[-1].encode() + b"(" for registry in registries]
        for path in sorted(self._below(self._folder)):
            try:
                data = self._project.overlay.read(path)
            except Exception:  # noqa: BLE001 - an unreadable file is a finding of its own
                continue
            if not any(word in data for word in words):
                continue
            module = self._project.module(path)
            if module is not None:
                result.extend(self._of_module(module))
        return result

    def _of_module(self, module: ModuleFacts) -> list[Family]:
        result = []
        for expression in module.calls:
            if not isinstance(expression, Call) or len(expression.arguments) < 2:
                continue
            for registry in self._project.profile.registries:
                name = expression.arguments[0]
                if _dotted(expression.function) != registry.callable:
                    continue
                cls = self._project.dotted(module, expression.arguments[1])
                if not isinstance(name, Const) or not isinstance(name.value, str) or not isinstance(cls, ClassDef):
                    continue
                network = self._project.class_attribute(cls, registry.network)
                target = None if network is None else self._project.dotted(network[0].module, network[1])
                folder = self.folder_of(module.path) or ""
                result.append(Family(folder, name.value, cls, target if isinstance(target, ClassDef) else None))
        return result


def _dotted(expression: Expr) -> str:
    if isinstance(expression, Attr):
        base = _dotted(expression.base)
        return f"{base}.{expression.name}" if base else ""
    return expression.id if isinstance(expression, Name) else ""
