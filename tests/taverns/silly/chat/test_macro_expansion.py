"""Names: in the content, in the name field, or nowhere, as the preset says."""

from __future__ import annotations

import pytest

from innkeeper.prompt import NoConfig, PipelineError, Ports, Step, TraceCollector
from innkeeper.taverns import silly
from innkeeper.taverns.silly.scene import Scene
from tests.taverns.silly.builds import book, build, card, contents, order, request, turns

MEMBERS = [{"card": {"name": name, "description": name}} for name in ("Mira", "Bram")]


@pytest.mark.parametrize(
    ("behavior", "sent"),
    [(-1, ["hi", "yes"]), (0, ["hi", "yes"]), (1, ["hi", "yes"]), (2, ["Sam: hi", "Mira: yes"])],
    ids=["none", "default", "completion", "content"],
)
def test_alone(behavior: int, sent: list[str]) -> None:
    """With one character only *content* shows names."""
    assert contents(build(history=turns("hi", "yes"), preset={"names_behavior": behavior}))[-2:] == sent


def test_in_a_group() -> None:
    """The default shows the members' names and not the user's."""
    history = [{"role": "user", "content": "hi"}, {"role": "assistant", "name": "Bram", "content": "yes"}]
    plan = build(history=history, group={"members": MEMBERS, "speaker": 0}, preset={"group_nudge_prompt": ""})
    assert contents(plan)[-2:] == ["hi", "Bram: yes"]


@pytest.mark.parametrize(
    ("name", "field"),
    [("Mira", "Mira"), ("J\u00f6rg O'Neil", "J_rg_O_Neil"), ("\u6e21", "_"), ("x" * 80, "x" * 64)],
    ids=["plain", "signs", "only signs", "long"],
)
def test_name_fields(name: str, field: str) -> None:
    """Other characters become underscores, at most 64 of them."""
    history = [{"role": "assistant", "name": name, "content": "yes"}]
    plan = build(history=history, preset={"names_behavior": 1})
    assert plan.enabled_blocks[-1].name == field


def test_macros_of_the_history_run_in_their_step() -> None:
    """Warnings, trace and errors of a message's macros name ``macro_expansion``, which has the room for it."""
    trace = TraceCollector()
    plan = build(Ports(instrumenter=trace), history=turns("hi", "{{original}}"))
    warning = next(note for note in plan.warnings if "original" in note.message)
    assert warning.step == "macro_expansion"
    assert plan.trace is not None
    found = {step.name: step.warnings for step in plan.trace.steps}
    assert (found["macro_expansion"], found["trimming"]) == ((warning.message,), ())
    with pytest.raises(PipelineError) as caught:
        build(history=turns("hi", "{{original}}"), strict=True)
    assert caught.value.step == "macro_expansion"


def test_macros_beyond_the_budget_have_no_effect() -> None:
    """Messages behind the first that does not fit are recorded as they are written, and set no variable."""
    history = turns("first", "{{setvar::old::1}}", "word " * 500, "{{setvar::new::1}}yes", "hi")
    plan = build(history=history, preset={"openai_max_context": 500, "openai_max_tokens": 100})
    assert dict(plan.variables["local"]) == {"new": "1"}
    assert any(block.content.startswith("{{setvar::old") and not block.enabled for block in plan.blocks)


def test_texts_beyond_the_budget_are_recorded() -> None:
    """A text at a depth that does not fit, or lies behind the first message that does not, is in the trim report."""
    note = {"id": "n", "content": "far " * 40, "position": "chat", "depth": 3, "role": "system"}
    history = turns(*("word " * 60 for _ in range(7)))
    plan = build(history=history, injections=[note], preset={"openai_max_context": 300, "openai_max_tokens": 100})
    assert plan.trim_report is not None
    assert "injection" in {record.source for record in plan.trim_report.evictions}


def test_a_blank_prompt_in_the_chat() -> None:
    """Before other texts of its depth and role its line break remains; alone it is not sent."""
    own = {"identifier": "own", "role": "user", "content": " \n", "injection_position": 1, "injection_depth": 0}
    preset = {"prompts": [own], "prompt_order": order("chatHistory", "own")}
    item = {"id": "x", "content": "X", "position": "chat", "depth": 0, "role": "user"}
    assert "\nX" in contents(build(preset=preset, message="hi", injections=[item]))
    assert "" not in contents(build(preset=preset, message="hi"))


def test_no_step_changes_what_another_made() -> None:
    """The scene of the first step is the same to the end, and macros in the chat find the outlets of lore all the same."""
    scenes: list[Scene] = []
    peek, again = (
        Step(name, lambda state, _: scenes.append(state.scratch["hooks"]), NoConfig) for name in ("peek", "again")
    )
    entry = {"uid": 1, "key": ["lamp"], "content": "oil", "position": 7, "outletName": "light"}
    pipeline = silly.PIPELINE.insert_before("lore", peek).append(again)
    plan = silly.build(
        request(history=turns("hi", "lamp: {{outlet::light}}"), lorebooks=[book(entry)]), pipeline=pipeline
    )
    assert contents(plan)[-1] == "lamp: oil"
    assert scenes[0] is scenes[1]
    with pytest.raises(AttributeError):
        scenes[0].expand.env = scenes[1].expand.env  # type: ignore[misc]


def test_continue() -> None:
    """The message goes to the end with a nudge behind it, or alone as a prefill."""
    nudged = contents(build(history=turns("a", "b"), generation="continue", preset={"continue_nudge_prompt": "GO"}))
    assert nudged[-2:] == ["b", "GO"]
    preset = {"continue_prefill": True, "continue_nudge_prompt": "GO"}
    assert contents(build(history=turns("a", "b"), generation="continue", preset=preset))[-1] == "b"


def test_impersonate_and_quiet() -> None:
    """Their prompts stand last."""
    preset = {"impersonation_prompt": "Write as {{user}}."}
    assert contents(build(history=turns("a", "b"), generation="impersonate", preset=preset))[-1] == "Write as Sam."
    quiet = {"generation": {"quiet_prompt": "Sum up."}}
    assert contents(build(history=turns("a", "b"), generation="quiet", settings=quiet))[-1] == "Sum up."


def test_engines_share_no_blocks() -> None:
    """The former engine resolves the card for every line, also for one that a build with the new engine has kept as plain."""
    given = request(character=card(description="{{incvar::n}}"), history=turns("same line"))
    former = given.with_(settings={"power_user": {"experimental_macro_engine": False}})
    alone = silly.build(former.with_(history=turns("another line"))).variables["local"]["n"]
    silly.build(given)
    assert silly.build(former).variables["local"]["n"] == alone
