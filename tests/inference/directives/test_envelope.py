"""The envelope: its schema accepts what the validator accepts, and the model is told the same."""

import jsonschema
import pytest

from innkeeper.inference.directives.envelope import SCHEMA_NAME, instruction, repair_note, response_format, schema

GOOD = {"assistant_text": "Hi.", "directives": [{"type": "a", "payload": {"x": 1}}]}


def test_schema() -> None:
    """The schema is strict about the envelope and free about payloads."""
    validator = jsonschema.Draft202012Validator(schema(["a"]))
    validator.check_schema(schema(["a"]))
    assert validator.is_valid(GOOD)
    assert not validator.is_valid({**GOOD, "more": 1})
    assert not validator.is_valid({"assistant_text": "Hi."})
    assert not validator.is_valid({**GOOD, "directives": [{"type": "b", "payload": {}}]})
    assert not validator.is_valid({**GOOD, "directives": [{"type": "a", "payload": {}, "more": 1}]})
    assert jsonschema.Draft202012Validator(schema()).is_valid({**GOOD, "directives": [{"type": "b", "payload": {}}]})


@pytest.mark.parametrize(
    ("mode", "kind"), [("json_schema", "json_schema"), ("json_object", "json_object"), ("prompt_only", None)]
)
def test_response_format(mode: str, kind: str | None) -> None:
    """Each mode asks for structure in its way, or not at all."""
    form = response_format(mode, types=["a"])
    assert (form or {}).get("type") == kind
    if kind == "json_schema":
        assert form is not None
        assert form["json_schema"] == {"name": SCHEMA_NAME, "strict": True, "schema": schema(["a"])}


def test_texts() -> None:
    """The instruction names the keys and the types; the repair note names the code and the reasons."""
    text = instruction({"set_mood": "changes the mood", "show": ""})
    assert all(word in text for word in ("assistant_text", "directives", "- set_mood: changes the mood", "- show"))
    assert "Directive types" not in instruction()
    note = repair_note("INVALID_JSON", ["too short"])
    assert "INVALID_JSON" in note
    assert "- too short" in note
