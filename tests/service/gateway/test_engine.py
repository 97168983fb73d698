"""Custom macros: bound to harmless operations, bounded, and gone when cleared."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from inspect import signature
from typing import Any

import pytest

from innkeeper.service import Gateway, Request, Settings
from innkeeper.service.errors import MAX_MACROS
from innkeeper.service.gateway.engine import EngineFunction
from innkeeper.service.gateway.operation import ByName
from innkeeper.service.gateway.operations import OPERATIONS
from tests.service.gateway.calls import JSON_HEADERS, post

MACRO = "modules/smarttavern/macro"


def register(gateway: Gateway, *pairs: tuple[str, str]) -> Any:
    """Register macros."""
    macros = [{"name": name, "handler_api": handler} for name, handler in pairs]
    return post(gateway, f"{MACRO}/register", {"macros": macros})[1]


def text(gateway: Gateway, source: str) -> str:
    """A text, expanded."""
    found = post(gateway, f"{MACRO}/process_text", {"text": source})[1]["text"]
    assert isinstance(found, str)
    return found


def test_life() -> None:
    """A macro is listed and works until it is cleared, in its own application only."""
    gateway, other = Gateway(), Gateway()
    handlers = {"shout": "modules:smarttavern/macro/process_text", "sum": "smarttavern/python_sandbox/eval"}
    assert register(gateway, *handlers.items()) == {"success": True, "count": 2}
    assert post(gateway, f"{MACRO}/list", {})[1] == {"success": True, "items": handlers}
    assert text(gateway, "{{SHOUT:a b}}|{{sum:1+2}}") == "a b|3"
    assert text(other, "{{shout:a}}") == "{{shout:a}}"
    assert post(gateway, f"{MACRO}/clear", {})[1] == {"success": True}
    assert text(gateway, "{{shout:a}}") == "{{shout:a}}"


def test_no_recursion() -> None:
    """A macro that names itself ends."""
    gateway = Gateway()
    register(gateway, ("again", "smarttavern/macro/process_text"))
    assert "again" in text(gateway, "{{setvar:x:<<again:<<getvar:x>>>>}}{{again:{{getvar:x}}}}") + "again"


@pytest.mark.parametrize(
    ("name", "handler", "kind"),
    [
        ("x", "modules:no/such", "unknown_name"),
        ("x", "modules:smarttavern/chat_branches/update_message", "usage"),
        ("x", "modules:smarttavern/data_catalog/get_data_asset", "usage"),
        ("x", "modules:smarttavern/macro/clear", "usage"),
        ("x", "modules:smarttavern/macro/register", "usage"),
        (" ", "modules:smarttavern/macro/list", "request"),
        ("x" * 100, "modules:smarttavern/macro/list", "request"),
    ],
)
def test_refused(name: str, handler: str, kind: str) -> None:
    """Only operations that change and read nothing can be macros."""
    gateway = Gateway()
    assert register(gateway, (name, handler))["problem"]["kind"] == kind
    assert post(gateway, f"{MACRO}/list", {})[1]["items"] == {}


def test_bounded() -> None:
    """There is a limit to how many an application keeps."""
    gateway = Gateway()
    many = [(f"m{number}", "smarttavern/macro/list") for number in range(MAX_MACROS + 1)]
    assert register(gateway, *many)["problem"]["details"]["limit"] == "MAX_MACROS"
    assert register(gateway, *many[1:])["success"] is True
    assert register(gateway, many[0])["problem"]["kind"] == "limit"


ENGINE_MACRO = "modules/smarttavern/macro"
TEXT = f"{ENGINE_MACRO}/process_text"
CONSTRUCT = "modules/smarttavern/in_chat_constructor/construct"


def test_construct_explains_every_entry() -> None:
    """Each entry has a verdict: kept, with its place, or the rule that stopped it."""
    books = [{"id": 1, "content": "a", "enabled": False}, {"id": 2, "content": "b"}]
    asked = {"history": [], "presets_in_chat": [{"position": "relative", "content": "x"}], "world_books": books}
    _, told = post(Gateway(), CONSTRUCT, asked, X_Innkeeper_Explain="1")
    assert [(verdict["reason"], verdict["fired"]) for verdict in told["verdicts"]] == [
        ("position", False),
        ("disabled", False),
        ("kept", True),
    ]
    assert told["notes"] == []


def test_python_switch() -> None:
    """Without python neither the macro nor the sandbox runs."""
    gateway = Gateway(Settings(python=False))
    assert post(gateway, "modules/smarttavern/python_sandbox/eval", {"code": "1"})[1]["success"] is False
    assert post(gateway, TEXT, {"text": "{{python:1+1}}"})[1]["text"] != "2"


@pytest.mark.parametrize("profile", ["fixed", "smarttavern"])
def test_profiles(profile: str) -> None:
    """Only the original's profile runs macros that a value brings in."""
    body = {"text": "{{getvar:x}}", "variables": {"x": "{{upper:a}}"}}
    _, said = post(Gateway(Settings(profile=profile)), TEXT, body)
    assert said["text"] == ("A" if profile == "smarttavern" else "{{upper:a}}")


