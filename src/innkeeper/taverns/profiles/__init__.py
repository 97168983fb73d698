"""Profiles: a tavern, a character and all that belongs to them under one name."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.taverns.profiles.opened import OpenProfile as OpenProfile
    from innkeeper.taverns.profiles.opened import Profiles as Profiles
    from innkeeper.taverns.profiles.opened import open_profile as open_profile
    from innkeeper.taverns.profiles.profile import Profile as Profile

_HOMES: Final = {
    "opened": ("OpenProfile", "Profiles", "open_profile"),
    "profile": ("Profile",),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
