"""The step *plan assembly*: each block, its place, and when it is there."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.character import Character
from innkeeper.content.persona import Persona
from innkeeper.macros.engine.errors import UnknownMacroError
from innkeeper.prompt import BudgetGroup, ConfigError, Message, NoteKind, Origin, StrictModeError, UsageError
from innkeeper.prompt.errors import PipelineError
from innkeeper.taverns import vibe
from innkeeper.taverns.vibe.plan_assembly import default_system_pieces, default_system_text

SERA = Character(name="Seraphina", nickname="Sera", description="D", post_history_instructions="PH {{ char }}")
HISTORY = [{"role": "assistant", "content": "Hi"}, {"role": "user", "content": "Yo", "name": "Bob"}]


@dataclass(frozen=True)
class Case:
    id: str
    blocks: list[tuple[str, str, str]]
    inputs: dict[str, Any] = field(default_factory=dict)


SYSTEM = ("system", "default_system", "You are Sera.\n\nD")
AFTER = ("post_history_instructions", "post_history_instructions", "PH {{ char }}")

CASES = [
    Case("nothing", []),
    Case("blank message", [], {"message": " \n\t"}),
    Case("message as it is", [("user_message", "user_message", "  a ")], {"message": "  a "}),
    Case("default system and card's post-history", [SYSTEM, AFTER], {"character": SERA}),
    Case(
        "system template",
        [("system", "system_template", "T Sera"), AFTER],
        {"character": SERA, "meta": {"system_template": "T {{ char }}"}},
    ),
    Case("system template of nothing", [AFTER], {"character": SERA, "meta": {"system_template": None}}),
    Case("empty system template", [AFTER], {"character": SERA, "meta": {"system_template": ""}}),
    Case("blank system template", [AFTER], {"character": SERA, "meta": {"system_template": " \n"}}),
    Case(
        "system template that renders to nothing",
        [AFTER],
        {"character": SERA, "meta": {"system_template": "{{ nobody }} "}},
    ),
    Case(
        "post-history template",
        [SYSTEM, ("post_history_instructions", "post_history_template", "P Sera")],
        {"character": SERA, "meta": {"post_history_template": "P {{ char }}"}},
    ),
    Case("post-history template of nothing", [SYSTEM], {"character": SERA, "meta": {"post_history_template": None}}),
    Case("blank post-history template", [SYSTEM], {"character": SERA, "meta": {"post_history_template": "  "}}),
    Case(
        "templates without a character",
        [("system", "system_template", "S"), ("post_history_instructions", "post_history_template", "P")],
        {"meta": {"system_template": "S", "post_history_template": "P"}},
    ),
    Case(
        "only a user",
        [("system", "default_system", "User persona:\ntall")],
        {"user": {"name": "Bob", "persona": "tall"}},
    ),
    Case("a user without a persona", [], {"user": "Bob"}),
    Case(
        "card texts are no templates",
        [("system", "default_system", "You are {{ x }}.\n\n{% y %}")],
        {"character": Character(name="{{ x }}", description="{% y %}")},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_blocks(case: Case) -> None:
    """Which blocks there are, from which source, with which text."""
    blocks = vibe.build(**case.inputs).blocks
    assert [(block.slot, block.source, block.content) for block in blocks] == case.blocks


def test_order() -> None:
    """System, history, post-history, user input."""
    plan = vibe.build(character=SERA, history=HISTORY, message="now")
    assert [(block.role, block.slot) for block in plan.blocks] == [
        ("system", "system"),
        ("assistant", "history"),
        ("user", "history"),
        ("system", "post_history_instructions"),
        ("user", "user_message"),
    ]
    assert [block.group for block in plan.blocks] == [
        BudgetGroup.SYSTEM,
        BudgetGroup.HISTORY,
        BudgetGroup.HISTORY,
        BudgetGroup.SYSTEM,
        BudgetGroup.HISTORY,
    ]
    assert all(block.removable and block.enabled for block in plan.blocks)


def test_history_keeps_everything() -> None:
    """Name, attachments and metadata of a message reach its block and the message that is sent."""
    message = {
        "role": "assistant",
        "content": "",
        "name": "Sera",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        "attachments": [{"kind": "image", "url": "https://a.example/i.png"}],
    }
    block = vibe.build(history=[message]).blocks[0]
    assert block.message() == Message.of(message)
    assert block.metadata == {"source": "history"}
    assert block.origin == Origin("history", entry="0")


def test_ids_are_stable() -> None:
    """Blocks are called by what they are, and the same in each build."""
    plan = vibe.build(character=SERA, history=HISTORY, message="a")
    assert [block.id for block in plan.blocks] == [
        "system",
        "history-0",
        "history-1",
        "post_history_instructions",
        "user_message",
    ]


def test_origins_cover_the_text() -> None:
    """Every block knows where each part of its text is from."""
    meta = {"system_template": "T {{ user }}"}
    for plan in (
        vibe.build(character=SERA, user="Bob", history=HISTORY, message="a"),
        vibe.build(message="a", meta=meta),
    ):
        for block in plan.blocks:
            assert "".join(piece.text for piece in block.ranges()) == block.content
            assert all(piece.origin.asset != "unknown" for piece in block.ranges())


def test_a_templates_pieces_name_what_made_them() -> None:
    """Text of the template is the template's; what an output made has the variable's name beside it, a tag its own."""
    meta = {"system_template": "You are {{ char }}.{% if user %} Talk to {{ user }}!{% endif %}"}
    (block,) = vibe.build(character=SERA, user="Bob", meta=meta).blocks[:1]
    assert [(piece.text, piece.origin.macro) for piece in block.ranges()] == [
        ("You are ", None),
        ("Sera", "char"),
        (".", None),
        (" Talk to Bob!", "if"),
    ]
    assert {(piece.origin.asset, piece.origin.field, piece.origin.entry) for piece in block.ranges()} == {
        ("request", "meta", "system_template")
    }


def test_plan_blocks_stat() -> None:
    """The number of blocks is reported as a stat of this step."""
    events: list[tuple[str, Any, Any]] = []

    def instrumenter(event: str, /, **payload: Any) -> None:
        if event == "stat":
            events.append((payload["step"], payload["key"], payload["value"]))

    vibe.build(message="a", history=HISTORY, instrumenter=instrumenter)
    assert events == [("plan_assembly", "plan_blocks", 3)]


def test_templates_write_variables() -> None:
    """What templates set is in the plan's variables, and one template sees what another wrote."""
    meta = {"system_template": "{% setvar a = 1 %}S", "post_history_template": "{% incvar a %}{{ var.a }}"}
    plan = vibe.build(message="x", meta=meta)
    assert plan.blocks[1].content == "2"
    assert plan.variables == {"local": {"a": 2}, "global": {}}


