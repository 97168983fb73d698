"""Marks for a provider's cache: where they stand."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from innkeeper.dialects.sillytavern.caching import mark_depths, mark_first_system, mark_last
from tests.dialects.sillytavern.requests import TOOL, body_of, said

MARK = {"type": "ephemeral", "ttl": "5m"}


@dataclass(frozen=True)
class Case:
    """Roles by their first letters, a depth, and the places of the marks."""

    roles: str
    depth: int
    marked: tuple[int, ...]
    system: bool = True


CASES = (
    Case("uauau", -1, ()),
    Case("uauau", 0, (4, 2)),
    Case("uauau", 1, (3, 1)),
    Case("uauaua", 0, (4, 2)),
    Case("uuaau", 1, (3,)),
    Case("uuaau", 2, (1,)),
    Case("usausu", 0, (5, 0), system=False),
    Case("aaa", 0, ()),
    Case("u", 2, ()),
)
NAMES = {"u": "user", "a": "assistant", "s": "system"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.roles} {case.depth}")
def test_depths(case: Case) -> None:
    """Turns are counted from the end, without what the assistant said last; the one at the depth and the one two before count."""
    messages = [said(NAMES[letter], "x") for letter in case.roles]
    made = mark_depths(messages, case.depth, MARK, system=case.system)
    marked = {place for place, message in enumerate(made) if isinstance(message["content"], list)}
    assert marked == set(case.marked)
    assert all(isinstance(message["content"], str) for message in messages)


def test_the_last_part_is_marked() -> None:
    """Text becomes a part; a message without content stays as it is."""
    assert mark_last(said("user", "a"), MARK)["content"] == [{"type": "text", "text": "a", "cache_control": MARK}]
    assert mark_last(said("user", []), MARK) == said("user", [])
    assert mark_first_system([said("user", "a")], MARK) == [said("user", "a")]


def test_claude() -> None:
    """The last part of the system text and the last tool are marked, for the time that the configuration says."""
    server = {"claude": {"enableSystemPromptCache": True, "extendedTTL": True}}
    messages = [said("system", "a"), said("system", "b"), said("user", "c")]
    body = body_of(*messages, source="claude", use_sysprompt=True, tools=(TOOL, TOOL), server=server)
    mark = {"type": "ephemeral", "ttl": "1h"}
    assert [part.get("cache_control") for part in body["system"]] == [None, mark]
    assert [tool.get("cache_control") for tool in body["tools"]] == [None, mark]


def test_openrouter_and_nanogpt() -> None:
    """OpenRouter marks the first system message for Claude and for a Gemini whose cache is priced; NanoGPT is told once."""
    server = {"claude": {"enableSystemPromptCache": True}, "gemini": {"enableSystemPromptCache": True}}
    messages = [said("system", "a"), said("user", "b")]
    claude = body_of(*messages, source="openrouter", model="anthropic/claude-x", server=server)
    assert claude["messages"][0]["content"][0]["cache_control"] == MARK
    priced = {"prices_cache_writes": True}
    gemini = body_of(*messages, source="openrouter", model="google/gemini-x", server=server, model_list=priced)
    assert gemini["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert body_of(source="nanogpt", model="claude-x", server=server)["cache_control"] == {"enabled": True, "ttl": "5m"}
