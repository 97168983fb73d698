"""An answer as the tavern keeps it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from innkeeper.conversation.reply import finished_reply
from innkeeper.prompt import BuildRequest
from innkeeper.prompt.data import EMPTY
from innkeeper.taverns.registry import rewrites_replies

SCRIPT = {"scriptName": "quiet", "findRegex": "/HUSH/g", "replaceString": "hush", "placement": [2]}
COUNTING = {"scriptName": "count", "findRegex": "/well/", "replaceString": "{{setvar::said::1}}so", "placement": [2]}


class Case(NamedTuple):
    answer: str
    kept: str
    fields: Mapping[str, Any] = EMPTY


CASES = {
    "blank ends": Case("\n Hello. \n", "Hello."),
    "own name": Case("Wenna: Hello.", "Hello."),
    "own name alone": Case("Wenna:", "Wenna:"),
    "the user speaks": Case("Hello.\nAda: Hi!\nWenna: Oh.", "Hello."),
    "the user in a sentence": Case("I like you, Ada: yes.", "I like you, Ada: yes."),
    "nothing but the user": Case("Ada: Hi!", "Ada: Hi!"),
    "continuation": Case(" and so on. ", " and so on.", {"generation": "continue"}),
    "in the user's place": Case("Ada: Hi!\nWenna: Oh.", "Hi!", {"generation": "impersonate"}),
    "script": Case("HUSH now", "hush now", {"settings": {"regex": [SCRIPT]}}),
    "no script in another tavern": Case("HUSH now", "HUSH now", {"tavern": "vibe", "meta": {"regex": 1}}),
    "half a sentence": Case("He went. Then he", "He went.", {"settings": {"power_user": {"trim_sentences": True}}}),
    "no sentence": Case("then he", "then he", {"settings": {"power_user": {"trim_sentences": True}}}),
    "another member": Case("Hello.\nTobin: Hi!", "Hello.", {"group": {"members": ["Wenna", "Tobin"]}}),
    "members may speak": Case(
        "Hello.\nTobin: Hi!",
        "Hello.\nTobin: Hi!",
        {"group": {"members": ["Wenna", "Tobin"]}, "settings": {"power_user": {"disable_group_trimming": True}}},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_answer_is_trimmed(case: Case) -> None:
    """Scripts run, blank ends and names in front go, and so do lines of others; nothing is ever cut to nothing."""
    request = BuildRequest.of({"tavern": "silly", "character": "Wenna", "user": "Ada", **case.fields})
    assert finished_reply(request, case.answer, speaker="Wenna").text == case.kept


def test_scripts_set_variables() -> None:
    """What a script sets in answers is in the chat's variables afterwards."""
    request = BuildRequest(tavern="silly", character="Wenna").with_(settings={"regex": [COUNTING]})
    reply = finished_reply(request, "well then")
    assert (reply.text, reply.variables["local"]["said"]) == ("so then", "1")


@pytest.mark.parametrize(
    ("fields", "rewrites"),
    [
        ({}, False),
        ({"settings": {"regex": [SCRIPT]}}, True),
        (
            {
                "character": {
                    "spec": "chara_card_v2",
                    "spec_version": "2.0",
                    "data": {"name": "A", "extensions": {"regex_scripts": [SCRIPT]}},
                }
            },
            True,
        ),
        ({"preset": {"prompts": [], "extensions": {"regex_scripts": [SCRIPT]}}}, True),
        ({"tavern": "vibe", "settings": {"regex": [SCRIPT]}}, False),
    ],
)
def test_scripts_are_told(fields: dict[str, Any], rewrites: bool) -> None:
    """Whether an answer can be streamed as it comes is known before it comes."""
    assert rewrites_replies(BuildRequest.of({"tavern": "silly", **fields})) is rewrites
