"""What each tavern does with each input: its declaration, the page made of it, and what builds really say."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from innkeeper.dialects import DIALECTS
from innkeeper.prompt import (
    Block,
    BuildRequest,
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
)
from innkeeper.prompt.errors import PipelineError
from innkeeper.prompt.randomness import Randomness
from innkeeper.taverns import TAVERNS
from innkeeper.taverns.inputs import CHAT_METADATA, inputs, table
from innkeeper.taverns.tavern import Tavern
from tests.shared import ROOT

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
    "now": "2026-01-15T12:00:00Z",
    "locale": "de-DE",
    "seed": 2,
    "ports.token_counter": None,
    "ports.variables": InMemoryVariables(),
    "ports.instrumenter": lambda *_, **__: None,
    "ports.hooks": InMemoryHooks(),
    "ports.injections": InMemoryInjections(),
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


def test_the_page_is_current() -> None:
    """The page in the documentation is the one that the declarations give."""
    assert Path(ROOT / "docs/taverns/inputs.md").read_text("utf-8") == table()


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
