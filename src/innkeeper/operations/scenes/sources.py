"""SceneSources: the records behind a scene: conversation, persons, template, previous scene, state.

All records belong to the caller; the request's claims about them are ignored. A scene can only be continued if its picture
exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.gate.gate import TextKind, character_ceiling
from innkeeper.gate.tier import Tier
from innkeeper.jobs.assets import ASSET
from innkeeper.library.db.owner import Owner
from innkeeper.library.errors import ConflictError, NotFoundError
from innkeeper.library.log.conversations import CharacterStore, card_texts
from innkeeper.library.log.scenes import SceneStore, SceneTemplateStore, StoredSceneState
from innkeeper.library.rows import CharacterRow, ConversationRow, MessageRow, SceneRow, SceneTemplateRow
from innkeeper.library.tiers.moderation import row_texts
from innkeeper.operations.scenes.figures import FigureRole
from innkeeper.operations.scenes.limits import MAX_FACT_CHARS
from innkeeper.operations.scenes.reading import Person
from innkeeper.operations.scenes.request import InlinePerson, SceneRequest, person_texts
from innkeeper.operations.scenes.state import Fact, FactOrigin, SceneState, read_state
from innkeeper.prompt.errors import InnkeeperError

if TYPE_CHECKING:
    from innkeeper.jobs.media_jobs import MediaJobs
    from innkeeper.library.library import Library


_MESSAGES: Final = 10
"""Number of newest messages that are read for a scene."""


class SceneSources(msgspec.Struct, frozen=True, kw_only=True):
    """The records of a scene. ``reasons`` say why some that were requested are missing."""

    owner: Owner
    conversation: ConversationRow | None = None
    character: CharacterRow | None = None
    persona: CharacterRow | None = None
    template: SceneTemplateRow | None = None
    messages: tuple[MessageRow, ...] = ()
    before: SceneRow | None = None
    changed: SceneRow | None = None
    stored: StoredSceneState = StoredSceneState()
    state: SceneState = SceneState()
    reasons: tuple[str, ...] = ()

    @property
    def people(self) -> tuple[tuple[FigureRole, CharacterRow], ...]:
        """The persons who may be in the picture, by role."""
        figures = ((FigureRole.CHARACTER, self.character), (FigureRole.USER, self.persona))
        return tuple((role, row) for role, row in figures if row is not None)

    def ceiling(self) -> Tier:
        """Return the highest tier in which all persons may be shown."""
        rated = [character_ceiling(row.content_rating, row.declared_age) for _, row in self.people]
        return Tier.lowest(*rated) if rated else Tier.SFW

    def state_before(self) -> SceneState | None:
        """Return the state of the previous scene."""
        return None if self.before is None else _state_of(self.before.state)


def persons(sources: SceneSources, role: str) -> tuple[Person, ...]:
    """Return the persons of a scene; the one whose messages have this role speaks."""
    speaker = {"assistant": FigureRole.CHARACTER, "user": FigureRole.USER}.get(role)
    return tuple(
        Person(row.name, "character" if figure is FigureRole.CHARACTER else "user", speaks=figure is speaker)
        for figure, row in sources.people
    )


def read_sources(library: Library, jobs: MediaJobs, request: SceneRequest, owner: Owner) -> SceneSources:
    """Read the records for a request.

    Raises:
        NotFoundError: a conversation, character, template or scene does not exist or belongs to someone else.
        ConflictError: the scene to continue has no picture yet.
    """
    scenes, templates = SceneStore(library.db, owner), SceneTemplateStore(library.db)
    conversations, conversation_id = library.conversations_of(owner), request.conversation_id
    conversation = None if conversation_id is None else conversations.get(conversation_id)
    before, reasons = _before(scenes, jobs, request)
    stored = StoredSceneState() if conversation is None else scenes.state(conversation.id)
    template = None if request.scene_template_id is None else templates.seen_by(owner, request.scene_template_id)
    characters = CharacterStore(library.db)
    defaults: tuple[str | None, str | None] = (None, None)
    if conversation is not None:
        defaults = (conversation.character_id, conversation.user_character_id)
    return SceneSources(
        owner=owner,
        conversation=conversation,
        character=_person(characters, owner, request.character_id, request.character, defaults[0]),
        persona=_person(characters, owner, request.user_character_id, request.user_character, defaults[1]),
        template=template,
        messages=() if conversation is None else conversations.newest(conversation.id, _MESSAGES),
        before=before,
        changed=_changed(scenes, jobs, request),
        stored=stored,
        state=_known(_state_of(stored.state), conversation, template if before is None else None),
        reasons=reasons,
    )


def read_talk(library: Library, owner: Owner, conversation_id: str) -> SceneSources:
    """Read what a conversation says of its scene: persons, newest messages, state. Raises `NotFoundError`."""
    conversations, characters = library.conversations_of(owner), CharacterStore(library.db)
    conversation = conversations.get(conversation_id)
    stored = SceneStore(library.db, owner).state(conversation_id)
    return SceneSources(
        owner=owner,
        conversation=conversation,
        character=_person(characters, owner, None, None, conversation.character_id),
        persona=_person(characters, owner, None, None, conversation.user_character_id),
        messages=conversations.newest(conversation_id, _MESSAGES),
        stored=stored,
        state=_known(_state_of(stored.state), conversation, None),
    )


def _person(
    characters: CharacterStore, owner: Owner, requested: str | None, inline: InlinePerson | None, default: str | None
) -> CharacterRow | None:
    """Return the person with the requested id, else the one described in the request, else the conversation's."""
    if requested is None and inline is not None:
        return CharacterRow(**msgspec.structs.asdict(inline))
    key = default if requested is None else requested
    return None if key is None else characters.seen_by(owner, key)


