"""The rows of the catalogue: negative prompts, providers, models, tools, secrets, settings, characters."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from innkeeper.library.catalogue.catalogue import Catalogue
from innkeeper.library.catalogue.database_source import SNAPSHOTS, DatabaseSnapshots
from innkeeper.library.catalogue.rows import CatalogueModel
from innkeeper.library.db.engine import Database
from innkeeper.library.db.owner import Owner
from innkeeper.library.db.queries import query
from innkeeper.library.db.rows import AuditStore
from innkeeper.library.errors import AlreadyExistsError, ConflictError, FieldError, NotFoundError
from innkeeper.library.log.conversations import CharacterStore
from innkeeper.library.models.stores import (
    ModelStore,
    NegativeStore,
    ProviderStore,
    SecretStore,
    SettingsStore,
    ToolStore,
)
from innkeeper.prompt.errors import FormatError, InnkeeperError, UsageError

FRAGMENT = {"model_type": "sdxl", "negative_prompt": "blurry"}


def model(db: Database, key: str = "maker/one", **more: object) -> CatalogueModel:
    """Add a model of the provider ``local``."""
    provider = ProviderStore(db).put({"name": "local"})
    return ModelStore(db).add(
        {"model_key": key, "modality": "image", "provider_id": provider.id, "tasks": ["t2i"], **more}
    )


def test_priority_is_one_order_everywhere(db: Database) -> None:
    """The lowest number comes first, and a tie is settled by the identifier."""
    store = NegativeStore(db)
    for name, priority in (("c", 5), ("a", 1), ("d", 5), ("b", 1)):
        store.add({**FRAGMENT, "negative_prompt": name, "priority": priority})
    store.add({**FRAGMENT, "negative_prompt": "off", "priority": 0, "is_active": False})
    here = {"model_type": "sdxl", "content_mode": "sfw", "is_active": True}
    assert [row.negative_prompt for row in store.list(**here)] == ["a", "b", "c", "d"]
    for key, priority in (("x", 9), ("y", -1), ("z", 0)):
        model(db, key, priority=priority)
    assert [row.model_key for row in ModelStore(db).list()] == ["y", "z", "x"]


def test_defaults_are_safe(db: Database) -> None:
    """What is not said is general tier, private and unapproved."""
    row = NegativeStore(db).add(FRAGMENT)
    assert (row.content_mode, row.generation_mode, row.priority) == ("sfw", "txt2img", 1)
    character = CharacterStore(db).add({"name": "Wren"})
    assert (character.content_rating, character.is_public, character.moderation_status) == (
        "sfw",
        False,
        "pending",
    )


def test_an_adult_character_needs_a_declared_age(db: Database) -> None:
    """The database itself refuses a character of the adult tier without a declared adult age."""
    store = CharacterStore(db)
    for age in (None, 17):
        with pytest.raises(FieldError):
            store.add({"name": "A", "content_rating": "nsfw", "declared_age": age})
    assert store.add({"name": "A", "content_rating": "nsfw", "declared_age": 40, "user_id": "u"}).declared_age == 40
    store.add({"name": "0", "user_id": "u"})
    assert [row.name for row in store.of_owner(Owner("u"))] == ["0", "A"]


def test_the_same_fragment_in_both_generation_modes(db: Database) -> None:
    """A fragment may stand in both modes, but not twice in one."""
    store = NegativeStore(db)
    store.add(FRAGMENT)
    store.add({**FRAGMENT, "generation_mode": "i2i"})
    with pytest.raises(AlreadyExistsError, match="the family 'sdxl' has the fragment 'blurry'"):
        store.add(FRAGMENT)


def test_change_touches_only_what_is_named(db: Database) -> None:
    """Two who change different columns of a row both have their way; what was is in the audit events."""
    store = ProviderStore(db)
    store.add({"name": "local", "base_url": "http://127.0.0.1:1"})
    store.update("local", {"display_name": "Here"}, who="ann")
    row = store.update("local", {"is_active": False}, who="bob")
    assert (row.display_name, row.is_active, row.base_url) == ("Here", False, "http://127.0.0.1:1")
    event = AuditStore(db).newest(1)[0]
    assert (event.action, event.actor, event.resource_id) == ("api_providers.change", "bob", "local")
    assert (event.before["is_active"], event.after["is_active"]) == (True, False)


def test_put_adds_or_changes(db: Database) -> None:
    """`put` needs no question first."""
    store = ToolStore(db)
    store.put({"name": "dice", "definition": {"sides": 6}})
    store.put({"name": "dice", "description": "Rolls."})
    assert (store.get("dice").definition, store.get("dice").description) == ({"sides": 6}, "Rolls.")
    assert store.remove("dice").name == "dice"
    assert store.list() == ()


def test_one_default_model_a_task(db: Database) -> None:
    """A task has at most one default, which comes first whatever its priority."""
    store = ModelStore(db)
    model(db, "one", priority=0)
    model(db, "two", priority=5)
    model(db, "off", is_active=False)
    store.set_default("t2i", "one")
    store.set_default("t2i", "two")
    assert store.defaults() == {"t2i": "two"}
    assert [row.model_key for row in store.for_task("t2i")] == ["two", "one"]
    assert store.for_task("t2i", modality="chat") == ()
    with pytest.raises(FieldError, match="does not do 'i2v'"):
        store.set_default("i2v", "one")
    store.remove("two")
    assert store.defaults() == {}


def test_a_provider_with_models_stays(db: Database) -> None:
    """A provider goes only after its models, and the error names them."""
    model(db)
    with pytest.raises(ConflictError, match="maker/one"):
        ProviderStore(db).remove("local")
    ModelStore(db).remove("maker/one")
    assert ProviderStore(db).remove("local").name == "local"
    assert ProviderStore(db).list() == ()


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_fragment_has_a_text(db: Database, text: str) -> None:
    """An empty fragment is neither added nor made of another."""
    store = NegativeStore(db)
    with pytest.raises(UsageError, match="must not be empty"):
        store.add({**FRAGMENT, "negative_prompt": text})
    row = store.add(FRAGMENT)
    with pytest.raises(UsageError, match="must not be empty"):
        store.update(row.id, {"negative_prompt": text})
    assert [kept.negative_prompt for kept in store.list()] == ["blurry"]


def test_models_by_name(db: Database) -> None:
    """Models are found by key; keys that there are not are left out."""
    model(db, "one")
    assert [row.model_key for row in ModelStore(db).named(["one", None, "gone"])] == ["one"]
    assert ModelStore(db).named([None]) == ()


def test_secrets_are_not_given_back(db: Database) -> None:
    """Neither lists nor audit events nor questions hold a secret's bytes; only the vault's door gives them."""
    store = SecretStore(db)
    shown = store.put({"name": "KEY", "ciphertext": b"\x00\xffcipher", "key_id": "k1"}, who="ann")
    assert "ciphertext" not in shown.to_dict()
    assert store.list() == (shown,)
    assert store.ciphertext("KEY") == b"\x00\xffcipher"
    event = AuditStore(db).newest(1)[0]
    assert (event.action, event.resource_id) == ("secrets.add", "KEY")
    assert "cipher" not in repr(event.after).replace("secrets", "")
    assert "cipher" not in repr(query(db, "SELECT name, ciphertext FROM secrets").rows)


def test_settings(db: Database) -> None:
    """A setting is any JSON value; what is not set has the default of whoever asks."""
    store = SettingsStore(db)
    store.set("a", {"b": [1, 2.5, "x"]}, who="ann")
    store.set("a", False)
    assert store.value("a") is False
    assert store.value("b", 7) == 7
    with pytest.raises(FieldError, match="value is needed"):
        store.set("a", None)


def test_snapshots_are_few(db: Database) -> None:
    """The newest snapshot is found, and old ones are forgotten."""
    store = DatabaseSnapshots(db)
    with pytest.raises(FormatError, match="no snapshot"):
        store.load()
    for number in range(SNAPSHOTS + 3):
        store.store(Catalogue.build(revision=number))
    assert store.load().revision == SNAPSHOTS + 2
    assert query(db, "SELECT count(*) FROM prompt_cache_snapshot").rows == ((SNAPSHOTS,),)


@dataclass(frozen=True)
class Refusal:
    id: str
    do: Callable[[Database], object]
    error: type[InnkeeperError]
    says: str


REFUSALS = [
    Refusal("unknown column", lambda db: NegativeStore(db).add({"colour": 1}), UsageError, "no column 'colour'"),
    Refusal("missing", lambda db: NegativeStore(db).add({"model_type": "a"}), FieldError, "negative_prompt is needed"),
    Refusal("null", lambda db: NegativeStore(db).add({**FRAGMENT, "priority": None}), FieldError, "priority is needed"),
    Refusal(
        "text for number",
        lambda db: NegativeStore(db).add({**FRAGMENT, "priority": "1"}),
        FieldError,
        "must be a whole number",
    ),
    Refusal(
        "truth for number",
        lambda db: NegativeStore(db).add({**FRAGMENT, "priority": True}),
        FieldError,
        "must be a whole number",
    ),
    Refusal(
        "number for truth",
        lambda db: NegativeStore(db).add({**FRAGMENT, "is_active": 1}),
        FieldError,
        "must be true or false",
    ),
    Refusal(
        "number for text", lambda db: NegativeStore(db).add({**FRAGMENT, "description": 1}), FieldError, "must be text"
    ),
    Refusal(
        "tier", lambda db: NegativeStore(db).add({**FRAGMENT, "content_mode": "x"}), FieldError, "content_mode_known"
    ),
    Refusal("mode", lambda db: NegativeStore(db).add({**FRAGMENT, "generation_mode": "x"}), FieldError, "mode_known"),
    Refusal("date", lambda db: NegativeStore(db).add({**FRAGMENT, "created_at": "soon"}), FormatError, "ISO 8601"),
    Refusal(
        "text for bytes", lambda db: SecretStore(db).add({"name": "a", "ciphertext": "x"}), FieldError, "must be bytes"
    ),
    Refusal(
        "no data", lambda db: ToolStore(db).add({"name": "a", "definition": {"x": object()}}), UsageError, "not data"
    ),
    Refusal(
        "text for figure",
        lambda db: model(db, avg_generation_time="x"),
        FieldError,
        "must be a whole number or a decimal number",
    ),
    Refusal("put without a key", lambda db: ToolStore(db).put({"name": None}), FieldError, "name is needed"),
    Refusal("unknown row", lambda db: ToolStore(db).get("a"), NotFoundError, "there is no tool 'a'"),
    Refusal("change of nothing", lambda db: ToolStore(db).update("a", {}), NotFoundError, "there is no tool 'a'"),
    Refusal("removal of nothing", lambda db: ToolStore(db).remove("a"), NotFoundError, "there is no tool 'a'"),
    Refusal(
        "provider that is not there",
        lambda db: ModelStore(db).add({"model_key": "a", "modality": "chat", "provider_id": "x"}),
        FieldError,
        "refuses a row",
    ),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.id)
def test_refused(db: Database, case: Refusal) -> None:
    """What a column does not take is refused before or by the database, alike on both, with its place."""
    with pytest.raises(case.error, match=case.says) as caught:
        case.do(db)
    assert caught.value.where is not None or case.error is UsageError


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("tasks", True),
        ("tasks", {"a": 1}),
        ("tasks", [None]),
        ("capabilities", []),
        ("pricing", 5),
        ("tokenizer", "clip"),
    ],
    ids=str,
)
def test_json_columns_have_a_shape(db: Database, column: str, value: object) -> None:
    """What is read as an object or a list is one."""
    provider = ProviderStore(db).add({"name": "p"})
    row = {"model_key": "m", "modality": "chat", "provider_id": provider.id, column: value}
    with pytest.raises(FieldError, match=column):
        ModelStore(db).add(row)
    assert ModelStore(db).list() == ()


@pytest.mark.parametrize(
    ("column", "value", "key", "near"),
    [
        ("capabilities", {"char_limt": 80}, "char_limt", "char_limit"),
        ("capabilities", {"char_limit": 0}, "char_limit", None),
        ("pricing", {"outputs": 2}, "outputs", "output"),
        ("pricing", {"input": -1}, "input", None),
        ("pricing", {"per_imgae": 0.05}, "per_imgae", "per_image"),
        ("pricing", {"input": "free"}, "input", None),
        ("pricing", {"cached": "half"}, "cached", None),
        ("tokenizer", {"kind": "clip", "limit": 75}, "limit", None),
        ("tokenizer", {"kind": "abacus"}, "kind", None),
    ],
)
def test_keys_of_json_columns_are_known(db: Database, column: str, value: object, key: str, near: str | None) -> None:
    """A key that there is not is refused when it is saved, with the nearest one; so is a value of a wrong kind."""
    made = model(db)
    with pytest.raises(FieldError, match=key) as caught:
        ModelStore(db).update(made.model_key, {column: value})
    assert near is None or repr(near) in str(caught.value.hint)
    assert ModelStore(db).get(made.model_key) == made


@pytest.mark.parametrize(
    "address",
    [
        "http://user:pw-0123456789@inn.lan/v1",
        "http://user@inn.lan",
        "https://inn.lan/v1?key=abc",
        "https://inn.lan/v1#a",
        "inn.lan/v1",
        "ftp://inn.lan",
        "http://inn.lan:99999",
    ],
)
def test_an_address_that_is_refused_at_use_is_refused_when_it_is_saved(db: Database, address: str) -> None:
    """A password in it, above all: it would stand in the row and in exports."""
    for refused in (
        lambda: ToolStore(db).add({"name": "leak", "base_url": address}),
        lambda: ToolStore(db).add({"name": "leak", "settings": {"base_url": address}}),
        lambda: ProviderStore(db).add({"name": "leak", "base_url": address}),
    ):
        with pytest.raises(FieldError, match="base_url") as caught:
            refused()
        assert "pw-0123456789" not in str(caught.value)
    assert not ToolStore(db).list()
    assert not ProviderStore(db).list()


def test_abilities_have_names_of_their_own(db: Database) -> None:
    """Beside the known capabilities there may be others, if they are truth values; of rate limits there may not."""
    made = model(db, capabilities={"char_limit": 80, "supports_vision": True})
    assert made.capabilities == {"char_limit": 80, "supports_vision": True}
    with pytest.raises(FieldError, match="requests_per_minut") as caught:
        ProviderStore(db).update("local", {"rate_limits": {"requests_per_minut": 60}})
    assert "'requests_per_minute'" in str(caught.value.hint)


@pytest.mark.parametrize(("task", "near"), [("nosuch", ""), ("roleplays", "roleplay"), ("chat", "")])
def test_tasks_are_known(db: Database, task: str, near: str) -> None:
    """A task that there is not is refused, with those that there are, or the one that was probably meant."""
    provider = ProviderStore(db).add({"name": "p"}).id
    with pytest.raises(FieldError, match="is no task") as caught:
        ModelStore(db).add({"model_key": "m", "modality": "chat", "provider_id": provider, "tasks": [task]})
    assert (near or "t2i") in (caught.value.hint or "")
    assert ModelStore(db).list() == ()


def test_a_tool_has_who_runs_it(db: Database) -> None:
    """Provider, model, secret and settings of a tool are kept; a provider that there is not is refused, with near names."""
    ProviderStore(db).add({"name": "ollama"})
    run_by = {"provider": "ollama", "model": "gemma3:1b", "secret_name": "KEY", "settings": {"temperature": 0.2}}
    row = ToolStore(db).add({"name": "say", **run_by})
    assert {name: value for name, value in row.to_dict().items() if name in run_by} == run_by
    with pytest.raises(NotFoundError) as caught:
        ToolStore(db).update("say", {"provider": "olama"})
    assert "ollama" in (caught.value.hint or "")
