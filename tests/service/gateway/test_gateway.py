"""Arguments: bodies, forms and queries are read as the original reads them, within limits."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt.allowance import BuildLimits
from innkeeper.service import Gateway, Request, Settings
from innkeeper.service.gateway.operations import OPERATIONS
from tests.service.gateway.calls import get, post
from tests.service.programs import DOCUMENT
from tests.shared import VECTORS

MACRO = "modules/smarttavern/macro"
TEXT = f"{MACRO}/process_text"
CONSTRUCT = "modules/smarttavern/in_chat_constructor/construct"

FORM = (
    b'--XX\r\nContent-Disposition: form-data; name="text"\r\n\r\n{{upper:d}}\r\n'
    b'--XX\r\nContent-Disposition: form-data; name="other"\r\n\r\nx\r\n--XX\r\nbroken\r\n--XX--'
)


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain", b"[{{upper:a}}]", "[A]"),
        ("application/x-www-form-urlencoded", b'{"text": "{{upper:b}}"}', "B"),
        ("application/x-www-form-urlencoded", b"{not json", "{not json"),
        ("application/x-www-form-urlencoded", b"a=b", "a=b"),
        ("application/octet-stream", b"\xff", "\ufffd"),
        ("application/vnd.x+json; charset=utf-8", b'{"text": "c"}', "c"),
        (
            "multipart/form-data; boundary=XX",
            FORM,
            "D",
        ),
    ],
)
def test_other_bodies(kind: str, body: bytes, text: str) -> None:
    """Forms, plain texts and what `curl -d` sends are read as the original reads them."""
    reply = Gateway().answer(Request.of("POST", f"/api/{TEXT}", {"content-type": kind}, body))
    assert json.loads(reply.body)["text"] == text


@pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary="])
def test_broken_forms(kind: str) -> None:
    """A form without a boundary has no fields."""
    reply = Gateway().answer(Request.of("POST", f"/api/{TEXT}", {"content-type": kind}, b"x"))
    assert json.loads(reply.body)["missing"] == ["text"]


def test_untyped_body() -> None:
    """An object of JSON is read also where nothing says that it is one."""
    body = json.dumps(DOCUMENT).encode()
    reply = Gateway().answer(Request.of("POST", f"/api/{CONSTRUCT}", {}, body))
    assert len(json.loads(reply.body)["messages"]) == 4


def test_query_names() -> None:
    """Query keys are put in snake case."""
    target = "/api/modules/smarttavern/chat_branches/retry_user_message?userNodeId=u"
    assert get(Gateway(), target) == (200, {"error": "Either 'doc' or 'file' must be provided"})


def test_get_takes_what_post_takes() -> None:
    """Arguments that are no texts stand in a query as JSON; a text stays one, and what is no JSON does not fit."""
    query = urlencode({name: json.dumps(value) for name, value in DOCUMENT.items()})
    assert get(Gateway(), f"/api/{CONSTRUCT}?{query}") == post(Gateway(), CONSTRUCT, DOCUMENT)
    assert get(Gateway(), f"/api/{TEXT}?text=%5B1%5D") == post(Gateway(), TEXT, {"text": "[1]"})
    query = urlencode(dict.fromkeys(DOCUMENT, "none"))
    status, refusal = get(Gateway(), f"/api/{CONSTRUCT}?{query}")
    assert (status, refusal["error_code"]) == (400, "INVALID_REQUEST")


def test_not_a_number() -> None:
    """``NaN``, which Python's parser takes and JSON does not have, is refused in the same envelope."""
    status, said = post(Gateway(), TEXT, b'{"text": NaN}')
    assert (status, list(said)) == (200, ["error"])


def test_deep_and_large_bodies() -> None:
    """Nesting and size of a body have limits with names."""
    deep = b'{"text": "a", "variables": ' + b'{"a":' * 80 + b"1" + b"}" * 81
    small = Gateway(Settings(max_body=1_000))
    for gateway, body, limit in (
        (Gateway(), deep, "json_depth"),
        (small, b'{"text": "' + b"a" * 2_000 + b'"}', "file_bytes"),
    ):
        status, said = post(gateway, TEXT, body)
        assert (status, said["problem"]["details"]["limit"]) == (413, limit)


@given(
    body=st.binary(max_size=60),
    kind=st.sampled_from(["application/json", "text/plain", "multipart/form-data; boundary=a"]),
)
def test_any_bytes(body: bytes, kind: str) -> None:
    """Any bytes of any kind get an answer."""
    reply = Gateway().answer(Request.of("POST", f"/api/{CONSTRUCT}", {"content-type": kind}, body))
    assert reply.status in {200, 400, 413, 422}
    assert isinstance(json.loads(reply.body), dict)


