"""Wire cases that others wrote for their own runtimes: the same input gives the bodies they expect of OpenAI and Anthropic."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import pytest

from innkeeper.dialects import DIALECTS
from innkeeper.prompt import Attachment, Message, Tool
from tests import shared

VECTORS: Final = "fixtures/prompty/vectors.json"

SKIPPED: Final = {
    "embedding_wire": "an embedding request is not a prompt",
    "image_wire": "an image request is not a prompt",
}

OPTIONS: Final = {
    "temperature": "temperature",
    "topP": "top_p",
    "topK": "top_k",
    "maxOutputTokens": "max_tokens",
    "frequencyPenalty": "frequency_penalty",
    "presencePenalty": "presence_penalty",
    "seed": "seed",
    "stopSequences": "stop",
    "additionalProperties": "extra",
}
"""Their option names -> ours."""

TYPES: Final = {"float": "number"}


@dataclass(frozen=True)
class Case:
    id: str
    dialect: str
    given: dict[str, Any]
    body: dict[str, Any]


@cache
def cases() -> list[Case]:
    """The cases, none where the vectors are absent."""
    path = shared.find(VECTORS)
    if path is None:
        return []
    found = [item["vector"] for item in json.loads(path.read_bytes())["vectors"] if item["operation"] == "toRequest"]
    return [_case(vector) for vector in found if vector["name"] not in SKIPPED]


def _case(vector: dict[str, Any]) -> Case:
    dialect = {"responses": "responses"}.get(vector["targetApi"], vector["provider"])
    return Case(vector["name"], dialect, vector["input"], vector["expected"]["request_body"])


def message(found: dict[str, Any]) -> Message:
    """Their message of parts as ours."""
    texts = [part["value"] for part in found["content"] if part["kind"] == "text"]
    media = tuple(_attachment(part) for part in found["content"] if part["kind"] != "text")
    return Message(found["role"], "\n".join(texts), attachments=media)


def _attachment(part: dict[str, Any]) -> Attachment:
    is_address = part["value"].startswith(("http", "data:"))
    place = {"url": part["value"]} if is_address else {"data": part["value"]}
    return Attachment(kind=part["kind"], media_type=part.get("mediaType"), **place)


def tool(found: dict[str, Any]) -> Tool:
    """Their tool of properties as ours with a JSON Schema; parameters that the application binds are not the model's."""
    listed = [each for each in found["parameters"] if each["name"] not in found.get("bindings", {})]
    schema = _object(listed)
    if found.get("strict"):
        schema["additionalProperties"] = False
    return Tool(found["name"], found["description"], schema, found.get("strict"))


def _object(listed: list[dict[str, Any]]) -> dict[str, Any]:
    required = [each["name"] for each in listed if each.get("required")]
    properties = {each["name"]: _property(each) for each in listed}
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _property(found: dict[str, Any]) -> dict[str, Any]:
    inner = {"items": _property(found["items"])} if "items" in found else {}
    return {"type": TYPES.get(found["kind"], found["kind"]), **inner}


def options(case: Case) -> dict[str, Any]:
    """Their options as ours; their declared outputs as a response format with a strict schema."""
    found = {OPTIONS[name]: value for name, value in case.given["options"].items()}
    if case.given["outputs"]:
        schema = _strict(case.given["outputs"])
        form = {"name": "structured_output", "schema": schema, "strict": True}
        found["response_format"] = {"type": "json_schema", "json_schema": form}
    return found


def _strict(listed: list[dict[str, Any]]) -> dict[str, Any]:
    """Every property required, optional ones nullable, as strict schemas are."""
    return {
        "type": "object",
        "properties": {each["name"]: _strict_property(each) for each in listed},
        "required": [each["name"] for each in listed],
        "additionalProperties": False,
    }


def _strict_property(found: dict[str, Any]) -> dict[str, Any]:
    if found["kind"] == "object":
        return _strict(found["properties"])
    return {"type": found["kind"] if found.get("required") else [found["kind"], "null"]}


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_the_body_is_the_one_they_expect(case: Case) -> None:
    """A wire case of the shared vectors gives its expected request body, no more and no less."""
    payload = DIALECTS[case.dialect].request(
        [message(found) for found in case.given["messages"]],
        model=case.given["model_id"],
        options=options(case),
        tools=[tool(found) for found in case.given["tools"]],
    )
    assert payload.body == case.body


def test_the_cases_are_there() -> None:
    """The test above does not pass for want of cases, and each one left out has a reason."""
    shared.need(VECTORS)
    assert len(cases()) == 26
    assert {case.dialect for case in cases()} == {"openai", "responses", "anthropic"}
