"""Files on a command line: each becomes the field of the request that its content is for."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.cli.prompt.assets import AssetFiles, setting
from innkeeper.content.errors import LIMITS
from innkeeper.prompt import BuildRequest, InnkeeperError, UsageError
from innkeeper.prompt.errors import LimitError
from innkeeper.taverns import assets as taverns
from innkeeper.taverns import build
from tests.shared import ROOT

EXAMPLES = ROOT / "examples"


def assets(*names: str, stdin: bytes = b"") -> AssetFiles:
    """The assets of these files."""
    found = AssetFiles(io.BytesIO(stdin))
    for name in names:
        found.add(name if name == "-" or name.startswith("/") else str(EXAMPLES / name))
    return found


def test_each_file_finds_its_field() -> None:
    """Files in any order become character, user, lorebooks, preset and history."""
    names = ("skerrow.preset.json", "wenna.chat.jsonl", "larks.lorebook.json", "ansel.persona.json", "wenna.png")
    found = assets(*names)
    request = found.request({"message": "Hello", "seed": None})
    assert request.character.name == "Wenna Carrow"
    assert request.user.name == "Ansel"
    assert [book.name for book in request.lorebooks] == ["The Lark Islands"]
    assert request.preset.raw["temperature"] == 0.7
    assert [message.role for message in request.history] == ["assistant", "user", "assistant"]
    assert (request.message, request.seed) == ("Hello", 0)
    assert found.findings == []


def test_request_can_be_stored() -> None:
    """A request of files is data: stored and read again it is the same."""
    request = assets("wenna.png", "ansel.persona.json", "larks.lorebook.json", "skerrow.preset.json").request({})
    again = BuildRequest.from_json(request.to_json())
    assert again.to_json() == request.to_json()


def test_templates_are_settings() -> None:
    """Templates of text completion come into the settings, beside one another."""
    text = assets("plain.context.json", "plain.instruct.json").request({}).settings["text"]
    assert set(text) == {"context", "instruct"}
    assert text["instruct"]["wrap"] is True


def test_stdin_and_request_file(tmp_path: Path) -> None:
    """A request comes from a file or the standard input; assets and settings go over it."""
    raw = BuildRequest(message="from the file", seed=4).to_json()
    path = tmp_path / "request.json"
    path.write_bytes(raw)
    for name in (str(path), "-"):
        request = assets(name, "ansel.persona.json", stdin=raw).request({"message": None, "seed": 5})
        assert (request.message, request.seed, request.user.name) == ("from the file", 5, "Ansel")


def test_stdin_can_be_any_asset() -> None:
    """What comes by the standard input is told by its content, too."""
    assert assets("-", stdin=(EXAMPLES / "wenna.png").read_bytes()).request({}).character.name == "Wenna Carrow"


def test_stdin_has_a_limit() -> None:
    """More than a file may have is refused, not read."""
    with pytest.raises(LimitError, match="file_bytes"):
        assets("-", stdin=b" " * (LIMITS.file_bytes + 1))


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (("wenna.png", "tobin.json"), "a second character"),
        (("make_picture.py",), "not JSON"),
        (("-",), "not JSON"),
    ],
    ids=["two cards", "no asset", "nothing"],
)
def test_refused(names: tuple[str, ...], says: str) -> None:
    """What cannot be used is an error with the file's name, never passed over."""
    with pytest.raises(InnkeeperError, match=says):
        assets(*names)


def test_chat_brings_its_note_and_variables(tmp_path: Path) -> None:
    """The note, the variables and the metadata of a stored chat are part of the request."""
    metadata = {"note_prompt": "Keep it calm.", "note_depth": 2, "note_interval": 3, "variables": {"mood": "calm"}}
    path = tmp_path / "chat.jsonl"
    header = {"user_name": "A", "character_name": "B", "chat_metadata": metadata}
    path.write_text(json.dumps(header) + "\n", "utf-8")
    request = assets(str(path)).request({})
    assert request.settings["chat_metadata"] == metadata
    assert taverns.Assets(request).note == taverns.AuthorsNote(text="Keep it calm.", depth=2, interval=3)
    assert build(request).variables["local"] == {"mood": "calm"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("seed=7", (["seed"], 7)),
        ("options.temperature=0.5", (["options", "temperature"], 0.5)),
        ("message=hello there", (["message"], "hello there")),
        ("meta.a.b={}", (["meta", "a", "b"], {})),
        ("message=", (["message"], "")),
        ("a==b", (["a"], "=b")),
    ],
)
def test_settings(text: str, expected: tuple[list[str], Any]) -> None:
    """A setting is a path and JSON; what is not JSON is text."""
    assert setting(text) == expected


@given(st.text(max_size=60))
def test_any_setting(text: str) -> None:
    """Any text is a setting or a usage error, and so is its effect on a request."""
    try:
        AssetFiles().request({}, [text])
    except InnkeeperError as error:
        assert error.exit_code in {2, 65}  # noqa: PT017 - which of the two depends on the text


def test_settings_reach_deep() -> None:
    """A setting changes one field and leaves its neighbours."""
    request = AssetFiles().request(
        {"options": {"top_p": 1}}, ['options.stop=["x"]', "settings.power_user.pin_examples=true"]
    )
    assert request.options == {"top_p": 1, "stop": ("x",)}
    assert request.settings == {"power_user": {"pin_examples": True}}
    with pytest.raises(UsageError, match="no field 'nothing'"):
        AssetFiles().request({}, ["nothing=1"])
