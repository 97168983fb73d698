"""What is sent fits its window: real bodies counted again, by OpenAI's own library and by the providers' rules for pictures."""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from innkeeper.budget import accounting
from innkeeper.dialects import DIALECTS
from innkeeper.prompt import MaxTokensExceededError, PipelineError
from innkeeper.taverns import TAVERNS
from innkeeper.tokens import VOCABULARIES
from innkeeper.tokens.engines.loading import engine_of

WORDS: Final = (
    "lantern ",
    "the ",
    "Ælfgifu ",
    "港",
    "{x} ",
    "\n",
    "sea.",
    "🦊",
    "antidisestablishmentarianism ",
    "1234567 ",
)
SHAPES: Final = tuple(sorted(set(DIALECTS) - {"sillytavern"}))
MODELS: Final = {"openai": "gpt-4o", "responses": "gpt-4.1", "openrouter": "openai/gpt-4o"}
"""Models whose tokenizer counts here; without a model it counts as well."""
LIMITS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens", "n_predict", "max_length")

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=25).map("".join)
short = st.sampled_from(("Mara", "Bob", "look_up", "n", "港"))


def picture(width: int, height: int) -> dict[str, Any]:
    """A picture of which there is only the head."""
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", width, height, 1, 0, 0, 0, 0)
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(head).decode()}"}}


