"""Taverns: each an ordered tuple of steps that turns assets and a chat into a plan.

A request names its tavern. `TAVERNS` holds the built-in ones and imports one when it is first asked for.
"""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.taverns.inputs import InputRules as InputRules
    from innkeeper.taverns.keywords import BuildInputs as BuildInputs
    from innkeeper.taverns.profiles import open_profile as open_profile
    from innkeeper.taverns.registry import TAVERNS as TAVERNS
    from innkeeper.taverns.registry import Taverns as Taverns
    from innkeeper.taverns.registry import build as build
    from innkeeper.taverns.registry import replay as replay
    from innkeeper.taverns.session import Session as Session
    from innkeeper.taverns.tavern import Builder as Builder
    from innkeeper.taverns.tavern import Tavern as Tavern

_HOMES: Final = {
    "inputs": ("InputRules",),
    "keywords": ("BuildInputs",),
    "profiles": ("open_profile",),
    "registry": ("TAVERNS", "Taverns", "build", "replay"),
    "session": ("Session",),
    "tavern": ("Builder", "Tavern"),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
