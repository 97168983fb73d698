"""Texts as scripts leave them outside of a prompt."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.content.regex_script import ScriptPlacement
from innkeeper.prompt.errors import UnknownNameError, UsageError
from innkeeper.taverns.silly import display_text, stored_text
from tests.taverns.silly.builds import build, card, request


def script(find: str, replace: str, **fields: Any) -> dict[str, Any]:
    """A script for what is said, stored unless the fields say otherwise."""
    named = {"scriptName": "s", "findRegex": find, "replaceString": replace, "trimStrings": [], "placement": [1, 2]}
    return {**named, **fields}


def test_stored_and_shown() -> None:
    """Scripts without flags make what is kept, those for display what is shown, those for prompts neither."""
    listed = script("a", "1"), script("b", "2", markdownOnly=True), script("c", "3", promptOnly=True)
    asked = request(settings={"regex": listed})
    assert stored_text(asked, "abc").text == "1bc"
    assert display_text(asked, "abc").text == "a2c"
    assert stored_text(request(), "abc").text == "abc"


def test_edits() -> None:
    """On an edit only those scripts run that say so."""
    asked = request(settings={"regex": [script("a", "1"), script("b", "2", runOnEdit=True)]})
    assert stored_text(asked, "ab", edited=True).text == "a2"


@pytest.mark.parametrize(
    ("placement", "text"), [("user_input", "1"), ("slash_command", "a"), (ScriptPlacement.AI_OUTPUT, "1")]
)
def test_placements(placement: Any, text: str) -> None:
    """A placement is a value or its name; another name is refused."""
    asked = request(settings={"regex": [script("a", "1")]})
    assert stored_text(asked, "a", placement).text == text
    with pytest.raises(UnknownNameError):
        stored_text(asked, "a", "nowhere")  # type: ignore[arg-type]


def test_depths_of_what_is_shown() -> None:
    """Limits of depths hold for what is shown where its depth is known."""
    asked = request(settings={"regex": [script("a", "1", markdownOnly=True, maxDepth=1)]})
    assert [display_text(asked, "a", depth=depth).text for depth in (None, 1, 2)] == ["1", "1", "a"]


def test_variables_and_notes() -> None:
    """What macros did and what was not run comes back beside the text; nothing of the request changes."""
    own = [script("a", "b")]
    asked = request(
        character=card(extensions={"regex_scripts": own}), settings={"regex": [script("a", "{{incvar::n}}")]}
    )
    scripted = stored_text(asked, "a")
    assert (scripted.text, scripted.variables["local"]) == ("1", {"n": 1})
    assert any("not allow" in note.message for note in scripted.notes)
    assert asked.variables == {}


def test_a_greeting_is_stored() -> None:
    """A greeting passes the scripts before its macros; in a group it does not."""
    fields: dict[str, Any] = {"greeting": 0, "settings": {"regex": [script("Sam", "x"), script("Hi", "Ho")]}}
    assert build(character=card(first_mes="Hi {{user}}"), **fields).greeting == "Ho Sam"
    group = {"members": [{"card": card(first_mes="Hi {{user}}")}], "speaker": 0}
    assert build(character=None, group=group, **fields).greeting == "Hi Sam"


def test_what_is_typed_is_stored() -> None:
    """The plan has the user's words as they are kept."""
    plan = build(message="a {{user}}", settings={"regex": [script("a", "b")]})
    assert plan.stored is not None
    assert plan.stored["message"] == "b Sam"


@pytest.mark.parametrize("value", [None, 5, ["a"]])
def test_what_is_not_a_text(value: Any) -> None:
    """Anything but a text is an error of the caller's, whether scripts would run on it or not."""
    for run in (stored_text, display_text):
        with pytest.raises(UsageError, match="a text for scripts is text"):
            run(request(settings={"regex": [script("a", "1")]}), value)
