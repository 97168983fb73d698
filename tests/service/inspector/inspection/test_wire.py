"""What a provider gets."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from innkeeper.cli import main
from innkeeper.dialects import DIALECTS
from innkeeper.dialects.registry import TEXT_DIALECTS
from innkeeper.service.inspector.inspection.planning import planned
from innkeeper.service.inspector.inspection.wire import wire_view
from innkeeper.service.inspector.views.inspection import Wire
from innkeeper.service.inspector.views.workspace import Edit, SettingsChange, Variation
from innkeeper.service.inspector.workspace.working import WorkingFile
from innkeeper.service.inspector.workspace.workspace import OpenWorkspace
from tests.service.inspector.opened import EXAMPLES, NOW
from tests.service.inspector.workspace.test_workspace import example

HOSTILE = 'it\'s "so" \\ $(touch x) `id` \u2028 \u0007 \ud800 \U0001f600 </script>\n\t'


def wire_of(dialect: str, text: str | None = None) -> Wire:
    """The request of the example, with a text in its card."""
    workspace = example(message="Is the reef safe?", model=None)
    if text is not None:
        workspace.files["wenna.png"].apply(Edit(file="", path=("data", "scenario")), text)
    return wire_in(workspace, dialect)


def wire_in(workspace: OpenWorkspace, dialect: str) -> Wire:
    """The request of a workspace in a dialect."""
    variation = Variation(settings=SettingsChange(dialect=dialect))
    return wire_view(workspace, planned(workspace, variation), variation)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_text_is_the_body(dialect: str) -> None:
    """Indented, and nothing else; ranges lead to the texts that they are of."""
    wire = wire_of(dialect)
    assert json.loads(wire.pretty) == json.loads(json.dumps(wire.body, default=str))
    ends = 0
    for each in wire.ranges:
        assert ends <= each.start < each.end
        ends = each.end
    shown = {wire.origins[each.origin].asset: wire.pretty[each.start : each.end] for each in wire.ranges}
    assert "Is the reef safe?" in shown["message"]
    assert wire.text is None or wire.text == wire.body["prompt"]


def test_origins_stay_with_their_characters_behind_escapes() -> None:
    """What JSON writes with several characters does not shift what comes after."""
    wire = wire_of("openai", HOSTILE + "THE END")
    texts = [
        json.loads(f'"{wire.pretty[each.start : each.end]}"')
        for each in wire.ranges
        if wire.origins[each.origin].path == ("data", "scenario")
    ]
    assert any(text.endswith("THE END") for text in texts)


def test_what_is_copied_sends_the_same_body() -> None:
    """By a shell and by two languages, with nothing of a card read as their own words; none has a key."""
    wire = wire_of("anthropic", HOSTILE)
    head, _, rest = wire.curl.partition(" <<'JSON'\n")
    assert json.loads(rest.removesuffix("\nJSON\n"), strict=False)["messages"] == wire.body["messages"]
    assert shlex.split(head)[-1] == "@-"
    names: dict[str, Any] = {}
    exec(wire.python.partition("request = ")[0], names)  # noqa: S102 - our own lines
    assert names["body"] == {**wire.body, "model": "MODEL"}
    assert json.loads(wire.javascript.partition("const body = ")[2].partition(";\nfetch(")[0]) == names["body"]
    assert "$API_KEY" in wire.curl
    assert wire.lacks_model


@pytest.mark.parametrize("form", ["curl", "python", "javascript"])
def test_what_is_copied_runs(form: str) -> None:
    """As it stands; what comes in is the body."""
    wire = wire_of("openai", HOSTILE)
    program = {"curl": ["sh", "-c"], "python": [sys.executable, "-c"], "javascript": ["node", "-e"]}[form]
    if shutil.which("curl" if form == "curl" else program[0]) is None:
        pytest.skip(f"{form} is not here")
    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        server.timeout = 120
        text = getattr(wire, form).replace("https://api.openai.com", f"http://127.0.0.1:{server.server_port}")
        environment = {**os.environ, "API_KEY": "k-1", "no_proxy": "*"}
        sending = subprocess.Popen([*program, text], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        server.handle_request()
        assert b"well" in sending.communicate(timeout=120)[0]
    assert Receiver.path_seen == "/v1/chat/completions"
    assert Receiver.key == "Bearer k-1"
    assert json.loads(Receiver.received) == {**wire.body, "model": "MODEL"}


class Receiver(BaseHTTPRequestHandler):
    """Takes one request."""

    received, key, path_seen = b"", "", ""

    def do_POST(self) -> None:
        """Keep what came."""
        Receiver.received = self.rfile.read(int(self.headers["content-length"]))
        Receiver.key, Receiver.path_seen = self.headers["authorization"], self.path
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"well")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.mark.parametrize("dialect", ["text", "koboldcpp", "llamacpp", "anthropic"])
def test_the_body_is_that_of_the_command(dialect: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`innkeeper build --dialect` prints it byte for byte; a text dialect is built with the templates."""
    names = ["wenna.png", "larks.lorebook.json", "plain.context.json", "plain.instruct.json", "wenna.chat.jsonl"]
    files = [WorkingFile(name, name, (EXAMPLES / name).read_bytes()) for name in names]
    workspace = OpenWorkspace("t", files, SettingsChange(message="Is the reef safe?"), now=NOW, every=True)
    wire = wire_in(workspace, dialect)
    paths = [str(EXAMPLES / name) for name in names]
    assert main(["build", *paths, "--message", "Is the reef safe?", "--dialect", dialect, "--now", NOW]) == 0
    assert capsys.readouterr().out == f"{wire.pretty}\n"
    assert ("[speaks: " in wire.pretty) == (dialect in TEXT_DIALECTS)
    if wire.text is not None:
        texts = [
            wire.text[one.start : one.end] for one in wire.text_ranges if wire.origins[one.origin].asset == "message"
        ]
        assert texts == ["Is the reef safe?"]


