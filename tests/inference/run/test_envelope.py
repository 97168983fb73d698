"""The directives envelope: asked for in each mode, found in whatever a model writes around it, read generously, in order."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.errors import AnswerError
from innkeeper.inference.run.envelope import (
    SCHEMA_NAME,
    Directive,
    DirectiveRules,
    DirectiveWarning,
    PatchOp,
    instruction,
    parse_object,
    patch_ops,
    reasons_of,
    repair_note,
    response_format,
    schema,
    validate,
)
from innkeeper.prompt import FrozenDict

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
        assert form["json_schema"] == {"name": SCHEMA_NAME, "strict": False, "schema": schema(["a"])}


def test_texts() -> None:
    """The instruction names the keys and the types; the repair note names the code and the reasons."""
    text = instruction({"set_mood": "changes the mood", "show": ""})
    assert all(word in text for word in ("assistant_text", "directives", "- set_mood: changes the mood", "- show"))
    assert "Directive types" not in instruction()
    note = repair_note("INVALID_JSON", ["too short"])
    assert "INVALID_JSON" in note
    assert "- too short" in note


KEYS = {
    "exact": ("assistant_text", True),
    "dashes": ("Assistant-Text", True),
    "spaces": ("ASSISTANT  text", True),
    "camel": ("assistantText", False),
    "other": ("text", False),
}


@pytest.mark.parametrize(("key", "found"), KEYS.values(), ids=KEYS)
def test_keys(key: str, found: bool) -> None:
    """Keys match regardless of case and of what separates words; not camel case, which has no separators."""
    value = {key: "Hi.", "Directives": []}
    if found:
        assert validate(value).assistant_text == "Hi."
        return
    with pytest.raises(AnswerError) as caught:
        validate(value)
    assert caught.value.code == "MISSING_ASSISTANT_TEXT"


def test_exact_keys_win() -> None:
    """A key that matches exactly wins over one that matches loosely."""
    assert validate({"Assistant-Text": "a", "assistant_text": "b", "directives": ()}).assistant_text == "b"


MISSING = {
    "no_text": ({"directives": []}, "MISSING_ASSISTANT_TEXT"),
    "text_of_another_kind": ({"assistant_text": 3, "directives": []}, "MISSING_ASSISTANT_TEXT"),
    "no_directives": ({"assistant_text": ""}, "MISSING_DIRECTIVES"),
    "directives_of_another_kind": ({"assistant_text": "", "directives": {}}, "MISSING_DIRECTIVES"),
}


@pytest.mark.parametrize(("value", "code"), MISSING.values(), ids=MISSING)
def test_missing(value: dict[str, Any], code: str) -> None:
    """An envelope without its parts is refused by code."""
    with pytest.raises(AnswerError) as caught:
        validate(value)
    assert caught.value.code == code


def failing(kind: str, payload: Any) -> Any:
    """A payload validator that has its opinions, and a defect."""
    if kind == "defect":
        raise KeyError("secret")
    return {"good": True, "fine": None, "clean": [], "bad": False, "why": "too long", "whys": ["a", "b"]}[kind]


RULES = {
    "open": DirectiveRules(),
    "allowed": DirectiveRules(allowed=("set_mood", "show")),
    "known": DirectiveRules(allowed=("show",), known=("show", "set_mood")),
    "aliases": DirectiveRules(allowed=("set_mood",), aliases={"mood": "set_mood"}),
    "none_allowed": DirectiveRules(allowed=()),
    "judged": DirectiveRules(payload_validator=failing),
}

ITEMS: dict[str, tuple[str, Any, Any]] = {
    "any_type": ("open", {"type": "x", "payload": {"a": 1}}, Directive("x", FrozenDict(a=1))),
    "type_is_stripped": ("open", {"Type": " x ", "PAYLOAD": {}}, Directive("x")),
    "not_an_object": ("open", "x", DirectiveWarning("DIRECTIVE_NOT_OBJECT", 0)),
    "no_type": ("open", {"payload": {}}, DirectiveWarning("MISSING_TYPE", 0)),
    "blank_type": ("open", {"type": " ", "payload": {}}, DirectiveWarning("MISSING_TYPE", 0)),
    "type_of_another_kind": ("open", {"type": 3, "payload": {}}, DirectiveWarning("MISSING_TYPE", 0)),
    "no_payload": ("open", {"type": "x"}, DirectiveWarning("MISSING_PAYLOAD", 0, "x")),
    "null_payload": ("open", {"type": "x", "payload": None}, DirectiveWarning("MISSING_PAYLOAD", 0, "x")),
    "payload_of_another_kind": ("open", {"type": "x", "payload": [1]}, DirectiveWarning("PAYLOAD_INVALID", 0, "x")),
    "allowed": ("allowed", {"type": "Set-Mood", "payload": {}}, Directive("set_mood")),
    "unknown": ("allowed", {"type": "fly", "payload": {}}, DirectiveWarning("UNKNOWN_DIRECTIVE_TYPE", 0, "fly")),
    "disallowed": (
        "known",
        {"type": "set mood", "payload": {}},
        DirectiveWarning("DISALLOWED_DIRECTIVE_TYPE", 0, "set mood"),
    ),
    "alias": ("aliases", {"type": "MOOD", "payload": {}}, Directive("set_mood")),
    "nothing_allowed": (
        "none_allowed",
        {"type": "x", "payload": {}},
        DirectiveWarning("UNKNOWN_DIRECTIVE_TYPE", 0, "x"),
    ),
    "good": ("judged", {"type": "good", "payload": {}}, Directive("good")),
    "fine": ("judged", {"type": "fine", "payload": {}}, Directive("fine")),
    "clean": ("judged", {"type": "clean", "payload": {}}, Directive("clean")),
    "bad": ("judged", {"type": "bad", "payload": {}}, DirectiveWarning("PAYLOAD_INVALID", 0, "bad", ("invalid",))),
    "why": ("judged", {"type": "why", "payload": {}}, DirectiveWarning("PAYLOAD_INVALID", 0, "why", ("too long",))),
    "whys": ("judged", {"type": "whys", "payload": {}}, DirectiveWarning("PAYLOAD_INVALID", 0, "whys", ("a", "b"))),
    "defect": (
        "judged",
        {"type": "defect", "payload": {}},
        DirectiveWarning("PAYLOAD_VALIDATOR_ERROR", 0, "defect", ("KeyError",)),
    ),
}


@pytest.mark.parametrize(("rules", "item", "expected"), ITEMS.values(), ids=ITEMS)
def test_items(rules: str, item: Any, expected: Any) -> None:
    """Each item is a directive, or a warning that says why it is none."""
    found = validate({"assistant_text": "", "directives": [item]}, RULES[rules])
    assert [*found.directives, *found.warnings] == [expected]


def test_the_good_ones_stay() -> None:
    """One bad directive does not spoil the others; warnings know its place."""
    items = [{"type": "a", "payload": {}}, None, {"type": "b", "payload": {"x": [1]}}]
    found = validate({"assistant_text": "Hi.", "directives": items})
    assert [(warning.code, warning.index) for warning in found.warnings] == [("DIRECTIVE_NOT_OBJECT", 1)]
    assert found.to_dict() == {"assistant_text": "Hi.", "directives": [items[0], items[2]]}


@pytest.mark.parametrize(
    ("verdict", "reasons"),
    [(None, ()), (True, ()), (False, ("invalid",)), ("a", ("a",)), ([1], ("1",)), ([], ()), (3, ("3",))],
)
def test_reasons(verdict: Any, reasons: tuple[str, ...]) -> None:
    """A validator may answer with nothing, a boolean, a reason or several."""
    assert reasons_of(verdict) == reasons


JSON = st.recursive(
    st.none() | st.text(max_size=4) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@given(st.lists(JSON | st.fixed_dictionaries({}, optional={"type": JSON, "payload": JSON})))
def test_any_items(items: list[Any]) -> None:
    """Whatever the items, each is a directive or a warning."""
    found = validate({"assistant_text": "", "directives": items}, RULES["aliases"])
    assert len(found.directives) + len(found.warnings) == len(items)


FOUND = {
    "bare": '{"a": 1}',
    "spaces": ' \n{"a": 1}\n',
    "mapping": {"a": 1},
    "fence": '```json\n{"a": 1}\n```',
    "directives_tag": '<directives>{"a": 1}</directives>',
    "json_tag_with_fence": 'Here:\n<JSON>\n```\n{"a": 1}\n```\n</JSON> so.',
    "prose": 'Here it is: {"a": 1}. Good?',
    "prose_and_fence": 'Here:\n```json\n{"a": 1}\n```\nGood?',
    "first_of_two": '{"a": 1} {"b": 2}',
    "braces_before": 'Use {curly} braces: {"a": 1}',
    "open_brace_before": 'A { and then {"a": 1}',
}


@pytest.mark.parametrize("content", FOUND.values(), ids=FOUND)
def test_good(content: Any) -> None:
    """The object is found."""
    assert parse_object(content) == {"a": 1}


def test_braces_in_strings() -> None:
    """Braces and quotes inside strings do not end an object."""
    value = {"a": '}"{', "b": {"c": "\\"}, "d": "`<json>`"}
    assert parse_object(f"So: {json.dumps(value)} and so.") == value


NOT_FOUND = {
    "nothing": (None, "EMPTY"),
    "empty": ("", "EMPTY"),
    "blank": (" \n", "EMPTY"),
    "number_kind": (3, "EMPTY"),
    "large": ('{"a": "%s"}' % ("x" * 200), "TOO_LARGE"),
    "large_in_bytes": ('{"a": "%s"}' % ("你" * 40), "TOO_LARGE"),
    "prose": ("I would rather not.", "INVALID_JSON"),
    "not_a_number": ('{"a": NaN}', "INVALID_JSON"),
    "too_large_a_number": ('{"a": 1e999}', "INVALID_JSON"),
    "not_a_number_in_a_mapping": ({"a": float("nan")}, "INVALID_JSON"),
    "cut": ('{"a": ', "INVALID_JSON"),
    "not_closed": ('Here: {"a": {"b": 1}', "INVALID_JSON"),
    "list": ("[1]", "NOT_OBJECT"),
    "text": ('"a"', "NOT_OBJECT"),
    "null": ("null", "NOT_OBJECT"),
    "list_in_a_fence": ("```\n[1]\n```", "NOT_OBJECT"),
    "deep": ("[" * 99, "INVALID_JSON"),
    "deep_and_whole": ("[" * 70 + "]" * 30, "INVALID_JSON"),
}


@pytest.mark.parametrize(("content", "code"), NOT_FOUND.values(), ids=NOT_FOUND)
def test_bad(content: Any, code: str) -> None:
    """Each failure has its code; broken JSON comes with a sample."""
    with pytest.raises(AnswerError) as caught:
        parse_object(content, max_bytes=100)
    assert caught.value.code == code
    assert ("sample" in caught.value.details) is (code == "INVALID_JSON")


@given(
    st.text('{}[]":,\\`<>/jsondirectv 1n\n', max_size=80)
    | st.text(st.characters(exclude_categories=()), max_size=40)
    | st.integers(1, 60).map(lambda n: '{"a":' * n)
    | st.integers(1, 2000).map(lambda n: "{" * n)
)
def test_any_answer(text: str) -> None:
    """Whatever a model writes, there is an object or the typed error."""
    try:
        assert isinstance(parse_object(text), dict)
    except AnswerError as error:
        assert error.code in {"EMPTY", "INVALID_JSON", "NOT_OBJECT"}  # noqa: PT017 - either is right


@given(
    st.dictionaries(st.text(max_size=5), st.text(max_size=8) | st.integers(), max_size=3),
    st.sampled_from(["", "x ", "```\n"]),
)
def test_objects_are_found(value: dict[str, Any], before: str) -> None:
    """An object written as JSON is found behind prose."""
    assert parse_object(before + json.dumps(value)) == value


PATCH_OPS_GOOD = {
    "set": ({"op": "set", "path": "/draft/title", "value": 1}, PatchOp("set", "/draft/title", 1)),
    "add": ({"op": "add", "path": "/draft/title", "value": 1}, PatchOp("set", "/draft/title", 1)),
    "replace": ({"op": " Replace ", "path": "/ui_state/tab", "value": None}, PatchOp("set", "/ui_state/tab")),
    "without_a_name": ({"path": "/draft/a", "value": 1}, PatchOp("set", "/draft/a", 1)),
    "relative": ({"op": "set", "path": "title", "value": [1]}, PatchOp("set", "/draft/title", (1,))),
    "delete": ({"op": "delete", "path": "a"}, PatchOp("delete", "/draft/a")),
    "remove": ({"op": "remove", "path": "a"}, PatchOp("delete", "/draft/a")),
    "rm": ({"op": "rm", "path": "a", "value": 3}, PatchOp("delete", "/draft/a")),
    "append": ({"op": "append", "path": "a", "value": 1}, PatchOp("append", "/draft/a", 1)),
    "push": ({"op": "push", "path": "a", "value": 1}, PatchOp("append", "/draft/a", 1)),
    "insert": ({"op": "insert", "path": "a", "value": 1, "index": 0}, PatchOp("insert", "/draft/a", 1, 0)),
    "index_as_text": ({"op": "insert", "path": "a", "value": 1, "index": "2"}, PatchOp("insert", "/draft/a", 1, 2)),
    "escapes": ({"op": "delete", "path": "a~0b~1c"}, PatchOp("delete", "/draft/a~0b~1c")),
}


@pytest.mark.parametrize(("op", "expected"), PATCH_OPS_GOOD.values(), ids=PATCH_OPS_GOOD)
def test_patch_ops_good(op: dict[str, Any], expected: PatchOp) -> None:
    """Aliases, missing names and relative paths are read."""
    assert patch_ops({"ops": [op]}) == (expected,)


BAD = {
    "no_object": (3, "INVALID_PATCH_OP"),
    "unknown": ({"op": "move", "path": "a"}, "INVALID_PATCH_OP"),
    "no_name_no_value": ({"path": "a"}, "INVALID_PATCH_OP"),
    "name_of_another_kind": ({"op": 3, "path": "a", "value": 1}, "INVALID_PATCH_OP"),
    "no_path": ({"op": "set", "value": 1}, "INVALID_PATCH_PATH"),
    "blank_path": ({"op": "set", "path": " ", "value": 1}, "INVALID_PATCH_PATH"),
    "elsewhere": ({"op": "set", "path": "/etc/passwd", "value": 1}, "INVALID_PATCH_PATH"),
    "only_the_prefix": ({"op": "set", "path": "/draft/", "value": 1}, "INVALID_PATCH_PATH"),
    "upwards": ({"op": "set", "path": "/draft/../x", "value": 1}, "INVALID_PATCH_PATH"),
    "bad_escape": ({"op": "set", "path": "a~2", "value": 1}, "INVALID_PATCH_PATH"),
    "no_value": ({"op": "set", "path": "a"}, "MISSING_PATCH_VALUE"),
    "no_index": ({"op": "insert", "path": "a", "value": 1}, "INVALID_PATCH_INDEX"),
    "negative": ({"op": "insert", "path": "a", "value": 1, "index": -1}, "INVALID_PATCH_INDEX"),
    "boolean": ({"op": "insert", "path": "a", "value": 1, "index": True}, "INVALID_PATCH_INDEX"),
    "word": ({"op": "insert", "path": "a", "value": 1, "index": "two"}, "INVALID_PATCH_INDEX"),
}


@pytest.mark.parametrize(("op", "code"), BAD.values(), ids=BAD)
def test_patch_ops_bad(op: Any, code: str) -> None:
    """Each mistake has its code and the operation's place."""
    with pytest.raises(AnswerError) as caught:
        patch_ops({"ops": [{"op": "delete", "path": "a"}, op]})
    assert (caught.value.code, caught.value.details["index"]) == (code, 1)


@pytest.mark.parametrize("payload", [{}, {"ops": []}, {"ops": {}}, {"ops": None}])
def test_no_operations(payload: dict[str, Any]) -> None:
    """A patch without operations is none."""
    with pytest.raises(AnswerError) as caught:
        patch_ops(payload)
    assert caught.value.code == "MISSING_OPS"


def test_own_prefixes() -> None:
    """Other places can be given; relative paths go under the first."""
    assert patch_ops({"ops": [{"op": "rm", "path": "x"}]}, ["/world/"])[0].path == "/world/x"


ANY = st.none() | st.integers() | st.text(max_size=6) | st.sampled_from(["set", "insert", "a", "/draft/x"])


@given(st.lists(st.dictionaries(st.sampled_from(["op", "path", "value", "index"]), ANY)))
def test_any_operations(ops: list[dict[str, Any]]) -> None:
    """Whatever a model asks for, there are operations under the prefixes, or the typed error."""
    try:
        found = patch_ops({"ops": ops})
    except AnswerError:
        return
    assert all(op.path.startswith(("/draft/", "/ui_state/")) for op in found)
