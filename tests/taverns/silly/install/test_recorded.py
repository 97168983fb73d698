"""A folder that SillyTavern's server wrote, and what its page would send from it: every recorded case agrees."""

from __future__ import annotations

import json

import pytest

from innkeeper.content.chat import read_chat
from innkeeper.taverns.silly.install import Install
from scripts.parity import Case, CaseVerdict, load_cases, run_case
from tests.taverns.silly.install.folders import RECORDED


@pytest.mark.parametrize("case", tuple(load_cases([RECORDED.parent])), ids=lambda case: case.name)
def test_agrees(case: Case) -> None:
    """Same folder, same selections: the same messages or prompt, lore, stop strings, and metadata of the chat afterwards."""
    outcome = run_case(case)
    shown = "\n".join(difference.render() for difference in outcome.differences[:6])
    assert outcome.verdict is CaseVerdict.AGREED, f"{outcome.error or ''}\n{shown}"


def test_what_is_kept_is_read_again() -> None:
    """A chat with what a build leaves in it is the same file but for the header, and the next build goes on from it."""
    prepared = Install.open(RECORDED).prepare("Mira", chat="Short", message="And the cellar?")
    before, chat = prepared.chat.to_jsonl().splitlines(), prepared.chat.with_(prepared.build())
    after = chat.to_jsonl().splitlines()
    assert after[1:] == before[1:]
    stored = json.loads(after[0])["chat_metadata"]
    assert stored["timedWorldInfo"]["sticky"]["Mira's cellar.0"]["protected"] is False
    assert stored["lastInContextMessageId"] == 0
    again = read_chat(chat.to_jsonl())
    assert again.metadata == stored
    assert again.with_(prepared.build()).to_jsonl() == chat.to_jsonl()