CASES = json.loads((VECTORS / "smart" / "gateway.json").read_text(encoding="utf-8"))
GATEWAY_MACRO = "modules/smarttavern/macro"
GATEWAY_TEXT = f"{GATEWAY_MACRO}/process_text"
GATEWAY_CONSTRUCT = "modules/smarttavern/in_chat_constructor/construct"

OTHERWISE: dict[str, Any] = {
    # The document takes arrays of books (3-smarttavern, *input*); the original ignored them.
    "construct_array_world_books": lambda body: [m["content"] for m in body["messages"]] == ["hi", "x"],
    # A typed error of ours, with the place, stands for the original's leak.
    "index_error_200": lambda body: (
        (body["problem"]["kind"], body["problem"]["where"]["path"]) == ("macro_argument", "a[-1]")
    ),
    # Functions and what is no finite number cannot be stored: the sandbox refuses them.
    "function_value_serialised_as_empty_object": lambda body: body["variables"]["final"] == {},
    "health": lambda body: body["status"] == "healthy",
}
"""Where we answer otherwise on purpose."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with the preset of the recording."""
    place = tmp_path / "data" / "presets" / "默认预设"
    place.mkdir(parents=True)
    (place / "preset.json").write_text(json.dumps({"name": "默认预设", "description": "这是默认预设的描述"}))
    return tmp_path / "data"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_recorded_exchange(case: dict[str, Any], data: Path) -> None:
    """The reply is the original's, byte for byte of its JSON, but for the listed ones."""
    asked, expected = case["input"], case["expected"]
    body = asked["body"]
    raw = b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    reply = Gateway(Settings(data=data)).answer(Request.of(asked["method"], asked["path"], asked["headers"], raw))
    said = json.loads(reply.body)
    if case["name"] in OTHERWISE:
        assert OTHERWISE[case["name"]](said)
    else:
        assert (reply.status, said) == (expected["status"], expected["body"])


WRONG = {
    "history a text": ({**DOCUMENT, "history": "hi"}, ["history"]),
    "a message no object": ({**DOCUMENT, "history": [{"role": "user", "content": "a"}, 3]}, ["history[1]"]),
    "books a number": ({**DOCUMENT, "world_books": 3}, ["world_books"]),
    "two places": ({**DOCUMENT, "presets_in_chat": {}, "variables": []}, ["presets_in_chat", "variables"]),
    "required null": ({**DOCUMENT, "history": None}, ["history"]),
}


@pytest.mark.parametrize(("body", "paths"), WRONG.values(), ids=WRONG)
def test_wrong_shapes(body: dict[str, Any], paths: list[str]) -> None:
    """A container of the wrong type is refused with each place, what is wrong there and a hint."""
    status, said = post(Gateway(), GATEWAY_CONSTRUCT, body)
    assert (status, said["error_code"]) == (400, "INVALID_REQUEST")
    assert [error["path"] for error in said["errors"]] == paths
    assert all(error["message"] and error["hint"] for error in said["errors"])
    assert (said["problem"]["kind"], said["problem"]["where"]["path"]) == ("request", paths[0])


TOLERATED = {
    "content converted": {**DOCUMENT, "history": [{"role": "user", "content": 3}]},
    "entries skipped": {**DOCUMENT, "presets_in_chat": [3, None, "x"], "world_books": [[None, 3]]},
    "variables null": {**DOCUMENT, "variables": None},
}


@pytest.mark.parametrize("body", TOLERATED.values(), ids=TOLERATED)
def test_tolerated(body: dict[str, Any]) -> None:
    """What the document converts or skips is not refused."""
    status, said = post(Gateway(), GATEWAY_CONSTRUCT, body)
    assert (status, list(said)) == (200, ["messages"])


def test_domain_error() -> None:
    """An operation's own error is 200 with the original's text, and the error as it shows everywhere."""
    status, said = post(Gateway(), GATEWAY_CONSTRUCT, {**DOCUMENT, "history": [{"role": "wizard", "content": "x"}]})
    assert (status, said["error"]) == (200, said["problem"]["message"])
    assert "wizard" in said["error"]
    assert said["problem"]["where"]["path"] == "history[0].role"


def test_domain_error_as_the_original_has_it() -> None:
    """With the original's profile a body has nothing beside the original's keys."""
    body = {**DOCUMENT, "history": [{"role": "Wizard", "content": "x"}]}
    said = post(Gateway(Settings(profile="smarttavern")), GATEWAY_CONSTRUCT, body)
    assert said == (200, {"error": "invalid message role at history[0]: wizard"})


