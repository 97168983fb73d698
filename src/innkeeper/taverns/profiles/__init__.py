"""Profiles: a tavern, a character and all that belongs to them under one name, and turns of conversations over them."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.taverns.profiles.opened import OpenProfile as OpenProfile
    from innkeeper.taverns.profiles.opened import Profiles as Profiles
    from innkeeper.taverns.profiles.opened import open_profile as open_profile
    from innkeeper.taverns.profiles.profile import Profile as Profile
    from innkeeper.taverns.profiles.state import ConversationState as ConversationState
    from innkeeper.taverns.profiles.turn import ProfileTurn as ProfileTurn
    from innkeeper.taverns.profiles.turn import TurnInput as TurnInput
    from innkeeper.taverns.profiles.turn import profile_turn as profile_turn

_HOMES: Final = {
    "ConversationState": "state",
    "OpenProfile": "opened",
    "Profile": "profile",
    "ProfileTurn": "turn",
    "Profiles": "opened",
    "TurnInput": "turn",
    "open_profile": "opened",
    "profile_turn": "turn",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