@st.composite
def chats(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Turns with names, pictures, thoughts, and calls with their results."""
    turns: list[dict[str, Any]] = []
    for index in range(draw(st.integers(0, 8))):
        kind = draw(st.sampled_from(("user", "user", "named", "picture", "assistant", "thinking", "call")))
        text = draw(texts)
        if kind == "picture":
            size = st.integers(1, 3000)
            turns.append({"role": "user", "content": [{"type": "text", "text": text}, picture(draw(size), draw(size))]})
        elif kind == "thinking":
            thoughts = [{"text": draw(texts), "signature": draw(texts)} for _ in range(draw(st.integers(1, 2)))]
            turns.append({"role": "assistant", "content": text, "reasoning": thoughts})
        elif kind == "call":
            called = {"name": draw(short.filter(str.isascii)), "arguments": json.dumps({"q": text})}
            turns.append({"role": "user", "content": text})
            turns.append(
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"id": f"call_{index}", "type": "function", "function": called}],
                }
            )
            turns.append({"role": "tool", "content": draw(texts), "tool_call_id": f"call_{index}"})
        else:
            named = {"name": draw(short)} if kind == "named" else {}
            turns.append({"role": "assistant" if kind == "assistant" else "user", "content": text, **named})
    return turns


schemas = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=6),
    st.builds(lambda text: {"type": "string", "description": text}, texts),
    max_size=4,
).map(lambda fields: {"type": "object", "properties": fields})
tools = st.lists(
    st.builds(
        lambda name, text, schema: {"name": name, "description": text, "parameters": schema},
        st.sampled_from(("look", "find_thing")),
        texts,
        schemas,
    ),
    max_size=2,
    unique_by=lambda tool: tool["name"],
)
requests = st.fixed_dictionaries(
    {"history": chats(), "message": texts, "context_window": st.integers(20, 6000)},
    optional={
        "tools": tools,
        "reserved_tokens": st.integers(0, 300),
        "options": st.fixed_dictionaries(
            {},
            optional={
                "response_format": schemas,
                "max_tokens": st.integers(-1, 400),
                "max_completion_tokens": st.integers(1, 400),
                "temperature": st.just(0.5),
            },
        ),
    },
)


def leaves(value: Any, key: str = "") -> Iterator[str]:
    """The texts of a body, without those that no model reads: addresses, data, types."""
    if isinstance(value, str):
        if key not in ("url", "data", "type", "mimeType", "media_type", "image_url", "status", "object", "role"):
            yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from leaves(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, key)


def tokens(value: Any) -> int:
    """Tokens of a text, or of data as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return engine_of(VOCABULARIES["o200k_base"]).count(text)


def sizes(value: Any) -> Iterator[tuple[int, int]]:
    """The sizes of all pictures in a body."""
    if isinstance(value, str) and "iVBORw0KGgo" in value:
        head = base64.b64decode(value[value.index("iVBORw0KGgo") :])
        yield struct.unpack(">II", head[16:24])
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from sizes(item)


def picture_tokens(width: int, height: int, dialect: str) -> int:
    """By the providers' pages, written down a second time; of others the price of the dearest tile is unknown: one."""
    if dialect == "anthropic":
        scale = min(1.0, 1568 / max(width, height))
        return min(1600, math.floor(width * scale * height * scale / 750))
    if dialect in ("gemini", "google"):
        return 258
    if dialect in ("openai", "responses"):
        if max(width, height) <= 512:
            return 85
        scale = min(1.0, 2048 / max(width, height))
        scale = min(scale, 768 / (min(width, height)))
        return 85 + 170 * math.ceil(int(width * scale) / 512) * math.ceil(int(height * scale) / 512)
    return 1


def recount(body: dict[str, Any], dialect: str) -> int:
    """Tokens of a body: each message's texts and its frame, tools and the schema of the answer as JSON, pictures."""
    if isinstance(body.get("prompt"), str):
        return tokens(body["prompt"])
    talk = body.get("messages") or body.get("contents") or body.get("input") or []
    system = [body[name] for name in ("system", "system_instruction", "instructions") if name in body]
    frame = 1 if dialect in ("gemini", "google") else 3
    config = body.get("generationConfig", {})
    schema = (
        body.get("response_format")
        or body.get("output_config", {}).get("format")
        or body.get("text", {}).get("format")
        or body.get("format")
        or config.get("responseJsonSchema")
    )
    used = sum(map(tokens, leaves([talk, system]))) + frame * len(talk)
    used += sum(picture_tokens(*size, dialect) for size in sizes(talk))
    return used + sum(tokens(part) for part in (body.get("tools"), schema) if part)


def limit_of(body: dict[str, Any]) -> int:
    """How long the answer may be."""
    found = [body[name] for name in LIMITS if name in body]
    found += [body.get("generationConfig", {}).get("maxOutputTokens"), body.get("options", {}).get("num_predict")]
    return max((number for number in found if number is not None), default=0)


def check(tavern: str, dialect: str, request: dict[str, Any], *, is_named: bool) -> None:
    """Build, render and count again; a prompt that does not fit is refused, never sent."""
    named = {"dialect": dialect} if is_named else {}
    asked = {"tools": [], **request, **named, "model": MODELS.get(dialect), "now": "2026-01-01T00:00:00Z"}
    try:
        plan = TAVERNS[tavern].build(asked)
        payload = plan.to_request(dialect)
    except MaxTokensExceededError:
        return
    except PipelineError as error:
        assert isinstance(error.__cause__, MaxTokensExceededError), error  # noqa: PT017
        return
    window, limit = request["context_window"], limit_of(payload.body)
    used = recount(payload.body, dialect)
    assert used + limit <= window, (used, limit, window)
    if is_named:
        budget = accounting(plan)
        assert budget.fits
        assert used <= budget.total or tavern == "silly", (used, budget)
    reserved = request.get("reserved_tokens")
    if reserved and not {"max_tokens", "max_completion_tokens"} & request.get("options", {}).keys():
        assert limit == reserved


WITH_A_TOOL: Final = {
    "history": [],
    "message": "lantern ",
    "context_window": 62,
    "tools": [{"name": "look", "description": "lantern ", "parameters": {"type": "object", "properties": {}}}],
    "reserved_tokens": 0,
}
"""A window that has room for the text or for the tool, by counts of different hands."""


WITH_A_PICTURE: Final = {
    "history": [{"role": "user", "content": [{"type": "text", "text": "lantern "}, picture(1, 1)]}],
    "message": "lantern ",
    "context_window": 114,
    "reserved_tokens": 0,
}
"""A window that has room for the picture by SillyTavern's count alone."""

TWO_LIMITS: Final = {"max_completion_tokens": 1, "max_tokens": -1}
"""One limit that counts, and one that is none."""


@pytest.mark.parametrize("tavern", sorted(TAVERNS))
@given(dialect=st.sampled_from(SHAPES), request=requests, is_named=st.booleans())
@example(dialect="anthropic", request=WITH_A_TOOL, is_named=False)
@example(dialect="anthropic", request={**WITH_A_TOOL, "reserved_tokens": 1}, is_named=True)
@example(dialect="google", request=WITH_A_PICTURE, is_named=False)
@example(dialect="gemini", request={"history": [], "message": "\n", "context_window": 20}, is_named=True)
@example(dialect="anthropic", request={"history": [], "message": "\n", "context_window": 20}, is_named=False)
@example(dialect="anthropic", request={**WITH_A_TOOL, "options": TWO_LIMITS}, is_named=True)
@example(dialect="text", request={"message": "\n", "context_window": 20, "reserved_tokens": 21}, is_named=True)
@settings(max_examples=60, deadline=None)
def test_bodies_fit(tavern: str, dialect: str, request: dict[str, Any], is_named: bool) -> None:
    """Used and reserved are within the window, in every tavern and dialect, whatever is in the request."""
    check(tavern, dialect, request, is_named=is_named)


@pytest.mark.endurance
@pytest.mark.parametrize("dialect", SHAPES)
@pytest.mark.parametrize("tavern", sorted(TAVERNS))
@given(request=requests, is_named=st.booleans())
@settings(max_examples=400, deadline=None)
def test_all_bodies_fit(tavern: str, dialect: str, request: dict[str, Any], is_named: bool) -> None:
    """The same, many times for each of them."""
    check(tavern, dialect, request, is_named=is_named)
