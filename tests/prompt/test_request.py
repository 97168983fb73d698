"""BuildRequest: one value that everything depends on, read from anything, written as data."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper import __version__
from innkeeper.prompt import (
    Block,
    BuildRequest,
    ConfigError,
    Context,
    FormatError,
    FrozenDict,
    Injection,
    InjectionPosition,
    InMemoryVariables,
    InnkeeperError,
    LimitError,
    Message,
    Pipeline,
    Plan,
    Ports,
    ReplayBundle,
    ReplayError,
    State,
    UnavailableError,
    UnknownNameError,
    UnsupportedError,
    UsageError,
    Where,
    build,
)
from innkeeper.prompt.request import GENERATION_TYPES, MAX_TOKENS
from tests.prompt.doubles import ANY_TEXT, BARE, JSON, nested, objects, step

FIELDS = BuildRequest.__struct_fields__
ROLES = st.sampled_from(["system", "user", "assistant", "tool"])
MESSAGES = st.fixed_dictionaries(
    {"role": ROLES, "content": ANY_TEXT},
    optional={"name": ANY_TEXT, "metadata": st.dictionaries(ANY_TEXT, JSON, max_size=2), "swipes": st.lists(ANY_TEXT)},
)
TABLES = st.dictionaries(ANY_TEXT, JSON, max_size=3)
REQUESTS = st.fixed_dictionaries(
    {},
    optional={
        "tavern": st.sampled_from(["vibe", "silly"]),
        "history": st.lists(MESSAGES, max_size=3),
        "message": ANY_TEXT,
        "injections": st.lists(
            st.fixed_dictionaries(
                {
                    "id": st.text(min_size=1, max_size=3),
                    "content": ANY_TEXT,
                    "position": st.sampled_from(["in_chat", 0]),
                }
            ),
            max_size=2,
        ),
        "context": st.fixed_dictionaries({}, optional={"chatIndex": JSON, "module_configs": st.just({"s": {"k": 1}})}),
        "meta": TABLES,
        "options": TABLES,
        "macro_vars": TABLES,
        "tools": st.lists(TABLES, max_size=2),
        "context_window": st.integers(0, 10**6),
        "seed": st.integers(),
        "strict": st.booleans(),
        "greeting": st.none() | st.integers(-1, 5),
    },
)


@given(REQUESTS)
def test_a_request_reads_its_own_json(fields: dict[str, Any]) -> None:
    """Writing and reading gives an equal request, and the same bytes again."""
    request = BuildRequest.of(fields)
    twin = BuildRequest.from_json(request.to_json())
    assert twin == request
    assert twin.to_json() == request.to_json()
    assert BuildRequest.of(request.to_dict()) == request


@given(REQUESTS)
def test_spelling_does_not_matter(fields: dict[str, Any]) -> None:
    """The same fields, named in another order, are the same bytes: as a whole, or one after the other."""
    request = BuildRequest.of(fields)
    assert BuildRequest.of(dict(reversed(fields.items()))).to_json() == request.to_json()
    assert BuildRequest().with_(**fields).to_json() == request.to_json()


@given(objects(*FIELDS) | JSON)
def test_any_json_is_a_request_or_a_typed_error(value: Any) -> None:
    """No JSON value raises anything else, and what is read can be written."""
    try:
        request = BuildRequest.of(value)
        request.to_json()
    except InnkeeperError:
        return
    assert BuildRequest.from_json(request.to_json()).to_json() == request.to_json()


@given(st.binary(max_size=40) | st.text(max_size=40))
def test_any_text_is_a_request_or_a_typed_error(text: Any) -> None:
    """The reader raises nothing else."""
    try:
        request = BuildRequest.from_json(text)
    except InnkeeperError:
        return
    assert isinstance(request, BuildRequest)


@dataclass(frozen=True)
class ReadCase:
    id: str
    field: str
    given: Any
    value: Any


READ = [
    ReadCase("history", "history", [{"role": "user", "content": "x"}], (Message("user", "x"),)),
    ReadCase("no-history", "history", None, ()),
    ReadCase("one-lorebook", "lorebooks", {"entries": []}, ({"entries": []},)),
    ReadCase("lorebooks", "lorebooks", [{}, {"a": 1}], ({}, {"a": 1})),
    ReadCase("no-lorebooks", "lorebooks", None, ()),
    ReadCase("message-none", "message", None, ""),
    ReadCase("message-number", "message", 5, "5"),
    ReadCase("message-surrogate", "message", "\ud800", "\ufffd"),
    ReadCase("options", "options", {"logit_bias": {50256: -100}}, FrozenDict(logit_bias=FrozenDict({"50256": -100}))),
    ReadCase("no-options", "options", None, FrozenDict()),
    ReadCase("tools", "tools", [{"name": "add"}], (FrozenDict(name="add"),)),
    ReadCase("context", "context", {"chatIndex": 1}, Context({"chat_index": 1}, type="app")),
    ReadCase("moment", "now", datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01T00:00:00+00:00"),
    ReadCase("injection", "injections", [{"id": "a", "content": "x", "position": 1}],
             (Injection("a", "x", InjectionPosition.CHAT),)),
]  # fmt: skip


@pytest.mark.parametrize("case", READ, ids=lambda case: case.id)
def test_fields_are_read_the_same_everywhere(case: ReadCase) -> None:
    """From a mapping and by `with_`, a field takes the shapes a door may have it in."""
    assert getattr(BuildRequest.of({case.field: case.given}), case.field) == case.value
    assert getattr(BuildRequest(seed=3).with_(**{case.field: case.given}), case.field) == case.value


@dataclass(frozen=True)
class BadCase:
    id: str
    fields: Any
    error: type[InnkeeperError]
    where: Where | None


BAD = [
    BadCase("not-a-mapping", [1], FormatError, Where("request")),
    BadCase("unknown-field", {"colour": 1}, FormatError, Where("request")),
    BadCase("seed-text", {"seed": "x"}, FormatError, Where("request", "seed")),
    BadCase("options-list", {"options": [1]}, FormatError, Where("request", "options")),
    BadCase("negative-window", {"context_window": -5}, FormatError, Where("request", "context_window")),
    BadCase("negative-reserve", {"reserved_tokens": -5}, FormatError, Where("request", "reserved_tokens")),
    BadCase("tool-number", {"tools": [{}, 5]}, FormatError, Where("request", "tools[1]")),
    BadCase("message-dict", {"message": {"a": 1}}, FormatError, Where("request", "message")),
    BadCase("history-number", {"history": 5}, UsageError, Where("request", "history")),
    BadCase("history-element", {"history": [{"role": "user", "content": "x"}, {}]}, FormatError, Where("history", "[1]")),
    BadCase("injection", {"injections": [{"id": "a", "content": "x", "depth": -1}]}, FormatError, Where("request", "injections")),
    BadCase("injection-position", {"injections": [{"id": "a", "content": "x", "position": "up"}]}, UnknownNameError,
            Where("request", "injections")),
    BadCase("module-configs", {"context": {"module_configs": {"a": 1}}}, ConfigError, Where("request", "context")),
    BadCase("nan", {"options": {"temperature": float("nan")}}, FormatError, Where("request", "options")),
    BadCase("deep-options", {"options": {"a": nested(100_000)}}, LimitError, Where("request", "options")),
    BadCase("deep-character", {"character": nested(100_000)}, LimitError, Where("request", "character")),
    BadCase("deep-lorebooks", {"lorebooks": nested(100_000)}, LimitError, Where("request", "lorebooks")),
]  # fmt: skip


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.id)
def test_a_bad_field_is_a_typed_error_that_names_it(case: BadCase) -> None:
    """Wrong types, unknown fields and endless data say where they are."""
    with pytest.raises(case.error) as caught:
        BuildRequest.of(case.fields)
    assert caught.value.where == case.where


def test_broken_json_has_line_and_column() -> None:
    """Of the text that was given, under the name it was given."""
    with pytest.raises(FormatError) as caught:
        BuildRequest.from_json('{\n"seed": }', asset="row 7")
    assert caught.value.where is not None
    assert str(caught.value.where) == "row 7:2:9"


def test_with_checks_its_fields() -> None:
    """An unknown input is a usage error that lists the inputs; a wrong type is named as in `of`."""
    with pytest.raises(UsageError, match="unknown input 'colour'") as caught:
        BuildRequest().with_(colour=1)
    assert "history" in (caught.value.hint or "")
    with pytest.raises(FormatError):
        BuildRequest().with_(seed="x")


def test_a_request_is_isolated_from_its_caller() -> None:
    """B23: what a caller changes later, or a build is handed, is never the caller's own dict."""
    options: dict[str, Any] = {"stop": ["x"]}
    request = BuildRequest.of({"options": options})
    options["stop"].append("y")
    options["temperature"] = 1
    assert request.options == {"stop": ("x",)}
    with pytest.raises(TypeError):
        request.options["temperature"] = 1