@pytest.mark.parametrize(
    ("dialect", "address", "header"),
    [
        ("openai", "https://api.openai.com/v1/chat/completions", "authorization"),
        ("anthropic", "https://api.anthropic.com/v1/messages", "x-api-key"),
        ("google", "https://generativelanguage.googleapis.com/v1beta/models/", "x-goog-api-key"),
        ("koboldcpp", "http://localhost:5001/api/v1/generate", "authorization"),
        ("text", "http://localhost:8000/v1/completions", "authorization"),
        ("openrouter", "https://openrouter.ai/api/v1/chat/completions", "authorization"),
        ("gemini", "https://generativelanguage.googleapis.com/v1beta/models/", "x-goog-api-key"),
        ("xai", "https://api.x.ai/v1/chat/completions", "authorization"),
        ("cohere", "https://api.cohere.com/v2/chat", "authorization"),
        ("openai-compatible", "http://localhost:8000/v1/chat/completions", "authorization"),
        ("llamacpp", "http://localhost:8080/completion", "authorization"),
    ],
)
def test_a_body_goes_where_the_table_of_providers_says(dialect: str, address: str, header: str) -> None:
    """With the headers of its protocol; a model's name is no word of the shell."""
    workspace = example(model="a; echo b")
    wire = wire_in(workspace, dialect)
    words = shlex.split(wire.curl.partition(" <<")[0])
    assert words[1].startswith(address)
    assert "echo" not in words
    assert any(word.startswith(header) for word in words)
    compile(wire.python, "sent.py", "exec")


def test_what_a_dialect_cannot_carry_is_told() -> None:
    """As notes of the dialect."""
    workspace = example(message="Hm?")
    chat = workspace.files["wenna.chat.jsonl"]
    chat.apply(
        Edit(file="", path=("messages", 0, "extra")), {"image": "data:image/png;base64,AAAA", "inline_image": True}
    )
    found = {name: wire_in(workspace, name).lost for name in ("openai", "text")}
    assert all(isinstance(lost, tuple) for lost in found.values())
