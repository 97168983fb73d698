"""Google: contents of parts, signatures, and thought by model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from innkeeper.dialects.sillytavern.bodies.google import convert_google, google_body
from innkeeper.dialects.sillytavern.conversion import RawMessage
from innkeeper.prompt.note import NoteKind
from tests.dialects.sillytavern.requests import CALLED, PICTURE, TOOL, conversion, kinds, provider_request, said


def content(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    """One content of the API."""
    return {"role": role, "parts": list(parts)}


DATA = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
ANSWER = {"functionResponse": {"name": "look", "response": {"name": "look", "content": "A ferry."}}}


@dataclass(frozen=True)
class Case:
    """Messages, the model, and the contents of the API."""

    name: str
    messages: list[RawMessage]
    made: list[dict[str, Any]]
    options: dict[str, Any] = field(default_factory=dict)


CASES = (
    Case(
        "roles",
        [said("user", "a"), said("assistant", "b")],
        [content("user", {"text": "a"}), content("model", {"text": "b"})],
    ),
    Case("neighbours", [said("user", "a"), said("system", "b")], [content("user", {"text": "a\n\nb"})]),
    Case(
        "a picture between texts",
        [said("user", [PICTURE]), said("user", "b"), said("user", "c")],
        [content("user", DATA, {"text": "b\n\nc"})],
    ),
    Case("a name", [said("user", "a", name="Bo")], [content("user", {"text": "Bo: a"})]),
    Case("an example", [said("system", "a", name="example_assistant")], [content("user", {"text": "Mira: a"})]),
    Case(
        "tools",
        CALLED,
        [
            content("user", {"text": "Look."}),
            content("model", {"functionCall": {"name": "look", "args": {"x": 1}}}),
            content("user", ANSWER),
        ],
    ),
    Case(
        "a signed text stays apart",
        [said("assistant", "a"), said("assistant", "b", signature="c2ln")],
        [content("model", {"text": "a"}, {"text": "b", "thoughtSignature": "c2ln"})],
        {"model": "gemini-2.5-pro"},
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_contents(case: Case) -> None:
    """Everybody is user or model, neighbours are one content, and their texts join in its first text."""
    assert convert_google(conversion(*case.messages), **case.options)["contents"] == case.made


def test_calls_are_signed_for_models_that_want_it() -> None:
    """A call without a signature of its own gets the word for an unknown one."""
    made = convert_google(conversion(*CALLED), model="gemini-3-pro")["contents"]
    assert made[1]["parts"][0]["thoughtSignature"] == "skip_thought_signature_validator"


def test_leading_system_text_goes_apart() -> None:
    """System messages at the top are the instruction, but never the last message."""
    made = convert_google(conversion(said("system", "a"), said("system", "b")), use_sysprompt=True)
    assert made == {"contents": [content("user", {"text": "b"})], "system_instruction": {"parts": [{"text": "a"}]}}


def test_what_is_not_sent_is_reported() -> None:
    """A medium by its address is a loss."""
    talk = conversion(said("user", [{"type": "image_url", "image_url": {"url": "https://example.test/a.png"}}]))
    assert convert_google(talk)["contents"] == [content("user")]
    assert kinds(talk.report) == [NoteKind.LOSS]


@dataclass(frozen=True)
class Thought:
    """A model, an effort, and the settings of thought."""

    model: str
    effort: str
    config: dict[str, Any] | None


SHOWN = {"includeThoughts": True}
THOUGHTS = (
    Thought("gemini-2.5-pro", "auto", {**SHOWN, "thinkingBudget": -1}),
    Thought("gemini-2.5-pro", "min", {**SHOWN, "thinkingBudget": 128}),
    Thought("gemini-2.5-flash-lite", "low", {**SHOWN, "thinkingBudget": 4000}),
    Thought("gemini-2.5-flash", "max", {**SHOWN, "thinkingBudget": 24576}),
    Thought("gemini-2.5-flash", "medium", {**SHOWN, "thinkingBudget": 10000}),
    Thought("gemini-3-pro", "medium", {**SHOWN, "thinkingLevel": "low"}),
    Thought("gemini-3-flash", "min", {**SHOWN, "thinkingLevel": "minimal"}),
    Thought("gemini-3-flash", "auto", SHOWN),
    Thought("gemini-2.5-flash-image", "high", None),
    Thought("gemma-3", "high", None),
)


@pytest.mark.parametrize("case", THOUGHTS, ids=lambda case: f"{case.model} {case.effort}")
def test_thought(case: Thought) -> None:
    """Newer models take a level of thought, older ones a budget within their bounds, the rest nothing."""
    body = google_body(
        provider_request(source="makersuite", model=case.model, reasoning_effort=case.effort, max_tokens=40000)
    )
    assert body["generationConfig"].get("thinkingConfig") == case.config


def test_body() -> None:
    """Five stop strings at most, no system text apart for models without a place for it, tools as declarations."""
    request = provider_request(
        source="makersuite",
        model="gemini-2.5-pro",
        stop=list("abcdefg"),
        use_sysprompt=True,
        tools=(TOOL,),
        seed=4,
        top_k=7,
    )
    body = google_body(request)
    config = body["generationConfig"]
    assert (config["stopSequences"], config["seed"], config["topK"]) == (list("abcde"), 4, 7)
    name, description = TOOL["function"]["name"], TOOL["function"]["description"]
    assert body["tools"] == [{"function_declarations": [{"name": name, "description": description}]}]


def test_a_model_without_system_text_and_tools() -> None:
    """Gemma 3 gets everything as the user's, and no tools."""
    request = provider_request(
        said("system", "a"), said("user", "b"), source="makersuite", model="gemma-3", use_sysprompt=True
    )
    body = google_body(request)
    assert body["contents"] == [content("user", {"text": "a\n\nb"})]
    assert not body.keys() & {"systemInstruction", "tools"}


def test_no_beginning_for_models_that_take_none() -> None:
    """The last message is the user's for models without sampling, whoever said it."""
    talk = conversion(said("user", "a"), said("assistant", "b"))
    assert convert_google(talk, model="gemini-3.6-flash")["contents"] == [content("user", {"text": "a\n\nb"})]
    body = google_body(provider_request(source="makersuite", model="gemini-3.6-flash"))
    assert not body["generationConfig"].keys() & {"temperature", "topP", "candidateCount"}


def test_pictures_asked_for() -> None:
    """A model that draws is asked for text and pictures, and gets neither system text apart nor tools."""
    asked: dict[str, Any] = {
        "request_images": True,
        "request_image_aspect_ratio": "16:9",
        "request_image_resolution": "2K",
    }
    request = provider_request(
        source="vertexai", model="gemini-3-pro-image", tools=(TOOL,), use_sysprompt=True, **asked
    )
    body = google_body(request)
    config = body["generationConfig"]
    assert config["responseModalities"] == ["text", "image"]
    assert config["imageConfig"] == {"aspectRatio": "16:9", "imageSize": "2K"}
    assert "tools" not in body
    assert len(body["safetySettings"]) == 10
