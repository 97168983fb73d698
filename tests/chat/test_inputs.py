"""ChatInputs: assets by their files or as values, and keywords that there are not."""

from __future__ import annotations

import pytest

from innkeeper.chat.inputs import chat_request
from innkeeper.content import load_character, load_lorebook, load_persona
from innkeeper.prompt import BuildRequest
from innkeeper.prompt.errors import UnknownNameError
from tests.shared import ROOT

EXAMPLES = ROOT / "examples"
WENNA, ANSEL, LARKS = (EXAMPLES / name for name in ("wenna.json", "ansel.persona.json", "larks.lorebook.json"))


def test_files_and_values_are_the_same() -> None:
    """A path is read as its loader reads it."""
    by_path = chat_request(WENNA, {"persona": str(ANSEL), "lorebooks": [LARKS]})
    by_value = chat_request(
        load_character(WENNA), {"persona": load_persona(ANSEL), "lorebooks": [load_lorebook(LARKS)]}
    )
    assert by_path == by_value
    assert by_path.tavern == "silly"


def test_a_request_has_every_other_input() -> None:
    """Its fields stay where no keyword says otherwise."""
    base = BuildRequest(tavern="vibe", seed=7, context_window=2_048)
    request = chat_request({"name": "Wenna"}, {"request": base, "settings": {"a": 1}})
    assert (request.tavern, request.seed, request.context_window) == ("vibe", 7, 2_048)
    assert chat_request(None, {"request": {"tavern": "vibe"}, "tavern": "silly"}).tavern == "silly"


def test_an_unknown_keyword_is_an_error() -> None:
    """With the nearest that there is."""
    with pytest.raises(UnknownNameError, match="lorebook") as raised:
        chat_request(WENNA, {"lorebook": LARKS})  # type: ignore[typeddict-unknown-key]
    assert "lorebooks" in (raised.value.hint or "")
