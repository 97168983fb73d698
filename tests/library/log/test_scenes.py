"""Scenes in the database: whose they are, their numbers, asked once, their pictures, and what a conversation's scene is like."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from innkeeper.library.db.engine import Database
from innkeeper.library.db.owner import Owner
from innkeeper.library.db.rows import AuditStore
from innkeeper.library.errors import ConflictError, FieldError, NotFoundError, TierBlockedError
from innkeeper.library.log.conversations import ConversationStore
from innkeeper.library.log.scenes import SceneStore, SceneTemplateStore, StoredSceneState, settle_scene
from innkeeper.library.rows import SceneRow

MINE, OTHER = Owner("me"), Owner("other")
STRANGERS = (OTHER, Owner("me", "elsewhere"))


@pytest.fixture
def store(db: Database) -> SceneStore:
    """The scenes of one owner."""
    return SceneStore(db, MINE)


@pytest.fixture
def here(db: Database) -> str:
    """A conversation of the owner's."""
    return str(ConversationStore(db, owner=MINE).create({}).id)


def begun(store: SceneStore, here: str | None = None, **values: Any) -> SceneRow:
    """A scene of a conversation."""
    row, _ = store.begin({"conversation_id": here, "scene_prompt": "A quiet kitchen.", **values})
    return row


def settled(store: SceneStore, scene_id: str, **job: Any) -> None:
    """A scene whose job has ended."""
    facts = {"id": "j", "tenant": "", "owner": "me", "state": "succeeded", "error_kind": None, "image": "asset:a/b.png"}
    with store.db.transaction() as connection:
        settle_scene(connection, scene_id, {**facts, **job}, store.db.now())


def test_numbers_count_up_in_a_conversation(store: SceneStore, here: str) -> None:
    """Scenes of a conversation are numbered; those of none are not."""
    assert [begun(store, here).number for _ in range(3)] == [1, 2, 3]
    assert begun(store).number == 0
    assert [row.number for row in store.list(conversation_id=here, limit=2)] == [3, 2]


def test_many_at_the_same_time(store: SceneStore, here: str) -> None:
    """Whoever begins scenes at the same time gets numbers of their own; one key makes one scene."""
    with ThreadPoolExecutor(4) as pool:
        numbers = list(pool.map(lambda _: begun(store, here).number, range(8)))
        ids = set(pool.map(lambda _: begun(store, here, idempotency_key="k").id, range(8)))
    assert sorted(numbers) == list(range(1, 9))
    assert len(ids) == 1


def test_asked_once(store: SceneStore, here: str) -> None:
    """A key gives the scene of then; for another request it is refused; another owner's key is another."""
    first, new = store.begin({"conversation_id": here, "idempotency_key": "k", "request_sha256": "a"})
    assert new
    assert store.begin({"conversation_id": here, "idempotency_key": "k", "request_sha256": "a"}) == (first, False)
    assert store.requested("k", "a") == first
    assert store.requested(None, "a") is None
    with pytest.raises(ConflictError, match="another request"):
        store.begin({"idempotency_key": "k", "request_sha256": "b"})
    assert SceneStore(store.db, OTHER).begin({"idempotency_key": "k", "request_sha256": "b"})[1]


@pytest.mark.parametrize("stranger", STRANGERS, ids=["user", "tenant"])
def test_foreign_scenes_are_not_there(store: SceneStore, here: str, stranger: Owner) -> None:
    """What belongs to another user or another tenant is not found, changed or shown in any way."""
    scene = begun(store, here).id
    settled(store, scene)
    theirs = SceneStore(store.db, stranger)
    calls: list[Callable[[], object]] = [
        lambda: theirs.get(scene),
        lambda: theirs.assign_job(scene, "j", seed=1, tier="sfw"),
        lambda: theirs.state(here),
        lambda: theirs.put_state(here, StoredSceneState(), {}, seq=1, location="a beach"),
    ]
    for call in calls:
        with pytest.raises(NotFoundError, match="there is no"):
            call()
    assert theirs.list() == ()
    assert theirs.newest_with_image(here) is None
    assert theirs.with_image("asset:a/b.png") is None
    settled(store, scene, owner=stranger.user, tenant=stranger.tenant, image="asset:x/y.png")
    assert store.get(scene).image_url == "asset:a/b.png"


@pytest.mark.parametrize("wrong", ["", "x", "half \ud800", "nul \0", "x" * 9_000])
def test_no_such_id(store: SceneStore, wrong: str) -> None:
    """What is no id, or none of a row, is not found: never an error of the database."""
    templates = SceneTemplateStore(store.db)
    calls: list[Callable[[], object]] = [
        lambda: store.get(wrong),
        lambda: store.state(wrong),
        lambda: templates.seen_by(MINE, wrong),
    ]
    for call in calls:
        with pytest.raises(NotFoundError):
            call()


