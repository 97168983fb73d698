"""Scenes: templates that are used again, the scenes that were made, and what the scene of a conversation is like now.

A row is seen by its tenant and owner alone; of templates also those that their owner shows to all. What people write passes the
tier gate before it is stored. A scene's picture is known once its job has ended: whoever ends the job writes both at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from sqlalchemy import or_, select, update

from innkeeper.gate.gate import TextKind, TierGate
from innkeeper.library.db.engine import Database
from innkeeper.library.db.owner import Owner
from innkeeper.library.db.rows import checked, first_row, insert_into, insert_new, typed_rows
from innkeeper.library.db.tables.logs import conversations
from innkeeper.library.db.tables.scenes import character_scenes, scene_states, scenes
from innkeeper.library.errors import ConflictError, NotFoundError
from innkeeper.library.models.stores import RowStore
from innkeeper.library.rows import SceneRow, SceneTemplateRow
from innkeeper.library.tiers.moderation import moderate, row_texts
from innkeeper.prompt.data import EMPTY, FrozenDict, freeze
from innkeeper.prompt.errors import Where

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection


_NO_TEXTS: Final = frozenset(
    {"id", "tenant", "user_id", "content_rating", "preview_image_url", "scene_focus", "narrative_style"}
    | {"perspective_hint", "created_at", "updated_at"}
)
"""Columns of ``scenes`` that nobody writes texts in."""


_R = TypeVar("_R")


class SceneTemplateStore(RowStore[SceneTemplateRow]):
    """Templates of scenes. Each is judged as a whole, in its own tier, before it is saved: `TierBlockedError`.

    ``gate`` is asked instead of the operator's in the database.
    """

    table = scenes
    row = SceneTemplateRow

    def __init__(self, db: Database, gate: TierGate | None = None) -> None:
        super().__init__(db)
        self._gate = gate

    def seen_by(self, owner: Owner, template_id: str) -> SceneTemplateRow:
        """A template of this owner, or one that is shown to all of its tenant. Raises `NotFoundError` for any other."""
        return self._one(template_id, _visible(owner))

    def owned(self, owner: Owner, template_id: str) -> SceneTemplateRow:
        """A template of this owner. Raises `NotFoundError` for any other."""
        return self._one(template_id, owner.owns(scenes))

    def all_seen_by(self, owner: Owner, limit: int = 100) -> tuple[SceneTemplateRow, ...]:
        """The templates that this owner sees, by name."""
        query = select(scenes).where(_visible(owner)).order_by(scenes.c.name, scenes.c.id).limit(limit)
        with self.db.reading() as connection:
            return typed_rows(connection.execute(query), SceneTemplateRow)

    def used(self, template_id: str) -> None:
        """Count a use; two at the same time are two."""
        with self.db.transaction() as connection:
            more = {"usage_count": scenes.c.usage_count + 1}
            connection.execute(update(scenes).where(scenes.c.id == template_id).values(more))

    def _one(self, template_id: str, condition: Any) -> SceneTemplateRow:
        _require_id("scene template", template_id)
        with self.db.reading() as connection:
            row = first_row(connection.execute(select(scenes).where(scenes.c.id == template_id, condition)), self.row)
        return _present(row, "scene template", template_id)

    def _admit(self, row: SceneTemplateRow, who: str) -> None:
        texts, resource = row_texts(row.to_dict(), _NO_TEXTS), (self.table.name, row.id)
        moderate(self.db, TextKind.SCENE, texts, row.content_rating, resource=resource, who=who, gate=self._gate)


def _visible(owner: Owner) -> Any:
    return (scenes.c.tenant == owner.tenant) & or_(scenes.c.user_id == owner.user, scenes.c.is_public)


class StoredSceneState(msgspec.Struct, frozen=True):
    """What the scene of a conversation is like. ``seq`` is the last message that was read, ``version`` what a change is based on.

    Version 0: nothing is stored yet.
    """

    state: FrozenDict = EMPTY
    seq: int = 0
    version: int = 0


_UNHELD: Final = re.compile("[\0\ud800-\udfff]")
_RESULT: Final = re.compile(r"/v1/(?:jobs/(?P<job>[\w-]+)/results/0|scenes/(?P<scene>[\w-]+)/image)")
_TEXTS: Final = ("scene_name", "scene_description", "scene_text", "scene_prompt")


class SceneStore:
    """The scenes of one owner; threads and processes may share it. ``gate`` is asked instead of the operator's."""

    def __init__(self, db: Database, owner: Owner, gate: TierGate | None = None) -> None:
        self.db = db
        self.owner = owner
        self._gate = gate
        self._mine = owner.owns(character_scenes)

    # ------------------------------------------------------------------------------------------------------------- scenes

    def begin(self, values: Mapping[str, Any]) -> tuple[SceneRow, bool]:
        """Store a scene that is asked for, with the next number of its conversation, and tell whether it is new.

        With an idempotency key that its owner used before, the scene of then is given back.

        Raises:
            ConflictError: the key was used for another request.
            FieldError, TierBlockedError: it cannot be stored.
        """
        now = self.db.now()
        row = {"id": self.db.fresh_id(), "created_at": now, "updated_at": now, **values, **self.owner.columns()}
        with self.db.transaction() as connection:
            if (before := self._requested(connection, row)) is not None:
                return before, False
            if row.get("conversation_id") is not None:
                row["number"] = self._next(connection, row["conversation_id"], now)
            made = insert_into(self.db.dialect, character_scenes).values(checked(character_scenes, row))
            made = made.on_conflict_do_nothing().returning(character_scenes)
            stored = first_row(connection.execute(made), SceneRow)
            if stored is None:
                before = self._requested(connection, row)
                assert before is not None  # noqa: S101 - only its key can be in conflict
                return before, False
            return self._admitted(stored), True

    def requested(self, key: str | None, sha256: str) -> SceneRow | None:
        """The scene with this idempotency key. Raises `ConflictError`: it was used for another request."""
        with self.db.reading() as connection:
            return self._requested(connection, {"idempotency_key": key, "request_sha256": sha256})

    def assign_job(self, scene_id: str, job_id: str, *, seed: int | None, tier: str) -> SceneRow:
        """Note which job makes a scene's picture, with which seed and in which tier. Raises `NotFoundError`."""
        changes = {"job_id": job_id, "seed": seed, "tier": tier, "updated_at": self.db.now()}
        values = checked(character_scenes, changes, whole=False)
        mine = update(character_scenes).where(character_scenes.c.id == scene_id, self._mine)
        with self.db.transaction() as connection:
            row = first_row(connection.execute(mine.values(values).returning(character_scenes)), SceneRow)
        return _present(row, "scene", scene_id)

    def get(self, scene_id: str) -> SceneRow:
        """A scene. Raises `NotFoundError`, also for one of somebody else."""
        _require_id("scene", scene_id)
        query = select(character_scenes).where(character_scenes.c.id == scene_id, self._mine)
        with self.db.reading() as connection:
            return _present(first_row(connection.execute(query), SceneRow), "scene", scene_id)

    def list(self, *, conversation_id: str | None = None, limit: int = 50) -> tuple[SceneRow, ...]:
        """The newest scenes, or those of one conversation, newest first."""
        here = [] if conversation_id is None else [character_scenes.c.conversation_id == conversation_id]
        newest = (character_scenes.c.created_at.desc(), character_scenes.c.number.desc(), character_scenes.c.id.desc())
        query = select(character_scenes).where(self._mine, *here).order_by(*newest).limit(limit)
        with self.db.reading() as connection:
            return typed_rows(connection.execute(query), SceneRow)

    def newest_with_image(self, conversation_id: str) -> SceneRow | None:
        """The newest scene of a conversation that has a picture."""
        here = (character_scenes.c.conversation_id == conversation_id, character_scenes.c.image_url.is_not(None))
        query = select(character_scenes).where(self._mine, *here).order_by(character_scenes.c.number.desc()).limit(1)
        with self.db.reading() as connection:
            return first_row(connection.execute(query), SceneRow)

    def with_image(self, image: str) -> SceneRow | None:
        """The newest scene whose picture this is; also by the address of its job's result."""
        named = [character_scenes.c.image_url == image]
        if (address := _RESULT.fullmatch(image)) is not None:
            column = character_scenes.c.job_id if address["job"] else character_scenes.c.id
            named.append(column == (address["job"] or address["scene"]))
        has_one = character_scenes.c.image_url.is_not(None)
        newest = (character_scenes.c.created_at.desc(), character_scenes.c.number.desc())
        query = select(character_scenes).where(self._mine, has_one, or_(*named)).order_by(*newest).limit(1)
        with self.db.reading() as connection:
            return first_row(connection.execute(query), SceneRow)

    # -------------------------------------------------------------------------------------------------------------- state

    def state(self, conversation_id: str) -> StoredSceneState:
        """What the scene of a conversation is like. Raises `NotFoundError` for a conversation of somebody else."""
        joined = conversations.outerjoin(scene_states, scene_states.c.conversation_id == conversations.c.id)
        query = select(scene_states.c.state, scene_states.c.seq, scene_states.c.version).select_from(joined)
        with self.db.reading() as connection:
            row = first_row(connection.execute(query.where(*self._conversation(conversation_id))), StoredSceneState)
        return _present(row, "conversation", conversation_id)

    def put_state(
        self,
        conversation_id: str,
        seen: StoredSceneState,
        state: Mapping[str, Any],
        *,
        seq: int,
        location: str | None,
        tier: Any = None,
    ) -> StoredSceneState:
        """Store what the scene is like, if it is still as it was ``seen``.

        Where ``location`` is given, the conversation's becomes that; an empty one is forgotten. ``tier`` is for which it is.

        Raises:
            NotFoundError: the conversation is somebody else's.
            ConflictError: somebody else has changed it.
            TierBlockedError: its texts do not pass.
        """
        now, version = self.db.now(), max(seen.version, 1)
        changes = {"state": dict(state), "seq": seq, "version": version + 1, "updated_at": now}
        resource = ("scene_states", conversation_id)
        with self.db.transaction() as connection:
            texts = row_texts({"state": state}, ())
            moderate(self.db, TextKind.SCENE, texts, tier, resource=resource, gate=self._gate)
            self._make_state(connection, conversation_id, now)
            here = (scene_states.c.conversation_id == conversation_id, scene_states.c.version == version)
            values = checked(scene_states, changes, whole=False)
            if not connection.execute(update(scene_states).where(*here).values(values)).rowcount:
                raise ConflictError("the state of the scene was changed by somebody else")
            location_fields = {} if location is None else {"current_location": location or None}
            values = checked(conversations, {**location_fields, "updated_at": now}, whole=False)
            here = self._conversation(conversation_id)
            if not connection.execute(update(conversations).where(*here).values(values)).rowcount:
                raise _unknown("conversation", conversation_id)
        return StoredSceneState(freeze(state), seq, version + 1)

    # ------------------------------------------------------------------------------------------------------ its own parts

    def _conversation(self, conversation_id: str) -> tuple[Any, Any]:
        """The condition that a conversation is this one and the owner's. Raises `NotFoundError` for what can be no id."""
        _require_id("conversation", conversation_id)
        return conversations.c.id == conversation_id, self.owner.owns(conversations)

    def _next(self, connection: Connection, conversation_id: str, now: str) -> int:
        """The next number of a conversation's scenes. Whoever asks holds the conversation's scenes to the transaction's end."""
        self._make_state(connection, conversation_id, now)
        here = scene_states.c.conversation_id == conversation_id
        more = {"last_number": scene_states.c.last_number + 1}
        counted = update(scene_states).where(here).values(more).returning(scene_states.c.last_number)
        return int(connection.execute(counted).scalar_one())

    def _make_state(self, connection: Connection, conversation_id: str, now: str) -> None:
        values = {"conversation_id": conversation_id, "created_at": now, "updated_at": now}
        insert_new(connection, scene_states, checked(scene_states, values))

    def _requested(self, connection: Connection, row: Mapping[str, Any]) -> SceneRow | None:
        key = row.get("idempotency_key")
        if key is None:
            return None
        query = select(character_scenes).where(self._mine, character_scenes.c.idempotency_key == key)
        earlier = first_row(connection.execute(query), SceneRow)
        if earlier is not None and earlier.request_sha256 != row.get("request_sha256", ""):
            raise ConflictError("the idempotency key was used for another request", hint="use a new key for it")
        return earlier

    def _admitted(self, row: SceneRow) -> SceneRow:
        texts = row_texts({name: getattr(row, name) for name in _TEXTS}, ())
        resource, who = ("character_scenes", row.id), row.user_id
        moderate(self.db, TextKind.SCENE, texts, row.tier, resource=resource, who=who, gate=self._gate)
        return row


