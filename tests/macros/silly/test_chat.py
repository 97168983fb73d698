"""Macros of the chat and of time: which message is the last, and how moments are told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

import pytest

from innkeeper.macros.engine.environment import ChatLine, MacroEnvironment
from innkeeper.macros.engine.errors import MacroArgumentError
from innkeeper.macros.silly.chat import (
    INVALID,
    chat_range,
    formatted,
    idle,
    last_id,
    last_text,
    number,
    shown_number,
    swipe_count,
    time_difference,
    time_in_zone,
)
from innkeeper.prompt.determinism import Clock

NOW = datetime(2024, 5, 17, 13, 45, 30, tzinfo=UTC)


def user(text: str, sent: str | None = None, **fields: bool) -> ChatLine:
    """A message of the user's."""
    return ChatLine("Tomas", text, is_user=True, send_date=sent, **fields)


def char(text: str, swipes: int | None = None, swipe_id: int | None = None) -> ChatLine:
    """A message of the character's."""
    return ChatLine("Mira", text, swipes=swipes, swipe_id=swipe_id)


def environment(*chat: ChatLine, now: datetime = NOW) -> MacroEnvironment:
    """A build with this chat at this moment."""
    return MacroEnvironment(chat=lambda: chat, clock=Clock(now))


@dataclass(frozen=True)
class Case:
    """A chat; its last text, that of the user and of the character, the last number, and the numbers of all."""

    name: str
    chat: tuple[ChatLine, ...]
    last: tuple[str, str, str]
    last_id: str
    numbers: str


CASES = (
    Case("empty", (), ("", "", ""), "", ""),
    Case("two", (user("a"), char("b")), ("b", "a", "b"), "1", "0-1"),
    Case("a hidden one", (user("a"), user("b", is_system=True)), ("b", "a", ""), "1", "0-1"),
    Case("one being written", (char("a"), char("", 2, 2)), ("a", "", "a"), "0", "0-1"),
    Case("an alternative", (char("a"), char("b", 2, 1)), ("b", "", "b"), "1", "0-1"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_last_messages(case: Case) -> None:
    """Hidden messages are nobody's, and an alternative that is only being written is not the last message."""
    env = environment(*case.chat)
    assert (last_text(env), last_text(env, "user"), last_text(env, "char")) == case.last
    assert (last_id(env), chat_range(env)) == (case.last_id, case.numbers)


def test_alternatives() -> None:
    """The newest message tells how many alternatives it has, and which is shown from 1."""
    env = environment(char("a", 3, 1))
    assert (swipe_count(env), shown_number(env)) == ("3", "2")
    assert (swipe_count(environment(user("a"))), shown_number(environment())) == ("", "")
    assert (number(None), number(0)) == ("", "0")


@pytest.mark.parametrize(
    ("offset", "text"),
    [(0, "1:45 PM"), (2, "3:45 PM"), (-5, "8:45 AM"), (15, "4:45 AM"), (16, "2:01 PM"), (-90, "12:15 PM")],
)
def test_time_in_a_zone(offset: int, text: str) -> None:
    """Offsets below 16 are hours, others minutes, whatever the zone of the clock."""
    tokyo = NOW.astimezone(timezone(timedelta(hours=9)))
    assert time_in_zone(environment(), offset) == time_in_zone(environment(now=tokyo), offset) == text


def test_formats() -> None:
    """Now is told in the clock's zone; a format of nothing but line ends is refused."""
    assert (
        formatted(environment(now=NOW.astimezone(timezone(timedelta(hours=9)))), "YYYY-MM-DD HH:mm")
        == "2024-05-17 22:45"
    )
    with pytest.raises(MacroArgumentError):
        formatted(environment(), "\n")


@pytest.mark.parametrize(
    ("left", "right", "text"),
    [
        ("2024-05-17", "2024-05-15", "in 2 days"),
        (" 2024-05-15 ", "2024-05-17", "2 days ago"),
        ("yesterday or so", "2024-05-17", INVALID),
    ],
)
def test_time_difference(left: str, right: str, text: str) -> None:
    """How far one moment lies from the other, in words; blanks around them do not count."""
    assert time_difference(environment(), left, right) == text


@dataclass(frozen=True)
class Idle:
    """A chat, and how long ago the user wrote."""

    name: str
    chat: tuple[ChatLine, ...]
    text: str


IDLE = (
    Idle("nobody wrote", (), "just now"),
    Idle("the newest message aside", (user("a", "2024-05-17T11:45:30Z"), user("b", "2024-05-17T13:45:00Z")), "2 hours"),
    Idle("a hidden message", (user("a", "2024-05-17T11:45:30Z", is_system=True), char("b")), "just now"),
    Idle("no date", (user("a"), char("b")), "just now"),
    Idle("not a date", (user("a", "some day"), char("b")), INVALID),
)


@pytest.mark.parametrize("case", IDLE, ids=lambda case: case.name)
def test_idle(case: Idle) -> None:
    """The user's last message before the newest one tells how long it has been."""
    assert idle(environment(*case.chat)) == case.text
