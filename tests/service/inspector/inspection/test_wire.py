"""What a provider gets."""

from __future__ import annotations

import json
import shlex

import pytest

from innkeeper.dialects import DIALECTS
from innkeeper.service.inspector.inspection.wire import wire_view
from innkeeper.service.inspector.views.inspection import Wire
from innkeeper.service.inspector.views.workspace import Edit
from innkeeper.taverns import build
from tests.service.inspector.workspace.test_workspace import example

HOSTILE = 'it\'s "so" \\ $(touch x) `id` \u2028 \u0007 \ud800 \U0001f600 </script>\n\t'


def wire_of(dialect: str, text: str | None = None) -> Wire:
    """The request of the example, with a text in its card."""
    workspace = example(message="Is the reef safe?")
    if text is not None:
        workspace.files["wenna.png"].apply(Edit(file="", path=("data", "scenario")), text)
    return wire_view(workspace, build(workspace.request()), dialect)


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


def test_a_shell_and_a_program_send_the_same_bytes() -> None:
    """Quoted so that neither reads anything in it; neither has a key."""
    wire = wire_of("anthropic", HOSTILE)
    words = shlex.split(wire.curl)
    sent = words[words.index("--data-raw") + 1]
    assert json.loads(sent) == json.loads(json.dumps(wire.body))
    compile(wire.python, "sent.py", "exec")
    assert repr(sent) in wire.python or json.dumps(wire.body, ensure_ascii=True) in eval(  # noqa: S307 - our own line
        wire.python.partition("json.loads(")[2].partition(")\nheaders")[0]
    )
    assert "$API_KEY" in wire.curl


@pytest.mark.parametrize(
    ("dialect", "address", "header"),
    [
        ("openai", "https://api.openai.com/v1/chat/completions", "authorization"),
        ("anthropic", "https://api.anthropic.com/v1/messages", "x-api-key"),
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
    wire = wire_view(workspace, build(workspace.request()), dialect)
    words = shlex.split(wire.curl)
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
    found = {name: wire_view(workspace, build(workspace.request()), name).lost for name in ("openai", "text")}
    assert all(isinstance(lost, tuple) for lost in found.values())