def settle_scene(connection: Connection, scene_id: str, job: Mapping[str, Any], now: str) -> None:
    """Write what became of a scene's job to the scene, in the transaction that ends the job.

    ``job`` has its ``id``, ``tenant``, ``owner``, ``state``, ``error_kind`` and the name of its first result as ``image``. A job
    that is not the scene's changes nothing.
    """
    values = {"status": job["state"], "error_kind": job["error_kind"], "job_id": job["id"], "updated_at": now}
    if job["image"] is not None:
        values["image_url"] = job["image"]
    here = character_scenes.c.id == scene_id
    its_own = or_(character_scenes.c.job_id.is_(None), character_scenes.c.job_id == job["id"])
    mine = Owner(job["owner"], job["tenant"]).owns(character_scenes)
    connection.execute(update(character_scenes).where(here, its_own, mine).values(values))


def _present(row: _R | None, label: str, value: str) -> _R:
    if row is None:
        raise _unknown(label, value)
    return row


def _require_id(label: str, value: object) -> None:
    """Refuse what no database holds, before it is looked for."""
    if not isinstance(value, str) or _UNHELD.search(value):
        raise _unknown(label, str(value).encode("ascii", "replace").decode())


def _unknown(label: str, value: str) -> NotFoundError:
    return NotFoundError(f"there is no {label} {value!r:.100}", where=Where(asset="scenes"))
