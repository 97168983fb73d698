"""Keywords become a request and ports."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from innkeeper.dialects import DIALECTS
from innkeeper.prompt import (
    Block,
    BuildLimits,
    BuildRequest,
    Context,
    FormatError,
    InMemoryHooks,
    InMemoryInjections,
    InMemoryVariables,
    NoConfig,
    NoteKind,
    Pipeline,
    Plan,
    Ports,
    State,
    Step,
    UsageError,
)
from innkeeper.prompt.determinism import Randomness
from innkeeper.prompt.errors import PipelineError
from innkeeper.taverns import TAVERNS
from innkeeper.taverns.inputs import CHAT_METADATA, KEYWORDS, canonical_name, read_keywords
from innkeeper.taverns.tavern import Tavern
from innkeeper.text.bm25 import Bm25
from scripts.reference import inputs


class Estimator:
    def estimate(self, text: str, model_hint: str | None = None) -> int:
        return len(text) + (1 if model_hint else 0)


class Counter:
    def count(self, text: str, model: str | None = None) -> int:
        return len(text)

    def describe(self, model: str | None = None) -> dict[str, Any]:
        return {"exact": False}


STORE = InMemoryVariables()
INJECTIONS = InMemoryInjections()


@pytest.mark.parametrize(
    ("keywords", "field", "value"),
    [
        ({"message": "hi"}, "message", "hi"),
        ({"user_message": "hi"}, "message", "hi"),
        ({"lore_books": [{"entries": []}]}, "lorebooks", ({"entries": []},)),
        ({"lore_book": {"entries": []}}, "lorebooks", ({"entries": []},)),
        ({"generation_type": "continue"}, "generation", "continue"),
        ({"llm_options": {"temperature": 1}}, "options", {"temperature": 1}),
        ({"greeting_index": 2}, "greeting", 2),
        ({"force_world_info": [1]}, "force_lore", (1,)),
        ({"variables_store": {"local": {"a": 1}}}, "variables", {"local": {"a": 1}}),
        ({"configs": {"prepare": {}}}, "context", Context(type="app", module_configs={"prepare": {}})),
    ],
    ids=str,
)
def test_fields(keywords: dict[str, Any], field: str, value: Any) -> None:
    """A keyword, or TavernKit's name for it, sets its field."""
    assert getattr(read_keywords(None, None, keywords).request, field) == value


@pytest.mark.parametrize(
    ("keyword", "port", "value"),
    [
        ("variables_store", "variables", STORE),
        ("variables", "variables", STORE),
        ("injection_registry", "injections", INJECTIONS),
        ("instrumenter", "instrumenter", print),
        ("warning_handler", "warning_handler", print),
        ("hook_registry", "hooks", STORE),
    ],
)
def test_ports(keyword: str, port: str, value: Any) -> None:
    """Objects become ports and leave the request as it was."""
    read = read_keywords(None, None, {keyword: value})
    assert getattr(read.ports, port) is value
    assert read.request == BuildRequest()


def test_configs_merge_over_the_context() -> None:
    """``configs`` are merged over the context's own, whose type and data stay (B22)."""
    context = Context({"a": 1}, type="mine", module_configs={"x": {"k": 1, "l": 1}})
    merged = read_keywords(None, None, {"context": context, "configs": {"x": {"l": 2}}}).request.context
    assert merged is not None
    assert (merged.type, merged["a"], merged.module_configs) == ("mine", 1, {"x": {"k": 1, "l": 2}})


def test_keywords_win_over_the_request() -> None:
    """A request is the base that keywords change; the ports given are kept."""
    ports = Ports(warning_handler=print)
    read = read_keywords({"message": "a", "strict": True}, ports, {"message": "b", "instrumenter": print})
    assert (read.request.message, read.request.strict) == ("b", True)
    assert read.ports.warning_handler is print


@pytest.mark.parametrize("keyword", ["expander", "lore_engine", "macro_registry"])
def test_replaced_objects_are_noted(keyword: str) -> None:
    """What a tavern does itself is accepted and noted, unless it is nothing."""
    notes = read_keywords(None, None, {keyword: object()}).notes
    assert [(note.kind, keyword in note.message) for note in notes] == [(NoteKind.IGNORED, True)]
    assert read_keywords(None, None, {keyword: None}).notes == ()


@pytest.mark.parametrize(("wrong", "right"), [("histroy", "history"), ("lorebook", "lorebooks"), ("mesage", "message")])
def test_unknown_keywords_are_named(wrong: str, right: str) -> None:
    """An unknown keyword is refused by name, with the nearest one."""
    with pytest.raises(UsageError, match=wrong) as caught:
        read_keywords(None, None, {wrong: 1})
    assert caught.value.hint is not None
    assert right in caught.value.hint


def test_two_names_for_one_input() -> None:
    """The same input under two names is refused."""
    with pytest.raises(UsageError, match="twice"):
        read_keywords(None, None, {"message": "a", "user_message": "b"})


def test_bad_values() -> None:
    """A value that its field cannot hold says which field."""
    with pytest.raises(FormatError, match="history"):
        read_keywords(None, None, {"history": [{"role": "user"}]})


def test_every_document_input_is_a_keyword() -> None:
    """All inputs that the document lists are accepted."""
    listed = {
        *("history", "message", "character", "user", "context", "variables_store", "token_estimator", "strict"),
        *("instrumenter", "meta", "dialect", "preset", "lore_books", "lore_engine", "expander"),
    }
    assert listed <= KEYWORDS
    assert canonical_name("token_estimator") == "token_counter"


