"""The smart tavern: SmartTavern's prompts, from one operation on JSON values to the whole build.

Every operation takes and returns plain JSON values whose key order is part of the contract, and changes none of its arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.taverns.smart.compat import DEFAULT_PROFILE, PROFILES, Compat, compat_of
    from innkeeper.taverns.smart.construction import Construction, construct, construct_explained
    from innkeeper.taverns.smart.errors import EntryNumberError, RoleError, ShapeError
    from innkeeper.taverns.smart.framing import assemble
    from innkeeper.taverns.smart.full_assembly import assemble_full
    from innkeeper.taverns.smart.options import SmartOptions
    from innkeeper.taverns.smart.verdict import Rule, Verdict

__all__ = [
    "DEFAULT_PROFILE",
    "PROFILES",
    "Compat",
    "Construction",
    "EntryNumberError",
    "RoleError",
    "Rule",
    "ShapeError",
    "SmartOptions",
    "Verdict",
    "assemble",
    "assemble_full",
    "compat_of",
    "construct",
    "construct_explained",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "DEFAULT_PROFILE": "compat",
        "PROFILES": "compat",
        "Compat": "compat",
        "Construction": "construction",
        "EntryNumberError": "errors",
        "RoleError": "errors",
        "Rule": "verdict",
        "ShapeError": "errors",
        "SmartOptions": "options",
        "Verdict": "verdict",
        "assemble": "framing",
        "assemble_full": "full_assembly",
        "compat_of": "compat",
        "construct": "construction",
        "construct_explained": "construction",
    },
)