def test_a_broken_template_stays_as_it_is() -> None:
    """A template that fails is a warning with its place, its text the block; strictly it fails the build."""
    plan = vibe.build(message="x", meta={"system_template": "one\n{{ 1 | divided_by: 0 }}"})
    assert plan.blocks[0].content == "one\n{{ 1 | divided_by: 0 }}"
    (warning,) = plan.warnings
    assert (warning.kind, warning.step) == (NoteKind.MACRO, "plan_assembly")
    assert warning.where is not None
    assert (warning.where.asset, warning.where.line) == ("system_template", 2)
    with pytest.raises(PipelineError) as caught:
        vibe.build(message="x", strict=True, meta={"post_history_template": "{{ nobody }}"})
    assert isinstance(caught.value.__cause__, UnknownMacroError)
    assert str(caught.value.where) == "post_history_template:1:4"


def _default(text: Any) -> dict[str, Any]:
    return {"step_options": {"plan_assembly": {"default_system_text_builder": lambda _state: text}}}


@pytest.mark.parametrize(("text", "contents"), [("mine", ["mine"]), ("", []), (" ", []), (None, []), (5, ["5"])])
def test_default_system_text_builder(text: Any, contents: list[str]) -> None:
    """A builder's text is the default system text; blank disables it."""
    plan = vibe.build(character=Character(name="Sera"), **_default(text))
    assert [block.content for block in plan.blocks] == contents


