"""CachePlan: what is read, written and paid by each provider's rule, and what ended the part in common."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.budget import CachePlan, accounting, cache_plan, cache_rule
from innkeeper.budget.cache_rules import RULES
from innkeeper.prompt import Block, Origin, Plan, UnknownNameError, UsageError
from innkeeper.taverns import silly
from tests.budget.doubles import BLOCKS, Characters

PROVIDERS = sorted({name for rule in RULES for name in rule.providers})
CARD = {
    "name": "Wenna",
    "description": "A keeper of lights. " * 400,
    "first_mes": "Come in.",
    "extensions": {"depth_prompt": {"prompt": "Be brief.", "depth": 4, "role": "system"}},
}
TALK = [{"role": ("user", "assistant")[n % 2], "content": f"Line {n}. " * 30} for n in range(40)]


def _plan(*blocks: tuple[str, str, str, Origin | None], model: str = "x") -> Plan:
    return Plan(
        blocks=tuple(
            Block(role=role, content=text, group=group, slot=group, origin=origin, id=f"{group}-{n}-{text[:4]}")
            for n, (role, text, group, origin) in enumerate(blocks)
        ),
        model=model,
        dialect="text",
    )


def _ask(plan: Plan, provider: str, previous: Plan | None = None, **more: Any) -> CachePlan:
    return cache_plan(plan, provider, previous, counter=Characters(), **more)


HEAD = ("system", "h" * 5000, "system", None)


def _said(text: str) -> tuple[str, str, str, None]:
    return ("user", text, "history", None)


@pytest.mark.parametrize(
    ("provider", "model", "minimum"),
    [
        ("anthropic", "claude-sonnet-4-5", 1024),
        ("anthropic", "claude-opus-4-6-20260101", 4096),
        ("anthropic", "claude-opus-5", 512),
        ("openrouter", "anthropic/claude-haiku-4.5", 4096),
        ("openrouter", "openai/gpt-4o", 1024),
        ("openai", "gpt-4o", 1024),
        ("gemini", "gemini-2.5-pro", 2048),
        ("gemini", "gemini-3.1-pro", 4096),
    ],
)
def test_the_minimum_of_a_model(provider: str, model: str, minimum: int) -> None:
    """The rules are those of the makers; a router passes on that of the model's maker."""
    assert cache_rule(provider, model).minimum_of(model) == minimum


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: "-".join((rule.providers[0], *rule.models[:1])))
def test_each_rule_says_where_it_is_from(rule: Any) -> None:
    """Sources and the day on which they were read stand with each rule."""
    assert all(source.startswith("https://") for source in rule.sources)
    assert rule.date.startswith("2026-")


@given(BLOCKS, BLOCKS, st.sampled_from(PROVIDERS))
def test_every_token_is_counted_once(first: tuple[Block, ...], second: tuple[Block, ...], provider: str) -> None:
    """What is read, written and paid is the whole prompt; none is negative, and marks are no more than allowed."""
    plan, previous = Plan(blocks=(*first, *second), dialect="openai"), Plan(blocks=first, dialect="openai")
    found = _ask(plan, provider, previous)
    assert found.read + found.written + found.paid == found.total
    assert min(found.read, found.written, found.paid) >= 0
    assert len(found.breakpoints) <= found.rule.breakpoints
    json.dumps(found.to_dict())


def test_steps_of_an_automatic_cache() -> None:
    """OpenAI reads whole steps of 128 from 1,024 on, vLLM whole blocks of 16, llama.cpp every token of the slot."""
    before, after = _plan(HEAD, _said("a" * 100)), _plan(HEAD, _said("b" * 100))
    assert _ask(after, "openai", before).read == 4992
    assert _ask(after, "vllm", before).read == 4992
    assert _ask(after, "llamacpp", before).read == 5000
    short = _plan(("system", "h" * 500, "system", None), _said("b"))
    assert _ask(short, "openai", short).read == 0
    assert "nothing below 1,024" in _ask(short, "openai").notes[0]
    assert _ask(after, "openai").read == 0


