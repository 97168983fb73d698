"""Following: the state of a conversation's scene after each turn, by the rules alone; no model is asked.

A turn is never undone for its scene: a state that its tier does not allow, or that somebody else has changed meanwhile, is left
for the next turn, which reads again what was not read.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from innkeeper.library.log.scenes import SceneStore
from innkeeper.operations.scenes.limits import MAX_SCENE_CHARS
from innkeeper.operations.scenes.reading import analyse
from innkeeper.operations.scenes.sources import persons, read_talk
from innkeeper.operations.scenes.state import apply_changes
from innkeeper.prompt.allowance import allowed
from innkeeper.prompt.errors import InnkeeperError

if TYPE_CHECKING:
    from innkeeper.gate.tier import Tier
    from innkeeper.library.db.owner import Owner
    from innkeeper.library.library import Library


def follow_talk(library: Library, owner: Owner, conversation_id: str, tier: Tier) -> None:
    """Apply what the messages since the last reading change of the scene."""
    with suppress(InnkeeperError), allowed():
        talk = read_talk(library, owner, conversation_id)
        unread = [row for row in talk.messages if row.seq > talk.stored.seq]
        read = [analyse(row.content[-MAX_SCENE_CHARS:], persons(talk, row.role), message=row.id) for row in unread]
        after = apply_changes(talk.state, (change for context in read for change in context.changes))
        if not after.applied:
            return
        moved = after.state.location is not None and any(change.field == "location" for change in after.applied)
        SceneStore(library.db, owner).put_state(
            conversation_id,
            talk.stored,
            after.state.to_dict(),
            seq=unread[-1].seq,
            location=after.state.location_text if moved else None,
            tier=tier,
        )