def test_the_builder_needs_somebody_and_no_template() -> None:
    """The builder is asked only where there would be a default text."""
    assert vibe.build(message="a", **_default("mine")).blocks[0].slot == "user_message"
    plan = vibe.build(character="Sera", meta={"system_template": "T"}, **_default("mine"))
    assert plan.blocks[0].content == "T"


@pytest.mark.parametrize("error", [ValueError("no"), UsageError("no", hint="yes")], ids=repr)
def test_a_failing_builder(error: Exception) -> None:
    """A builder that fails is a warning, and the built-in text stands in; strictly it is an error."""

    def fails(_state: Any) -> str:
        raise error

    options = {"plan_assembly": {"default_system_text_builder": fails}}
    plan = vibe.build(character=Character(name="Sera"), step_options=options)
    assert plan.blocks[0].content == "You are Sera."
    assert ["no" in note.message for note in plan.warnings] == [True]
    with pytest.raises(PipelineError) as caught:
        vibe.build(character=Character(name="Sera"), step_options=options, strict=True)
    assert isinstance(caught.value.__cause__, StrictModeError)


@pytest.mark.parametrize("options", [{"default_system_text_builder": "text"}, {"builder": None}], ids=str)
def test_wrong_options(options: dict[str, Any]) -> None:
    """An option that is unknown or cannot be called fails before anything runs."""
    with pytest.raises(ConfigError, match="plan_assembly"):
        vibe.build(step_options={"plan_assembly": options})


WHOLE = Character(name="Seraphina", nickname="Sera", system_prompt="SP", description="D", personality="P", scenario="S")


@pytest.mark.parametrize(
    ("character", "user", "text"),
    [
        (None, None, ""),
        (WHOLE, None, "SP\n\nYou are Sera.\n\nD\n\nP\n\nScenario:\nS"),
        (Character(name="Seraphina"), None, "You are Seraphina."),
        (Character(name="A", nickname="  ", description=" \n", scenario=" S "), None, "You are A.\n\nScenario:\n S "),
        (None, Persona(name="Bob", description="tall"), "User persona:\ntall"),
        (Character(name="A"), Persona(name="Bob"), "You are A."),
        (
            Character(name="A"),
            Character(name="B", description="d", personality="p"),
            "You are A.\n\nUser persona:\nd\n\np",
        ),
    ],
)
def test_text(character: Character | None, user: Persona | Character | None, text: str) -> None:
    """Non-blank parts in order, a blank line between them."""
    assert default_system_text(character, user) == text


def test_pieces_name_their_fields() -> None:
    """Each text of the card is mapped to its field."""
    found = {piece.text: piece.origin for piece in default_system_pieces(WHOLE, Persona(name="B", description="X"))}
    assert found["Sera"] == Origin("character", "nickname")
    assert found["D"] == Origin("character", "description")
    assert found["S"] == Origin("character", "scenario")
    assert found["X"] == Origin("persona", "description")


@given(st.text(), st.text(), st.text(), st.text())
def test_every_piece_is_text_with_an_origin(description: str, personality: str, scenario: str, persona: str) -> None:
    """The pieces make the text, and none is empty."""
    character = Character(name="A", description=description, personality=personality, scenario=scenario)
    user = Persona(name="B", description=persona)
    pieces = default_system_pieces(character, user)
    assert "".join(piece.text for piece in pieces) == default_system_text(character, user)
    assert all(piece.text for piece in pieces)


def test_macros_that_are_sent_as_they_stand_are_noted() -> None:
    """Once for each field of card and persona, with the field and the macros; strict does not refuse them."""
    card = {
        "name": "Mara",
        "description": "{{char}} counts {{random::a::b}} for {{char}}.",
        "scenario": "An inn.",
        "post_history_instructions": "Stay {{char}}.",
    }
    plan = vibe.build(
        character=card, user={"name": "Ansel", "description": "{{user}} asks."}, message="{{x}}", strict=True
    )
    notes = [note for note in plan.notes if note.kind is NoteKind.MACRO]
    assert [str(note.where) for note in notes] == [
        "character: description",
        "persona: description",
        "character: post_history_instructions",
    ]
    assert notes[0].message.endswith("{{char}}, {{random::a::b}}")
    assert not [note for note in vibe.build(character={"name": "M", "description": "{a}"}).notes if note.where]