@pytest.mark.parametrize("value", [object(), b"png", [datetime(2026, 1, 1, tzinfo=UTC)], float("nan"), 10**5000],
                         ids=["object", "bytes", "moment", "nan", "huge"])  # fmt: skip
def test_what_is_not_data_cannot_be_written(value: Any) -> None:
    """A request may be built with such an asset, but it says that it cannot be stored."""
    request = BuildRequest(character=value)
    for write in (request.to_json, request.to_dict):
        with pytest.raises(InnkeeperError):
            write()


def test_the_order_of_keys_is_kept() -> None:
    """A build may depend on it: of variables, of a book's entries. So reading back changes no order."""
    request = BuildRequest.of(
        {"variables": {"local": {"b": 1, "a": 2}}, "lorebooks": [{"entries": {"9": {}, "10": {}}}]}
    )
    twin = BuildRequest.from_json(request.to_json())
    assert list(twin.variables["local"]) == ["b", "a"]
    assert list(twin.lorebooks[0]["entries"]) == ["9", "10"]


def test_defaults_are_left_out() -> None:
    """An empty request is an empty object, so that old bundles keep their bytes when a field is added."""
    assert BuildRequest().to_json() == b"{}"
    assert json.loads(BuildRequest(seed=5, tavern="silly").to_json()) == {"seed": 5, "tavern": "silly"}