@pytest.mark.parametrize("profile", ["fixed", "smarttavern"])
def test_race(profile: str) -> None:
    """Three hundred runs at once, whose conditions set variables within variables, give one answer."""
    condition = "{{setvar:a.b[0]:{{getvar:seed}}}}{{python:int(getvar('a.b[0]')) == 7}}"
    entries = [
        {"id": number, "mode": "conditional", "condition": condition, "content": f"c{number}", "position": "system"}
        for number in range(5)
    ]
    variables = {"seed": 7, "a": {"b": [0]}}
    body = {"history": [], "presets_in_chat": [], "world_books": entries, "variables": variables}
    gateway = Gateway(Settings(profile=profile))
    asked = Request.of("POST", f"/api/{CONSTRUCT}", JSON_HEADERS, json.dumps(body).encode())
    with ThreadPoolExecutor(16) as pool:
        answers = set(pool.map(lambda _: gateway.answer(asked).body, range(300)))
    [answer] = answers
    assert [message["content"] for message in json.loads(answer)["messages"]] == ["c0", "c1", "c2", "c3", "c4"]


COLD = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
from innkeeper.service import Gateway, Request

gateway, known = Gateway(), set(sys.modules)

def ask(path, **body):
    return json.loads(gateway.answer(Request.of("POST", "/api/" + path, json.loads(sys.argv[1]), json.dumps(body).encode())).body)

smart, text = "modules/smarttavern/", "{{python:re.sub('a', 'b', 'a')}}<<keywords:a>>{{roll:1d6}}"
said = [{"role": "user", "content": text}]
book = [{"content": "x", "mode": "conditional", "condition": text}]
rules = {"regex_rules": [{"enabled": True, "placement": "before_macro", "views": ["user_view"], "find_regex": "a{2}"}]}
calls = [
    (smart + "in_chat_constructor/construct", {"history": said, "presets_in_chat": [], "world_books": book}),
    (smart + "framing_prompt/assemble", {"history": said, "world_books": book}),
    (smart + "macro/process", {"messages": said}),
    (smart + "macro/process_text_batch", {"texts": [text]}),
    (smart + "python_sandbox/eval", {"code": "1 + 1"}),
    (smart + "assets_normalizer/normalize", {"preset": {}, "world_books": {}, "character": {}, "regex_files": []}),
    (smart + "chat_branches/branch_table", {"doc": {"roots": ["r"], "nodes": {"r": {}}}}),
    ("workflow/smarttavern/prompt_raw/assemble_full", {"presets": {}, "history": said}),
    ("workflow/smarttavern/prompt_postprocess/apply", {"messages": said, "view": "user_view", **rules}),
]
with ThreadPoolExecutor(16) as pool:
    answers = list(pool.map(lambda call: ask(call[0], **call[1]), calls * 4))
late = sorted(name for name in set(sys.modules) - known if name.partition(".")[0] in {"innkeeper", "regex"})
print(json.dumps([late, [answer for answer in answers if answer.get("error") or "error_code" in answer]]))
"""


def test_calls_import_nothing() -> None:
    """In a new process, calls of all kinds in many threads find what they need imported, and none is an error."""
    done = subprocess.run(
        [sys.executable, "-c", COLD, json.dumps(JSON_HEADERS)], capture_output=True, text=True, check=True, timeout=120
    )
    assert json.loads(done.stdout) == [[], []]


ENGINE = {
    name: path.operation.run.function
    for name, path in OPERATIONS.items()
    if isinstance(path.operation.run, ByName) and isinstance(path.operation.run.function, EngineFunction)
}


@pytest.mark.parametrize("name", sorted(ENGINE))
def test_engine_takes_the_arguments(name: str) -> None:
    """The function of the engine has a parameter for each argument, and every one without a default is an argument."""
    operation = OPERATIONS[name]
    parameters = signature(ENGINE[name].function).parameters
    needed = {parameter.name for parameter in parameters.values() if parameter.default is parameter.empty}
    assert needed <= set(operation.required)
    assert {*operation.types, *ENGINE[name].extras} <= set(parameters)