def test_counters() -> None:
    """A counter is taken as it is, an estimator is wrapped, anything else is refused."""
    counter = Counter()
    assert read_keywords(None, None, {"token_counter": counter}).ports.token_counter is counter
    wrapped = read_keywords(None, None, {"token_estimator": Estimator()}).ports.token_counter
    assert wrapped is not None
    assert (wrapped.count("abc"), wrapped.count("abc", "m")) == (3, 4)
    for value in (object(), "text", [1]):
        with pytest.raises(UsageError):
            read_keywords(None, None, {"token_estimator": value})


BOOK = {"entries": {"0": {"uid": 0, "key": ["reef"], "content": "A bell.", "comment": "Bell"}}}
CARD = {"name": "Ann", "description": "D", "first_mes": "Ahoy", "mes_example": ""}

SAMPLES: dict[str, Any] = {
    "profile": "p",
    "character": CARD,
    "user": "Bob",
    "group": {"members": [CARD]},
    "history": [{"role": "user", "content": "Ahoy"}],
    "message": "Hi",
    "system": "Be kind.",
    "generation": "continue",
    "greeting": 0,
    "preset": {"temperature": 1},
    "lorebooks": [BOOK],
    "force_lore": ["0"],
    "injections": [{"id": "i", "content": "x"}],
    "authors_note": "AN",
    "macro_vars": {"a": "b"},
    "variables": {"local": {"mood": "calm"}},
    "context": {"app": "x"},
    "meta.system_template": "S",
    "meta.post_history_template": "P",
    "meta.model_hint": "gpt-4o",
    "settings.anything": 1,
    "lore_state": {"sticky": {}, "cooldown": {}},
    "options": {"temperature": 1},
    "tools": [{"name": "t"}],
    "step_options": {"plan_assembly": {}},
    "provider": "openai",
    "model": "gpt-4o",
    "dialect": "anthropic",
    "context_window": 8000,
    "reserved_tokens": 100,
    "strict": True,
    "limits": {"seconds": 5},
    "now": "2026-01-15T12:00:00Z",
    "locale": "de-DE",
    "seed": 2,
    "ports.token_counter": None,
    "ports.variables": InMemoryVariables(),
    "ports.instrumenter": lambda *_, **__: None,
    "ports.hooks": InMemoryHooks(),
    "ports.injections": InMemoryInjections(),
    "ports.vectors": Bm25(),
    "ports.max_limits": BuildLimits(seconds=5),
    "ports.media": lambda _url: None,
    "ports.dialects": DIALECTS,
    "ports.warning_handler": lambda _note: None,
    "ports.random": Randomness,
    **dict.fromkeys((f"chat_metadata.{key}" for key in CHAT_METADATA), "1"),
    "chat_metadata.variables": {"mood": "calm"},
    "chat_metadata.timedWorldInfo": {"sticky": {}, "cooldown": {}},
    "chat_metadata.innkeeper": {"carry": {"timed": {}, "scans": {}}},
    "chat_metadata.lastInContextMessageId": 1,
    "chat_metadata.anything": 1,
}


def _build(tavern: str, name: str) -> Plan:
    """A plan of a small request with this input."""
    root, _, key = name.partition(".")
    sample = SAMPLES[name]
    if name == "profile" and tavern != "vibe":
        sample = {"silly": "sillytavern-1.19", "smart": "fixed"}.get(tavern, "p")
    base: dict[str, Any] = {"character": CARD, "message": "Hi"}
    match root:
        case "ports":
            return TAVERNS[tavern].build(base, Ports(**{key: sample}))
        case "chat_metadata":
            fields = {"settings": {"chat_metadata": {key: sample}}}
        case "meta" | "settings":
            fields = {root: {key: sample}}
        case _:
            fields = {name: sample}
    return TAVERNS[tavern].build({**base, **fields})


@pytest.mark.parametrize("name", inputs())
@pytest.mark.parametrize("tavern", TAVERNS)
def test_each_cell_is_what_a_build_does(tavern: str, name: str) -> None:
    """A note names an input that is ignored, with the reason of the page; none names one that is used."""
    rules = TAVERNS[tavern].inputs
    if name.startswith("settings.") and rules.refuses_settings:
        with pytest.raises(PipelineError, match="unknown field"):
            _build(tavern, name)
        return
    reasons = {
        note.data.get("input"): note.message for note in _build(tavern, name).notes if note.kind is NoteKind.IGNORED
    }
    reason = rules.reason(name)
    root = name.partition(".")[0]
    noted = [text for key, text in reasons.items() if key == name or (root == "settings" and key == root)]
    assert [text.partition("has no effect: ")[2] for text in noted] == ([] if reason is None else [reason])


def test_every_input_is_there() -> None:
    """Each field of a request, each port and each key of a chat's metadata has its row."""
    known = {name.partition(".")[0] for name in inputs()}
    assert set(BuildRequest.__struct_fields__) - known == {"tavern", "mended"}
    ports = {name.removeprefix("ports.") for name in inputs() if name.startswith("ports.")}
    assert {field.name for field in dataclasses.fields(Ports)} == ports
    assert {f"chat_metadata.{key}" for key in CHAT_METADATA} <= set(inputs())


def _sent(state: State, _config: NoConfig) -> None:
    state.result.plan = Plan(blocks=(Block(role="user", content=state.request.message),))


def test_a_tavern_that_declares_nothing() -> None:
    """Its steps may read what they like: nothing is noted, and no asset is read for it."""
    tavern = Tavern(name="own", pipeline=Pipeline(Step("send", _sent, NoConfig)))
    plan = tavern.build(character={"mood": 5}, preset={"a": 1}, meta={"x": 1}, settings={"y": 1}, message="Hi")
    assert (plan.notes, plan.warnings) == ((), ())
