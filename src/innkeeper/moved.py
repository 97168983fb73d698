"""Module paths that earlier documentation taught, and where their names are now: old imports go on working, with a warning.

Asked for only when an import would fail, so that it costs nothing to who uses the present paths.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from importlib.abc import Loader
else:
    Loader = object  # at run time the class would bring a third of the time that `import innkeeper` takes


MOVED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "innkeeper.content.reader": "innkeeper.content.files.reader",
        "innkeeper.inference.directives": "innkeeper.inference.run.envelope",
        "innkeeper.inference.directives.patch_ops": "innkeeper.inference.run.envelope",
        "innkeeper.inference.directives_runner": "innkeeper.inference.run.directives",
        "innkeeper.inference.tool_loop": "innkeeper.inference.run.tool_loop",
        "innkeeper.library.asking": "innkeeper.library.prepare",
        "innkeeper.library.budgets": "innkeeper.library.prepare",
        "innkeeper.library.compression": "innkeeper.library.prepare",
        "innkeeper.library.context_route": "innkeeper.library.prepare",
        "innkeeper.library.draft": "innkeeper.library.templates",
        "innkeeper.library.engine": "innkeeper.library.db",
        "innkeeper.library.key": "innkeeper.library.templates",
        "innkeeper.library.mapping": "innkeeper.library.prepare",
        "innkeeper.library.partials": "innkeeper.library.templates",
        "innkeeper.library.publish": "innkeeper.library.templates",
        "innkeeper.library.query": "innkeeper.library.db",
        "innkeeper.library.render": "innkeeper.library.templates",
        "innkeeper.library.resolver": "innkeeper.library.catalogue",
        "innkeeper.library.segments": "innkeeper.library.prepare",
        "innkeeper.library.store": "innkeeper.library.templates",
        "innkeeper.library.template": "innkeeper.library.templates",
        "innkeeper.library.tier_gate": "innkeeper.library.tiers",
        "innkeeper.library.tier_policy": "innkeeper.library.tiers",
        "innkeeper.library.tokenizer_spec": "innkeeper.library.models",
        "innkeeper.library.values": "innkeeper.library.templates",
        "innkeeper.library.vault_keys": "innkeeper.library.vault",
        "innkeeper.library.window": "innkeeper.budget",
        "innkeeper.macros.engine.scanner": "innkeeper.macros.engine.syntax",
        "innkeeper.macros.environment": "innkeeper.macros.engine.environment",
        "innkeeper.macros.evaluate": "innkeeper.macros.engine.evaluate",
        "innkeeper.macros.scanner": "innkeeper.macros.engine.syntax",
    }
)
"""Old module path -> the package or module that has its names now."""

RENAMED: Final[Mapping[str, str]] = MappingProxyType({"innkeeper.library.tier_gate.Entry": "TextKind"})
"""Names of moved modules that are called otherwise now."""


class _Finder:
    """Finds moved modules. At the end of ``sys.meta_path``, it is asked only for what nobody else has."""

    @staticmethod
    def find_spec(
        name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in MOVED:
            return None
        return ModuleSpec(name, _Loader(), is_package=any(old.startswith(f"{name}.") for old in MOVED))


class _Loader(Loader):
    """Makes the module of an old path: it has nothing of its own and hands on what is asked of it."""

    def create_module(self, _spec: ModuleSpec) -> None:
        """Let Python make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its names as they are asked for."""
        old, new = module.__name__, MOVED[module.__name__]

        def find(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name=name, obj=module)
            _leave_parent(module)
            warnings.warn(f"{old} has moved: import {name} from {new}", DeprecationWarning, stacklevel=3)
            return getattr(import_module(new), RENAMED.get(f"{old}.{name}", name))

        module.__dict__["__getattr__"] = find


def _leave_parent(module: ModuleType) -> None:
    """Take the module off its package again, where an import has put it: a name of today may be called as it is."""
    parent, _, child = module.__name__.rpartition(".")
    names = vars(sys.modules[parent])
    if names.get(child) is module:
        del names[child]


def install() -> None:
    """Let imports of moved modules find them; more than once is as good as once."""
    if _Finder not in sys.meta_path:
        sys.meta_path.append(_Finder)
