"""Requests that others recorded on the wire: read back to neutral messages, our dialects write the same bodies again."""

import json
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from innkeeper.dialects import DIALECTS
from tests import shared
from tests.dialects import wire

FOLDERS: Final = ("fixtures/llm_cassettes", "fixtures/pydantic_ai_cassettes")
ENDPOINTS: Final = {
    "openrouter.ai/api/v1/chat/completions": "openrouter",
    "/chat/completions": "openai",
    "/responses": "responses",
    "/responses/input_tokens": "responses",
    "/messages": "anthropic",
    "/messages/count_tokens": "anthropic",
    ":generateContent": "gemini",
    ":streamGenerateContent": "gemini",
    ":countTokens": "gemini",
}
"""Ends of addresses, and whose shape is spoken there. Others (files, conversations) carry no prompt."""

COUNTING: Final = ("input_tokens", "count_tokens", "countTokens")
"""Endpoints that take the messages of a request but not its options."""

SKIPPED: Final = {
    "openai_responses__test_openai_responses_compact_with_auto_previous_response_id#1": "compaction: no messages",
}


@dataclass(frozen=True)
class Recording:
    id: str
    address: str
    dialect: str
    body: dict[str, Any]


@cache
def recordings() -> list[Recording]:
    """The recorded requests that carry a prompt, none where the recordings are absent."""
    files = [path for folder in FOLDERS for path in shared.files(folder, "*.yaml")]
    return [found for path in files for found in _in_file(path)]


def _in_file(path: Path) -> list[Recording]:
    found = []
    interactions = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)["interactions"]
    for place, interaction in enumerate(interactions):
        request = interaction["request"]
        address = request["uri"].partition("?")[0]
        dialect = next((name for end, name in ENDPOINTS.items() if address.endswith(end)), None)
        name = f"{path.stem}#{place}"
        if dialect is not None and name not in SKIPPED:
            body = request.get("parsed_body") or json.loads(request["body"])
            found.append(Recording(name, address, dialect, body))
    return found


@pytest.mark.parametrize("recording", recordings(), ids=lambda recording: recording.id)
def test_a_recorded_body_is_written_again(recording: Recording) -> None:
    """Messages, tools and options of every recorded request survive the way through neutral messages and back."""
    request = wire.read(recording.dialect, deepcopy(recording.body))
    # Recordings stem from callers who kept neighbouring messages of one role apart.
    options = {**request.options, "repair": False}
    payload = DIALECTS[recording.dialect].request(
        request.messages, model=request.model, options=options, tools=request.tools
    )
    body = dict(payload.body)
    if recording.address.endswith(COUNTING):
        body.pop("max_tokens", None)
        recorded = {key: value for key, value in recording.body.items() if key != "max_tokens"}
    else:
        recorded = recording.body
    assert wire.canonical(body) == wire.canonical(recorded)


@pytest.mark.parametrize("recording", recordings(), ids=lambda recording: recording.id)
def test_a_recorded_body_loses_nothing(recording: Recording) -> None:
    """What a provider was sent, its dialect can carry: the only losses are those of the test's own reader."""
    request = wire.read(recording.dialect, deepcopy(recording.body))
    payload = DIALECTS[recording.dialect].request(
        request.messages, model=request.model, options=request.options, tools=request.tools
    )
    assert not [str(note) for note in payload.notes if note.kind == "loss"]


def test_recordings_of_each_family_are_there() -> None:
    """The two tests above do not pass for want of recordings."""
    for folder in FOLDERS:
        shared.need(folder)
    assert {recording.dialect for recording in recordings()} == {
        "openai",
        "openrouter",
        "responses",
        "anthropic",
        "gemini",
    }
    assert len(recordings()) > 80