def test_pictures(store: SceneStore, here: str) -> None:
    """The newest scene that has a picture is found, also by the address of its picture; one without is passed over."""
    one, two, three = (begun(store, here).id for _ in range(3))
    assert store.newest_with_image(here) is None
    settled(store, two)
    settled(store, three, id="k", state="failed", error_kind="timeout", image=None)
    newest = store.newest_with_image(here)
    assert newest is not None
    assert newest.id == two
    assert [store.get(each).status for each in (one, two, three)] == ["pending", "succeeded", "failed"]
    for address in ("asset:a/b.png", "/v1/jobs/j/results/0", f"/v1/scenes/{two}/image"):
        found = store.with_image(address)
        assert found is not None
        assert found.id == two
    assert store.with_image("https://a.example/x.png") is None


def test_only_its_own_job_settles_a_scene(store: SceneStore) -> None:
    """A scene takes its picture from its own job alone."""
    scene = begun(store).id
    store.assign_job(scene, "j", seed=0, tier="sfw")
    settled(store, scene, id="another")
    assert store.get(scene).image_url is None
    settled(store, scene)
    row = store.get(scene)
    assert (row.image_url, row.seed) == ("asset:a/b.png", 0)


def test_state_is_changed_by_one(store: SceneStore, here: str) -> None:
    """Who has seen an older state changes nothing; the location goes to the conversation with the state."""
    seen = store.state(here)
    assert seen == StoredSceneState()
    after = store.put_state(here, seen, {"location": {"value": "kitchen"}}, seq=3, location="kitchen")
    assert store.state(here) == after
    assert (after.seq, after.state["location"]["value"]) == (3, "kitchen")
    with pytest.raises(ConflictError):
        store.put_state(here, seen, {}, seq=9, location="beach")
    assert ConversationStore(store.db).get(here).current_location == "kitchen"
    again = store.put_state(here, after, {}, seq=4, location=None)
    assert (again.version, ConversationStore(store.db).get(here).current_location) == (after.version + 1, "kitchen")
    store.put_state(here, again, {}, seq=4, location="")
    assert ConversationStore(store.db).get(here).current_location is None


def test_texts_pass_the_gate(store: SceneStore, here: str) -> None:
    """What is blocked is not stored, in scenes, states and templates; an audit event tells of it."""
    blocked = "an erotic picture of a twelve year old girl"
    calls: list[Callable[[], object]] = [
        lambda: begun(store, here, scene_prompt=blocked),
        lambda: store.put_state(here, StoredSceneState(), {"props": [{"value": blocked}]}, seq=1, location=None),
        lambda: SceneTemplateStore(store.db).add({"name": "x", "scene_prompt": blocked, **MINE.columns()}),
    ]
    for call in calls:
        with pytest.raises(TierBlockedError):
            call()
    assert (store.list(), SceneTemplateStore(store.db).all_seen_by(MINE)) == ((), ())
    assert [row.action for row in AuditStore(store.db).newest()] == ["tier.block"] * 3


def test_templates(db: Database) -> None:
    """A template is its owner's, or shown to all of a tenant; uses are counted."""
    store = SceneTemplateStore(db)
    own = store.add({"name": "Attic", "scene_prompt": "An attic.", **MINE.columns()})
    shown = store.add({"name": "Hall", "scene_prompt": "A hall.", "is_public": True, **OTHER.columns()})
    assert [row.name for row in store.all_seen_by(MINE)] == ["Attic", "Hall"]
    assert [row.name for row in store.all_seen_by(Owner("me", "elsewhere"))] == []
    assert store.seen_by(MINE, shown.id) == shown
    with pytest.raises(NotFoundError):
        store.owned(MINE, shown.id)
    with pytest.raises(NotFoundError):
        store.seen_by(OTHER, own.id)
    store.used(own.id)
    store.used(own.id)
    assert store.owned(MINE, own.id).usage_count == 2


@pytest.mark.parametrize(
    "wrong", [{"max_words": 10}, {"max_words": 201}, {"min_characters": 3}, {"scene_focus": "weather"}, {"name": None}]
)
def test_templates_refused(db: Database, wrong: dict[str, Any]) -> None:
    """A template's row holds what the document's table allows."""
    with pytest.raises(FieldError):
        SceneTemplateStore(db).add({"name": "x", "scene_prompt": "An attic.", **wrong})