def test_a_turn_is_read_up_to_the_mark_before() -> None:
    """Anthropic reads what the previous prompt marked, writes up to the new mark, and costs accordingly."""
    card: dict[str, Any] = {"character": CARD, "now": "2026-01-15T18:00:00Z"}
    model = "claude-sonnet-4-5"
    first = silly.build(history=TALK[:20], message="Hi.", model=model, **card)
    second = silly.build(
        history=[*TALK[:20], {"role": "user", "content": "Hi."}, TALK[1]], message="So?", model=model, **card
    )
    found = cache_plan(second, "anthropic", first)
    assert 0 < found.written < found.read
    assert found.cause is None
    assert found.cost is not None
    assert found.uncached_cost is not None
    assert found.cost < found.uncached_cost / 2
    long = cache_plan(second, "anthropic", first, lifetime="1h")
    assert long.cost is not None
    assert long.cost > found.cost
    assert "ttl" not in json.dumps(found.mark(second).to_request("anthropic").body)
    assert json.dumps(long.mark(second).to_request("anthropic").body).count('"ttl": "1h"') == len(found.breakpoints)
    assert "cache_control" not in json.dumps(second.to_request("anthropic").body)
    with pytest.raises(UsageError, match="another plan"):
        found.mark(Plan())


def test_marks_change_nothing_else() -> None:
    """The messages with marks are those without, but for the marks."""
    plan = silly.build(character=CARD, history=TALK[:20], message="Hi.", model="claude-sonnet-4-5")
    marked = cache_plan(plan, "anthropic").mark(plan)
    texts = [[(block.role, block.content) for block in each.sent_blocks()] for each in (plan, marked)]
    assert texts[0] == texts[1]


@dataclass(frozen=True)
class Case:
    id: str
    before: Plan
    after: Plan
    kind: str | None
    source: str = ""


MACRO = Origin("preset", "main", macro="time")
ENTRY = Origin("lorebook", "content", "3", name="Skerrow")
DEPTH = ("system", "be brief", "system", Origin("character", "depth_prompt"))
CASES = [
    Case("goes-on", _plan(HEAD, _said("a")), _plan(HEAD, _said("a"), _said("b")), None),
    Case("macro", _plan(("system", "at 1", "system", MACRO)), _plan(("system", "at 2", "system", MACRO)), "macro", "time"),
    Case("entry", _plan(HEAD, _said("a")), _plan(("system", "lore", "lore", ENTRY), HEAD, _said("a")), "entry", "Skerrow"),
    Case("depth", _plan(HEAD, _said("a"), DEPTH, _said("b")), _plan(HEAD, _said("a"), _said("b"), DEPTH, _said("c")),
         "depth", "depth_prompt"),
    Case("trim", _plan(HEAD, _said("a"), _said("b"), _said("c")), _plan(HEAD, _said("b"), _said("c"), _said("d")), "trim"),
    Case("edit", _plan(HEAD, _said("a"), _said("b")), _plan(HEAD, _said("x"), _said("b")), "text"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_ended_the_common_part(case: Case) -> None:
    """The text that moved the first difference is named, with a mend."""
    cause = _ask(case.after, "llamacpp", case.before).cause
    assert (None if cause is None else cause.kind.value) == case.kind
    if cause is not None:
        assert case.source in cause.why
        assert cause.mend
        assert cause.lost > 0


def test_what_cannot_be_planned() -> None:
    """A provider nobody knows, a lifetime that it has not, and a plan without a provider are typed errors."""
    plan = silly.build(message="Hi")
    with pytest.raises(UnknownNameError, match="nobody"):
        plan.cache_plan("nobody")
    with pytest.raises(UnknownNameError, match="lifetime"):
        plan.cache_plan("anthropic", lifetime="2h")
    with pytest.raises(UsageError, match="no provider"):
        plan.cache_plan()
    with pytest.raises(UsageError, match="not built by a tavern"):
        _plan(HEAD).cache_plan("openai")
    assert "paid in full" in str(plan.cache_plan("openai"))


def test_other_tools_end_it_all() -> None:
    """Tools stand before all messages: they are counted, and with other ones nothing is served."""
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    bare = silly.build(character=CARD, history=TALK, model="gpt-4o")
    plan = bare.with_(tools=(tool,))
    same, other = cache_plan(plan, "openai", plan), cache_plan(plan, "openai", bare)
    assert same.total > cache_plan(bare, "openai").total
    assert (other.read, other.cause and other.cause.kind, other.cause and other.cause.lost) == (0, "tools", other.total)


def test_the_total_is_that_of_the_accounting() -> None:
    """One sum: the plan's own, with tools and the start of the reply."""
    plan = silly.build(character=CARD, history=TALK, model="gpt-4o")
    assert cache_plan(plan, "openai").total == accounting(plan).total
