"""Custom macros: bound to harmless operations, bounded, and gone when cleared."""

from typing import Any

import pytest

from innkeeper.service import Gateway
from innkeeper.service.limits import MAX_MACROS
from tests.service.gateway.calls import post

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
