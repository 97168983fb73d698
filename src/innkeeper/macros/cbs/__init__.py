"""CBS, the macro language of RisuAI: variables, lists, dice, blocks; expanded in one pass with a stack."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.macros.cbs.escapes import escaped as escaped
    from innkeeper.macros.cbs.escapes import unescaped as unescaped
    from innkeeper.macros.cbs.expansion import Expanded as Expanded
    from innkeeper.macros.cbs.expansion import expand as expand
    from innkeeper.macros.cbs.scope import LATER as LATER
    from innkeeper.macros.cbs.scope import PROFILES as PROFILES
    from innkeeper.macros.cbs.scope import RISU_166 as RISU_166
    from innkeeper.macros.cbs.scope import CbsCompat as CbsCompat
    from innkeeper.macros.cbs.scope import CbsScope as CbsScope
    from innkeeper.macros.cbs.scope import default_variables as default_variables

_HOMES: Final = {
    "escapes": ("escaped", "unescaped"),
    "expansion": ("Expanded", "expand"),
    "scope": ("LATER", "PROFILES", "RISU_166", "CbsCompat", "CbsScope", "default_variables"),
}

__all__ = [
    "LATER",
    "PROFILES",
    "RISU_166",
    "CbsCompat",
    "CbsScope",
    "Expanded",
    "default_variables",
    "escaped",
    "expand",
    "unescaped",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
