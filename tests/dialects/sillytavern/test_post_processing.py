"""Post-processing as an option of a dialect; the rules themselves are held by tests/taverns/silly/test_conversion.py."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.dialects import DIALECTS, convert
from innkeeper.dialects.sillytavern.messages import Speakers
from innkeeper.dialects.sillytavern.post_processing import MODES
from innkeeper.prompt import Message
from innkeeper.prompt.errors import ConfigError
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.parts import Attachment

TALK = [
    Message("system", "Rules."),
    Message("assistant", "Hello.", name="Mira"),
    Message("system", "Rain."),
    Message("user", "Hi."),
]
EXPECTED = {
    "merge": ["system", "assistant", "system", "user"],
    "semi": ["system", "assistant", "user"],
    "strict": ["system", "user", "assistant", "user"],
    "single": ["user"],
}


@pytest.mark.parametrize("mode", EXPECTED)
@pytest.mark.parametrize("dialect", ["openai", "openai-compatible", "openrouter"])
def test_modes_are_an_option(dialect: str, mode: str) -> None:
    """``post_processing`` names a mode; the request has what the messages have."""
    options: dict[str, Any] = {"post_processing": mode, "speakers": {"char": "Mira", "user": "Tomas"}}
    made = convert(TALK, dialect, **options)
    assert [message["role"] for message in made] == EXPECTED[mode]
    assert DIALECTS[dialect].request(TALK, model="m", options=options).body["messages"] == made


def test_changes_are_notes() -> None:
    """Each change is a repair of the dialect's, and the options are known to it."""
    notes = DIALECTS["openai"].messages(TALK, {"post_processing": "strict", "speakers": Speakers("Mira")}).notes
    assert {note.kind for note in notes} == {NoteKind.REPAIR}
    assert all(note.message.startswith("openai: ") for note in notes)


def test_the_filler_is_the_placeholder() -> None:
    """What the user says where nobody did is the dialect's filler."""
    made = convert([Message("assistant", "Hello.")], "openai", post_processing="strict", filler="(knock)")
    assert made[0] == {"role": "user", "content": "(knock)"}


def test_pictures_stay() -> None:
    """Media are kept, whatever their kind."""
    sound = Attachment.of({"type": "audio", "data": "UklGRg==", "media_type": "audio/wav"})
    message = Message("user", "Listen.", attachments=(sound,))
    (made,) = convert([message, Message("user", "Well?")], "openai", post_processing="merge")
    assert [part["type"] for part in made["content"]] == ["text", "input_audio", "text"]


BAD: list[dict[str, Any]] = [
    {"post_processing": "odd"},
    {"post_processing": ["merge"]},
    {"post_processing": "merge", "speakers": 5},
    {"post_processing": "merge", "speakers": {"char": 5}},
]


@pytest.mark.parametrize("options", BAD, ids=str)
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    """A mode there is not, and names that are none, are typed errors."""
    with pytest.raises(ConfigError):
        convert(TALK, "openai", **options)


def test_modes_are_named_by_their_names() -> None:
    """The registry's keys are the modes' names."""
    assert all(name == mode.name for name, mode in MODES.items())
