"""Whole bodies for providers: the golden cases, and what a user of the tavern sees."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.dialects import DIALECTS
from innkeeper.dialects.sillytavern.sources import SOURCES
from innkeeper.prompt.block import Block
from innkeeper.prompt.errors import UnavailableError
from innkeeper.prompt.message import messages_of
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.plan import Plan
from innkeeper.taverns import silly
from scripts.parity import Case, CaseVerdict, load_cases, run_cases
from tests.shared import VECTORS

FOLDER = VECTORS / "silly" / "converters"
UNSHIPPED = "needs a tokenizer vocabulary that may not be shipped"
CARD = {"name": "Mira", "description": "A clockmaker.", "first_mes": "Hello."}
PROMPT = {"identifier": "main", "content": "You play {{char}}.", "role": "system", "system_prompt": True}
ORDER = [
    {"identifier": name, "enabled": True} for name in ("main", "charDescription", "dialogueExamples", "chatHistory")
]


@pytest.mark.parametrize(
    "case", list(load_cases([FOLDER / "end-to-end.json", FOLDER / "provider.json"])), ids=lambda c: c.name
)
def test_agrees(case: Case) -> None:
    """Same inputs, same body as SillyTavern's server sends."""
    (outcome,) = run_cases([case])
    if outcome.verdict is CaseVerdict.UNAVAILABLE:
        pytest.skip(f"{UNSHIPPED}: {outcome.error}")
    shown = "\n".join(difference.render() for difference in outcome.differences[:6])
    assert outcome.verdict is CaseVerdict.AGREED, f"{outcome.error or ''}\n{shown}"


def _plan(message: str = "Hi.", settings: dict[str, Any] | None = None, **preset: Any) -> Plan:
    order = [{"character_id": 100001, "order": ORDER}]
    return silly.build(
        character=CARD,
        user="Tomas",
        message=message,
        history=[{"role": "assistant", "content": "Hello."}],
        preset={"prompts": [PROMPT], "prompt_order": order, **preset},
        settings=settings or {},
    )


def request_body(plan: Plan) -> dict[str, Any]:
    """The body of `silly.to_provider`."""
    body: dict[str, Any] = silly.to_provider(plan).body
    return body


def _roles(body: dict[str, Any]) -> list[str]:
    return [message["role"] for message in body["messages"]]


def test_a_preset_post_processes() -> None:
    """The preset's mode changes what is sent, and every change is a repair."""
    loose, strict = _plan(), _plan(custom_prompt_post_processing="strict")
    assert "assistant" in _roles(request_body(loose))
    made = silly.to_provider(strict)
    assert _roles(made.body) == ["system", "user", "assistant", "user"]
    kinds = {note.kind for note in made.notes}
    assert kinds == {NoteKind.REPAIR}
    assert any("placeholder" in note.message for note in made.notes)
    assert any("joined" in note.message for note in made.notes)


def test_the_placeholder_is_a_setting() -> None:
    """``settings.prompt_placeholder`` is what the user says where nobody did, and is no unknown setting."""
    plan = _plan(settings={"prompt_placeholder": "(knock)"}, custom_prompt_post_processing="strict")
    assert request_body(plan)["messages"][1] == {"role": "user", "content": "(knock)"}
    assert not [note for note in plan.notes if note.kind is NoteKind.IGNORED and "placeholder" in note.message]


def test_an_unrecorded_source_says_so() -> None:
    """A source nobody recorded gets the common body, and a note."""
    made = silly.to_provider(_plan(chat_completion_source="somebody"))
    assert made.body["messages"]
    assert NoteKind.FALLBACK in {note.kind for note in made.notes}


def test_a_source_that_is_closed() -> None:
    """SillyTavern answers for CometAPI itself and sends nothing: a typed error."""
    with pytest.raises(UnavailableError):
        silly.to_provider(_plan(chat_completion_source="cometapi"))


def test_what_is_not_sent_is_said() -> None:
    """A setting that says something and has no place with the source is a loss; one of no effect is not worth a note."""
    made = silly.to_provider(
        _plan(chat_completion_source="openai", openai_model="o3", top_k=40, temperature=0.5, min_p=0)
    )
    lost = {note.message.split("'")[1] for note in made.notes if note.kind is NoteKind.LOSS}
    assert lost == {"top_k", "temperature"}