RECORDED = {
    "framing.json": {"framing_prompt.assemble": "modules"},
    "macro.json": {"macro.process": "modules", "macro.process_text_batch": "modules"},
    "other.json": {
        "assets_normalizer.merge_regex": "modules",
        "assets_normalizer.normalize": "modules",
        "chat_branches.append_message": "modules",
        "prompt_postprocess.apply": "workflow",
        "prompt_raw.assemble_full": "workflow",
        "regex_replace.apply_messages": "modules",
        "regex_replace.apply_text": "modules",
    },
}


@pytest.mark.parametrize(
    ("file", "call", "namespace"),
    [(file, call, namespace) for file, calls in RECORDED.items() for call, namespace in calls.items()],
)
def test_recorded_operation(file: str, call: str, namespace: str) -> None:
    """An operation's recorded cases come out the same through the gateway, arguments and all."""
    cases = json.loads((VECTORS / "smart" / file).read_text(encoding="utf-8"))
    gateway = Gateway(Settings(profile="smarttavern"))
    held = [
        case
        for case in cases
        if case["call"] == call and "expected" in case and not set(case) & {"seed", "accept_text"}
    ]
    for case in held:
        body = {{"rules": "regex_rules"}.get(name, name): value for name, value in case["input"].items()}
        if OPERATIONS[f"{namespace}/smarttavern/{call.replace('.', '/')}"].problems(body):
            continue  # the library takes what the gateway refuses
        moment = {"X_Innkeeper_Now": case["clock"]} if "clock" in case else {}
        reply = post(gateway, f"{namespace}/smarttavern/{call.replace('.', '/')}", body, **moment)
        assert reply == (200, case["expected"]), case["name"]
    assert held


EXTRACTED = {
    "extract_preset_regex": {"preset": {"regex_rules": [{"id": "a"}]}},
    "extract_character_regex": {"character": {"regex_rules": [{"id": "a"}]}},
    "extract_character_world_book": {"character": {"world_book": {"entries": [{"id": "a"}]}}},
    "merge_world_books": {"world_books": {"entries": [{"id": "a"}]}},
}


@pytest.mark.parametrize("name", EXTRACTED)
def test_assets(name: str) -> None:
    """Rules and entries are found in assets."""
    status, said = post(Gateway(), f"modules/smarttavern/assets_normalizer/{name}", EXTRACTED[name])
    found = said.get("regex_rules") or said.get("entries") or said.get("world_book")
    assert (status, [item["id"] for item in found]) == (200, ["a"])


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("POST", "/api/health", 405), ("GET", "/api/", 404), ("GET", "/", 404), ("HEAD", f"/api/{GATEWAY_TEXT}", 405)],
)
def test_missing_paths(method: str, path: str, status: int) -> None:
    """What is not there is 404; what is there for other methods is 405 and says which."""
    reply = Gateway().answer(Request.of(method, path))
    assert reply.status == status
    assert ("allow" in reply.headers) == (status == 405)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
SAFE = sorted(name for name, operation in OPERATIONS.items() if operation.effect == "pure")


@given(name=st.sampled_from(SAFE), draw=st.data())
def test_any_arguments(name: str, draw: st.DataObject) -> None:
    """Any JSON as any argument gets an answer that is no defect."""
    known = list(OPERATIONS[name].types)
    body = {argument: draw.draw(PLAIN) for argument in known}
    status, said = post(Gateway(), name, body)
    assert status in {200, 400, 413}
    assert isinstance(said, dict)


@pytest.mark.parametrize(
    ("operator", "caller", "asked", "passes"),
    [
        (BuildLimits(), None, None, True),
        (BuildLimits(steps=100), None, None, False),
        (BuildLimits(), BuildLimits(steps=100), None, False),
        (BuildLimits(), None, "steps=100, seconds=1", False),
        (BuildLimits(steps=100), BuildLimits(steps=10**9), "steps=100000000", False),
        (BuildLimits(steps=10**9), None, "steps=100", False),
    ],
)
def test_limits(operator: BuildLimits, caller: BuildLimits | None, asked: str | None, *, passes: bool) -> None:
    """The operator's, the caller's and the request's limits hold together: the lowest counts, and nobody asks for more."""
    headers = {"content-type": "application/json"} | ({} if asked is None else {"x-innkeeper-limits": asked})
    body = json.dumps({"text": "{{upper:a}}" * 200}).encode()
    gateway = Gateway(Settings(limits=operator))
    reply = json.loads(gateway.answer(Request.of("POST", f"/api/{TEXT}", headers, body), caller).body)
    assert (reply["text"] == "A" * 200) is passes


def test_limits_that_are_none() -> None:
    """A header that says no limits is refused, with how to write them."""
    headers = {"content-type": "application/json", "x-innkeeper-limits": "minutes=1"}
    reply = Gateway().answer(Request.of("POST", f"/api/{TEXT}", headers, b'{"text": "a"}'))
    assert reply.status == 400
    assert b"seconds=5" in reply.body
