"""Explanation: what is in a plan and why."""

import json

from hypothesis import given

from innkeeper.budget import EvictionReason, TrimReport, explain, trim
from innkeeper.prompt import Block, BuildRequest, Note, NoteKind, Origin, Piece, Plan, TokenCounter
from innkeeper.prompt.ports import ExplainedPlan
from innkeeper.taverns import TAVERNS
from tests.budget.doubles import BLOCKS, Characters, Rough, block

RESULT = trim(
    (
        block("You are Sera.", "system", role="system", id="s", slot="main_prompt", origin=Origin("character", "description")),
        block("an old message", id="h0", slot="history", source="history"),
        block("never sent", enabled=False, id="x"),
        block("hi Bob", id="h1", pieces=(Piece("hi ", Origin("chat")), Piece("Bob", Origin("user")))),
    ),
    counter=Characters(),
    max_tokens=30,
    reserve_tokens=5,
)  # fmt: skip
PLAN = Plan(
    blocks=RESULT.blocks,
    trim_report=RESULT.report,
    tavern="vibe",
    dialect="text",
    warnings=(Note(NoteKind.WARNING, "odd \x1b[31m"),),
    notes=(Note(NoteKind.EVICTED, "1 of history left out"),),
)


def _explain(plan: Plan = PLAN, counter: TokenCounter | None = None) -> ExplainedPlan:
    return explain(plan, counter or Characters())


def test_each_block_has_a_row() -> None:
    """Role, slot, tokens, first words, origin, and what became of it and why."""
    rows = explain(PLAN, Characters()).rows
    assert [(row.block_id, row.status, row.reason, row.tokens) for row in rows] == [
        ("s", "sent", None, 13),
        ("h0", "evicted", "budget_exceeded", 14),
        ("x", "disabled", None, 10),
        ("h1", "sent", None, 6),
    ]
    assert (rows[0].slot, rows[0].origin, rows[0].words) == ("main_prompt", "character.description", "You are Sera.")
    assert (rows[1].source, rows[3].origin) == ("history", "chat, user")


def test_the_budget_is_there() -> None:
    """Used, reserved, free: of the window the plan was trimmed for."""
    explained = explain(PLAN, Characters())
    assert (explained.budget.total, explained.budget.window, explained.budget.reserve, explained.budget.free) == (
        19,
        30,
        5,
        6,
    )
    assert isinstance(explained.trim, TrimReport)
    assert explained.trim.evictions[0].reason is EvictionReason.BUDGET_EXCEEDED


def test_the_text_is_a_table_that_is_safe_to_print() -> None:
    """One line a block, then the sums, the warnings and the notes; control characters are spelled."""
    text = _explain().render()
    assert text.splitlines() == [
        "     0      13 system    main_prompt              You are Sera.",
        "-    1      14 user      history                  an old message [budget_exceeded]",
        "x    2      10 user                               never sent",
        "     3       6 user                               hi Bob",
        "",
        "used 19 tokens (exact, characters)",
        "window 30, reserved 5, free 6",
        "warning: odd \\x1b[31m",
        "evicted: 1 of history left out",
    ]
    assert "used 19 tokens (estimated ± 20 %, rough)" in _explain(counter=Rough()).render()
    assert "does not fit" in _explain(PLAN.with_(trim_report=None, request=BuildRequest(context_window=5))).render()


def test_the_facts_are_json() -> None:
    """For ``--json`` and HTTP."""
    facts = json.loads(json.dumps(_explain().to_dict()))
    assert facts["tavern"] == "vibe"
    assert [row["status"] for row in facts["rows"]] == ["sent", "evicted", "disabled", "sent"]
    assert facts["trim"]["eviction_count"] == 1
    assert facts["warnings"][0]["kind"] == "warning"


@given(BLOCKS)
def test_every_plan_can_be_explained_and_stays(blocks: tuple[Block, ...]) -> None:
    """Looking changes nothing; there is a row for every block and bounded text for each."""
    plan = Plan(blocks=blocks)
    before = plan.to_dict()
    explained = explain(plan, Characters())
    assert plan.to_dict() == before
    assert [row.block_id for row in explained.rows] == [b.id for b in blocks]
    json.dumps(explained.to_dict())
    assert all(len(row.words) <= 60 for row in explained.rows)


def test_a_plan_explains_itself() -> None:
    """`Plan.explain` of what a tavern built is this, with the built-in counter where none is given."""
    plan = TAVERNS["vibe"].build(message="Hi")
    assert plan.explain(Characters()).to_dict() == explain(plan, Characters()).to_dict()
    assert plan.explain().to_dict() == explain(plan).to_dict()


def test_many_origins_are_shortened() -> None:
    """A text of many pieces names the first three sources."""
    pieces = tuple(Piece("x", Origin(f"a{i}")) for i in range(5))
    (row,) = explain(Plan(blocks=(Block(role="user", content="xxxxx", pieces=pieces),)), Characters()).rows
    assert row.origin == "a0, a1, a2 …"
