"""Keywords become a request and ports."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.prompt import (
    Block,
    BuildRequest,
    Context,
    FormatError,
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
from innkeeper.taverns.inputs import KEYWORDS, canonical_name, read_keywords
from innkeeper.taverns.tavern import Tavern


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


def _sent(state: State, _config: NoConfig) -> None:
    state.result.plan = Plan(blocks=(Block(role="user", content=state.request.message),))


def test_a_tavern_that_declares_nothing() -> None:
    """Its steps may read what they like: nothing is noted, and no asset is read for it."""
    tavern = Tavern(name="own", pipeline=Pipeline(Step("send", _sent, NoConfig)))
    plan = tavern.build(character={"mood": 5}, preset={"a": 1}, meta={"x": 1}, settings={"y": 1}, message="Hi")
    assert (plan.notes, plan.warnings) == ((), ())