def test_a_request_is_read_once() -> None:
    """A request stays the object it is."""
    request = BuildRequest()
    assert BuildRequest.of(request) is request


def test_generation_types_are_in_the_order_of_their_codes() -> None:
    """SillyTavern's numeric codes 0 to 5 (tavernkit §2.3)."""
    assert GENERATION_TYPES == ("normal", "continue", "impersonate", "swipe", "regenerate", "quiet")


def _assemble(state: State) -> None:
    roll = state.inputs.random.stream("roll").random()
    text = (
        f"{state.request.message} {roll} {state.inputs.clock.now} {state.variables.get('mood')} {dict(state.context)}"
    )
    state.result.plan = Plan(blocks=(Block(role="user", content=text),), dialects=BARE)


PIPELINE = Pipeline(step("plan_assembly", _assemble))


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "message": ANY_TEXT,
            "seed": st.integers(),
            "options": st.dictionaries(ANY_TEXT, JSON, max_size=2),
            "context": st.dictionaries(ANY_TEXT, JSON, max_size=2),
            "variables": st.just({"local": {"mood": "calm"}}),
        },
    )
)
def test_a_bundle_builds_the_same_bytes_again(tmp_path_factory: pytest.TempPathFactory, fields: dict[str, Any]) -> None:
    """Write, read, rebuild: the same fingerprint, the same messages, and the same bundle once more."""
    try:
        request = BuildRequest.of(fields)
    except InnkeeperError:  # module_configs of another shape, say
        return
    plan = build(request, PIPELINE)
    path = tmp_path_factory.getbasetemp() / "bundle.json"
    plan.replay().write(path)
    bundle = ReplayBundle.read(path)
    again = bundle.check(build(bundle.request, PIPELINE))
    assert again.fingerprint() == plan.fingerprint()
    assert again.messages == plan.messages
    assert again.replay().to_json() == path.read_bytes()


def test_a_store_outside_is_part_of_the_bundle() -> None:
    """Variables that came from a store of the application are recorded as they were before the build."""
    store = InMemoryVariables({"local": {"mood": "calm"}})
    bundle = build(BuildRequest(now="2026-01-01T00:00:00Z"), PIPELINE, Ports(variables=store)).replay()
    store.set("mood", "wild")
    assert bundle.check(build(bundle.request, PIPELINE)).variables["local"] == {"mood": "calm"}


def test_a_bundle_says_what_it_holds() -> None:
    """Format, version, dialect, fingerprint, request."""
    plan = build(BuildRequest(seed=3), PIPELINE)
    data = json.loads(plan.replay("openai").to_json())
    assert data == {
        "innkeeper_replay": 1,
        "version": __version__,
        "dialect": "openai",
        "fingerprint": plan.fingerprint("openai"),
        "request": plan.request.to_dict() if plan.request else None,
    }


def test_another_plan_fails_the_check() -> None:
    """The error holds both fingerprints and the version that made the bundle."""
    bundle = build(BuildRequest(seed=3), PIPELINE).replay()
    with pytest.raises(ReplayError) as caught:
        bundle.check(build(bundle.request.with_(seed=4), PIPELINE))
    assert caught.value.details["recorded"] == bundle.fingerprint
    assert __version__ in (caught.value.hint or "")


def test_a_request_with_more_than_data_cannot_be_replayed() -> None:
    """Found when a bundle is wanted, with the reason."""
    with pytest.raises(ReplayError, match="object is not data"):
        build(BuildRequest(character=object()), PIPELINE).replay()


