"""Near misses: what would have let an entry fire, said when its verdict is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from innkeeper.lore import LoreSettings
from innkeeper.text import jsregex
from tests.lore.books import entry, run, verdict

CHAT = ("We sit.", "A Barrel rolls.", "nothing", "barrels stand", "the old lamp")


@dataclass(frozen=True)
class Case:
    """A key with the fields of its entry, and the remark of its verdict."""

    key: str
    remark: str
    fields: dict[str, Any]


STRICT = {"caseSensitive": True, "matchWholeWords": True}

CASES = (
    Case("lamp", "'lamp' is in message 5 from the end, and the scan depth is 3", {}),
    Case("barrel", "'barrel' would match without caseSensitive", {"caseSensitive": True}),
    Case("arrel", "'arrel' would match without matchWholeWords", {"matchWholeWords": True}),
    Case("Arrel", "'Arrel' would match without caseSensitive and matchWholeWords", STRICT),
    Case("/barrel(/i", "'/barrel(/i' is no regular expression and is searched for as text", {}),
    Case("/lamp/v", "'/lamp/v' is no regular expression and is searched for as text", {}),
    Case("dragon", "", {}),
    Case("/dragon/", "", {}),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
def test_near_misses_are_said(case: Case) -> None:
    """Case, a word's border, the depth, and patterns that are none; nothing where nothing is close."""
    result = run(
        [entry(1, case.key, **case.fields)],
        *CHAT[:3],
        settings=LoreSettings(depth=3),
        whole_chat=lambda: CHAT,
    )
    decision = verdict(result, 1)
    assert decision.remark == case.remark
    assert str(decision).endswith(case.remark)


def test_a_scan_pays_nothing_for_them() -> None:
    """The whole chat is not read until somebody reads the verdicts."""
    read: list[str] = []

    def whole_chat() -> tuple[str, ...]:
        read.append("chat")
        return CHAT

    entries, settings = [entry(1, "lamp", caseSensitive=True)], LoreSettings(depth=3)
    result = run(entries, *CHAT[:3], settings=settings, whole_chat=whole_chat)
    assert not read
    assert result.verdicts
    assert read == ["chat"]


def test_what_was_not_searched_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A regular expression that took too many steps was not searched for; the verdict does not say that it did not match."""
    monkeypatch.setattr(jsregex, "MAX_KEY_STEPS", 100_000)
    entries = [entry(1, "/(a+)+$/"), entry(2, "aaa", keysecondary=["/(a+)+$/"], selective=True, selectiveLogic=2)]
    result = run(entries, "a" * 40 + "!")
    why = "not searched: /(a+)+$/ took more than 100,000 steps or too much memory"
    assert [verdict(result, uid).remark for uid in (1, 2)] == [why, why]
    assert [verdict(result, uid).fired for uid in (1, 2)] == [False, True]