def _before(scenes: SceneStore, jobs: MediaJobs, request: SceneRequest) -> tuple[SceneRow | None, tuple[str, ...]]:
    """Return the scene to continue: the requested one, or the conversation's newest with a picture."""
    here = request.conversation_id
    if not request.scene_continuity_enabled:
        return None, ()
    if request.previous_scene_id is not None:
        row = scenes.get(request.previous_scene_id)
        if here is not None and row.conversation_id != here:
            raise NotFoundError(f"there is no scene {request.previous_scene_id!r:.100} in this conversation")
        return _with_picture(jobs, row), ()
    newest = None if here is None else scenes.newest_with_image(here)
    if newest is None or newest.image_url is None:
        return None, ()
    return (newest, ()) if _is_there(jobs, newest.image_url) else (None, ("previous_picture_missing",))


def _changed(scenes: SceneStore, jobs: MediaJobs, request: SceneRequest) -> SceneRow | None:
    """Return the scene whose picture is to change. Raises `NotFoundError` if it is not one of the caller's scenes."""
    if request.current_scene_id is not None:
        return _with_picture(jobs, scenes.get(request.current_scene_id))
    image_url = request.current_scene_image_url
    if image_url is None or not request.scene_prompt_override.strip():
        return None
    row = scenes.with_image(image_url)
    if row is None:
        raise NotFoundError(
            "the picture to change is that of no scene of yours",
            hint="send current_scene_id, or the picture's address as the scene has it",
        )
    return _with_picture(jobs, row)


def _with_picture(jobs: MediaJobs, row: SceneRow) -> SceneRow:
    if row.image_url is None:
        fate = "is not made yet" if row.status == "pending" else f"was not made: its job has {row.status}"
        raise ConflictError(f"the picture of the scene {row.id} {fate}", hint="wait for its job, or name another scene")
    if not _is_there(jobs, row.image_url):
        raise ConflictError(f"the picture of the scene {row.id} is gone", hint="name another scene")
    return row


def _is_there(jobs: MediaJobs, picture: str) -> bool:
    if not picture.startswith(ASSET):
        return True
    try:
        jobs.assets.get(picture.removeprefix(ASSET))
    except (InnkeeperError, OSError):
        return False
    return True


def _state_of(stored: Mapping[str, Any]) -> SceneState:
    return read_state(stored) if stored else SceneState()


def _known(state: SceneState, conversation: ConversationRow | None, template: SceneTemplateRow | None) -> SceneState:
    """Fill gaps of the state from conversation and template.

    A location of the conversation that differs from the state's was written by hand, and overrides it.
    """
    location = None if conversation is None else conversation.current_location
    here = state.location
    if location and here is not None and not here.pinned and here.value != location:
        state = msgspec.structs.replace(state, location=None)
    facts = [("location", location, FactOrigin.CONVERSATION)]
    if template is not None:
        facts.append(("location", template.setting, FactOrigin.TEMPLATE))
        facts.append(("time", template.time_of_day, FactOrigin.TEMPLATE))
    for name, value, origin in facts:
        if value is not None and value.strip() and getattr(state, name) is None:
            fact = Fact(value=" ".join(value.split())[:MAX_FACT_CHARS], origin=origin)
            state = msgspec.structs.replace(state, **{name: fact})
    return state


# ------------------------------------------------------------------------------------------------------------------- texts

_NO_TEXTS: Final = frozenset(
    {"id", "user_id", "tenant", "owner", "content_rating", "role", "moderation_status", "consistency_method"}
    | {"created_at", "updated_at", "image_url", "reference_image_url", "preview_image_url"}
    | {"scene_focus", "narrative_style", "perspective_hint"}
)


def scene_texts(request: SceneRequest, sources: SceneSources) -> dict[str, str]:
    """Return every text that may reach the prompt, by its kind: the request's, cards', the template's, messages."""
    texts_by_kind = {f"{TextKind.USER_TEXT}:{name}": text for name, text in request.texts().items()}
    for role, row in sources.people:
        person = card_texts(row, _NO_TEXTS) if row.id else {"inline": "\n".join(person_texts(row))}
        texts_by_kind |= {f"{TextKind.CARD}:{role}.{name}": text for name, text in person.items()}
    if sources.template is not None:
        texts = row_texts(sources.template.to_dict(), _NO_TEXTS)
        texts_by_kind |= {f"{TextKind.SCENE}:{name}": text for name, text in texts.items()}
    if sources.before is not None:
        texts_by_kind[f"{TextKind.IMAGE_CAPTION}:before"] = sources.before.scene_prompt
    state = sources.state
    facts = (state.location, state.time, state.camera, *state.present, *state.props, *state.clothing.values())
    values = [fact.value for fact in facts if fact is not None]
    texts_by_kind[f"{TextKind.SCENE}:state"] = "\n".join(values)
    texts_by_kind[TextKind.HISTORY.value] = "\n".join(row.content for row in sources.messages)
    return {name: text for name, text in texts_by_kind.items() if text.strip()}