GOOD = {"innkeeper_replay": 1, "version": "0", "dialect": "openai", "fingerprint": "0", "request": {}}


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        ([], FormatError, "innkeeper_replay is missing"),
        ({}, FormatError, "innkeeper_replay is missing"),
        ({**GOOD, "innkeeper_replay": 2}, UnsupportedError, "format 2"),
        ({**GOOD, "innkeeper_replay": True}, UnsupportedError, "format bool"),
        ({**GOOD, "innkeeper_replay": [[1]]}, UnsupportedError, "format list"),
        ({**GOOD, "version": 5}, FormatError, "must be text"),
        ({key: value for key, value in GOOD.items() if key != "dialect"}, FormatError, "must be text"),
        ({**GOOD, "request": None}, FormatError, "must be a mapping"),
        ({**GOOD, "request": {"seed": "x"}}, FormatError, "must be a whole number, not text"),
        ({**GOOD, "request": {"character": nested(200)}}, LimitError, "MAX_DEPTH"),
    ],
)
def test_what_is_no_bundle_is_a_typed_error(data: Any, error: type[InnkeeperError], says: str) -> None:
    """Each way of not being one, under the name of the file."""
    with pytest.raises(error, match=says) as caught:
        ReplayBundle.from_json(json.dumps(data), asset="it.json")
    assert caught.value.where is not None
    assert caught.value.where.asset == "it.json"


def test_a_bad_field_in_a_bundle_is_found_by_its_path() -> None:
    """The path leads from the file to the field."""
    with pytest.raises(FormatError) as caught:
        ReplayBundle.from_json(json.dumps({**GOOD, "request": {"seed": "x"}}), asset="it.json")
    assert str(caught.value.where) == "it.json: request.seed"


@given(objects("innkeeper_replay", "version", "dialect", "fingerprint", "request").map(lambda d: {**GOOD, **d}) | JSON)
def test_any_json_is_a_bundle_or_a_typed_error(data: Any) -> None:
    """No JSON value raises anything else."""
    try:
        bundle = ReplayBundle.from_json(json.dumps(data))
    except InnkeeperError:
        return
    assert ReplayBundle.from_json(bundle.to_json()) == bundle


@given(st.binary(max_size=60))
def test_any_bytes_are_a_bundle_or_a_typed_error(data: bytes) -> None:
    """Nor do bytes."""
    with pytest.raises(InnkeeperError):
        ReplayBundle.from_json(data)


def test_a_file_that_cannot_be_read_or_written_is_a_typed_error(tmp_path: Path) -> None:
    """A missing file, a folder, a name that no system takes; a failed writing leaves nothing behind."""
    for path in (tmp_path / "missing.json", tmp_path, "a\0b"):
        with pytest.raises(UnavailableError, match="cannot read"):
            ReplayBundle.read(path)
    bundle = build(BuildRequest(), PIPELINE).replay()
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    for path in (tmp_path / "nowhere" / "b.json", tmp_path / "folder", "a\0b"):
        with pytest.raises(UnavailableError, match="cannot write"):
            bundle.write(path)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize(
    ("field", "value", "loader"),
    [
        ("character", "cards/wenna.png", "load_character"),
        ("character", Path("wenna.charx"), "load_character"),
        ("user", "ansel.persona.json", "load_persona"),
        ("preset", Path("preset.JSON"), "load_preset"),
        ("lorebooks", "larks.json", "load_lorebook"),
        ("lorebooks", ["larks.json"], "load_lorebook"),
        ("history", "chat.jsonl", "load_chat"),
    ],
)
def test_the_name_of_a_file_is_no_content(field: str, value: object, loader: str) -> None:
    """A file is read by whoever asks, and the error names what reads it."""
    with pytest.raises(UsageError, match="is the name of a file") as caught:
        BuildRequest.of({field: value})
    assert caught.value.where is not None
    assert caught.value.where.path == field
    assert f"innkeeper.content.{loader}(" in (caught.value.hint or "")


def test_a_name_stays_a_name() -> None:
    """Who is called like something with a dot, or is JSON, is not taken for a file."""
    for name in ("Dr. No", "J.P. Morgan", "v2.0", '{"name": "x.json"}', "a.png\nb"):
        assert BuildRequest.of({"character": name}).character == name


@pytest.mark.parametrize(
    "fields",
    [
        {"seed": "\ud800"},
        {"context_window": 10**400},
        {"reserved_tokens": MAX_TOKENS + 1},
        {"greeting": "\udfff"},
    ],
)
def test_numbers_that_no_window_has_are_refused(fields: dict[str, Any]) -> None:
    """Not by whatever breaks on them later."""
    with pytest.raises(FormatError):
        BuildRequest.of(fields)