def test_the_servers_configuration_is_a_setting() -> None:
    """``settings.server`` is what SillyTavern's config.yaml says: here, marks for Claude's cache."""
    claude: dict[str, Any] = {"chat_completion_source": "claude", "claude_model": "claude-sonnet-4-5"}
    plan = _plan(settings={"server": {"claude": {"cachingAtDepth": 0, "extendedTTL": True}}}, **claude)
    assert request_body(plan)["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert "cache_control" not in json.dumps(request_body(_plan(**claude)))


def test_no_system_messages_for_the_first_models_that_reason() -> None:
    """Their system messages are the user's, which is reported, and they get no tools."""
    made = silly.to_provider(_plan(chat_completion_source="openai", openai_model="o1"))
    assert set(_roles(made.body)) == {"user", "assistant"}
    assert NoteKind.REPAIR in {note.kind for note in made.notes}


TOOLS = [{"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}}]
CHOICES: list[tuple[str, Any, Any]] = [
    ("openai", "required", "required"),
    ("openai", "look", {"type": "function", "function": {"name": "look"}}),
    ("claude", "required", {"type": "any"}),
    ("claude", "look", {"type": "tool", "name": "look"}),
    ("claude", None, {"type": "auto"}),
]


@pytest.mark.parametrize(("source", "choice", "sent"), CHOICES)
def test_which_tool(source: str, choice: Any, sent: Any) -> None:
    """The choice of a tool has the source's words; without one it is the model's."""
    plan = silly.build(
        character=CARD, message="Hi.", tools=TOOLS, preset={"chat_completion_source": source, f"{source}_model": "m"}
    )
    assert plan.to_request("sillytavern", tool_choice=choice).body["tool_choice"] == sent


def test_only_the_user_shows_pictures() -> None:
    """A model that takes none of anybody else's gets none, and that is said."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    shown = [{"role": role, "content": [picture]} for role in ("assistant", "user")]
    options = {"source": "deepseek", "model": "deepseek-v4-flash-vision-exp"}
    made = DIALECTS["sillytavern"].request(messages_of(shown), model=None, options=options)
    showing = [message["role"] for message in made.body["messages"] if isinstance(message["content"], list)]
    assert showing == ["user"]
    assert NoteKind.LOSS in {note.kind for note in made.notes}


def test_the_plan_is_enough() -> None:
    """Names, source, mode and texts are the plan's: without the request that made it the body is the same."""
    plan = _plan(
        settings={"prompt_placeholder": "(knock)"}, custom_prompt_post_processing="single", show_thoughts=False
    )
    assert silly.to_provider(plan.with_(request=None)) == silly.to_provider(plan) == plan.to_request("sillytavern")
    assert "Tomas: Hi." in str(request_body(plan))


def test_a_plan_of_another_tavern() -> None:
    """Without a word about source and speakers: an OpenAI-compatible server's body with SillyTavern's defaults."""
    body = Plan(blocks=(Block(role="user", content="Hi"),), model="m", dialects=DIALECTS).to_request("sillytavern").body
    assert (body["messages"], body["model"], body["max_tokens"]) == ([{"role": "user", "content": "Hi"}], "m", 300)


def test_looking_changes_nothing() -> None:
    """The plan is the same after its body was made, and the body the same each time."""
    plan = _plan(custom_prompt_post_processing="strict")
    before = plan.fingerprint()
    assert request_body(plan) == request_body(plan)
    assert plan.fingerprint() == before


SAMPLING = st.fixed_dictionaries(
    {},
    optional={
        "temperature": st.floats(0, 2),
        "top_p": st.floats(0, 1),
        "top_k": st.integers(0, 100),
        "seed": st.integers(-1, 9),
        "n": st.integers(1, 3),
        "reasoning_effort": st.sampled_from(["auto", "min", "low", "medium", "high", "max", "odd"]),
        "verbosity": st.sampled_from(["auto", "low", "high"]),
        "openai_max_tokens": st.integers(1, 40000),
        "show_thoughts": st.booleans(),
        "use_sysprompt": st.booleans(),
        "custom_prompt_post_processing": st.sampled_from(["", "merge", "semi_tools", "strict", "single", "odd"]),
        "assistant_prefill": st.sampled_from(["", "Pre "]),
    },
)
MODELS = st.sampled_from(
    ["gpt-4o", "o1", "o3", "gpt-5", "claude-3-5-sonnet", "claude-sonnet-4-5", "claude-opus-4-6", "gemini-2.5-pro",
     "gemini-3-flash", "gemma-3", "mistral-large-latest", "deepseek-chat"]
)  # fmt: skip


@given(st.sampled_from([*sorted(SOURCES.keys() - {"cometapi"}), "somebody"]), MODELS, SAMPLING)
def test_every_source_gives_json(source: str, model: str, preset: dict[str, Any]) -> None:
    """Whatever the preset says: a body that is JSON, with the last text of the chat in it."""
    key = {"makersuite": "google"}.get(source, source)
    named: dict[str, Any] = {"chat_completion_source": source, f"{key}_model": model, **preset}
    plan = _plan("A lantern.", openai_max_context=200000, **named)
    assert "A lantern." in json.dumps(request_body(plan))
