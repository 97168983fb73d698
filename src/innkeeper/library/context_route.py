"""Context routes: which use case serves a conversation, as one table (reference §3.3).

The intent is a field of the request. It is never guessed from the words of a message.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from innkeeper.prompt.errors import UnknownNameError

__all__ = ["ROUTES", "ContextRoute", "use_case_for"]


class ContextRoute(msgspec.Struct, frozen=True):
    """One row. None matches anything; ``intent`` None matches only a request without one, ``"*"`` any."""

    use_case: str
    conversation_type: str | None = None
    has_character: bool | None = None
    intent: str | None = None

    def fits(self, conversation_type: str, *, has_character: bool, intent: str | None) -> bool:
        """Whether the row speaks of such a request."""
        return (
            self.conversation_type in {None, conversation_type}
            and self.has_character in {None, has_character}
            and self.intent in {"*", intent}
        )


ROUTES: Final = (
    ContextRoute("enhancement", intent="image_prompt"),
    ContextRoute("enhancement", intent="video_prompt"),
    ContextRoute("scene_generation", intent="scene"),
    ContextRoute("scene_narrative_generation", intent="scene_narrative"),
    ContextRoute("character_roleplay", has_character=True),
    ContextRoute("chat", conversation_type="general", has_character=False),
    ContextRoute("chat", conversation_type="creative", has_character=False),
    ContextRoute("chat", conversation_type="story_development", has_character=False),
    ContextRoute("roleplay", conversation_type="roleplay", has_character=False),
    ContextRoute("character_roleplay", conversation_type="character_roleplay", has_character=False),
    ContextRoute("character_roleplay", conversation_type="scene_roleplay", has_character=False),
    ContextRoute("admin", conversation_type="admin", has_character=False),
)
"""The first row that fits counts: what was asked for, then the character, then the kind of conversation."""


def use_case_for(
    conversation_type: str | None = None,
    *,
    has_character: bool = False,
    intent: str | None = None,
    routes: Iterable[ContextRoute] = ROUTES,
) -> str:
    """The use case of a request; a conversation without a type is ``general``.

    Raises `UnknownNameError` for an intent or a conversation type that no row speaks of.
    """
    kind, table = conversation_type or "general", tuple(routes)
    for route in table:
        if route.fits(kind, has_character=has_character, intent=intent):
            return route.use_case
    if intent is not None and not any(route.intent in {intent, "*"} for route in table):
        raise UnknownNameError("intent", intent, {route.intent for route in table if route.intent})
    raise UnknownNameError(
        "conversation type", kind, {route.conversation_type for route in table if route.conversation_type}
    )
