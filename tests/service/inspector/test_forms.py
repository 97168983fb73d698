"""The forms of the page: every field of what is read is in one, and stands where it is read from."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

import msgspec
import pytest

from innkeeper.content.character import Character
from innkeeper.content.json.document import Document
from innkeeper.content.lorebook import Lorebook
from innkeeper.content.persona import read_personas
from innkeeper.content.preset import Preset
from innkeeper.content.regex_script import RegexScripts
from tests.shared import ROOT

WRITER = runpy.run_path(str(ROOT / "scripts" / "inspector_forms.py"))
FORMS: Mapping[str, Any] = WRITER["FORMS"]
FIELDS: Mapping[str, list[dict[str, Any]]] = WRITER["forms"]()["forms"]


def test_forms_are_current() -> None:
    """``inspector/src/files/forms.json`` is what `scripts/inspector_forms.py` writes."""
    assert WRITER["WRITTEN"].read_text(encoding="utf-8") == WRITER["written"]()


@pytest.mark.parametrize("name", FORMS)
def test_every_field_is_in_a_form(name: str) -> None:
    """A field of a struct is in its form, once, or it is said to be edited elsewhere."""
    form = FORMS[name]
    own = {field.name for field in msgspec.structs.fields(form.struct)} - WRITER["NO_FIELDS"]
    names = [field["name"] for field in FIELDS[name]]
    assert len(names) == len(set(names))
    assert own - {one.partition(".")[0] for one in names} == form.elsewhere


ENTRIES: Mapping[str, dict[str, Any]] = {
    "card": {"keys": ["a"], "secondary_keys": ["b"], "insertion_order": 1, "enabled": True},
    "world": {"key": ["a"], "keysecondary": ["b"], "order": 1, "disable": False, "uid": 0},
}
"""Names that make an entry one of a spelling."""


def entry(fields: dict[str, Any], spelling: str) -> Any:
    """An entry of a spelling, without the name that stands for the same as another name."""
    same = {
        one[0]
        for field in FIELDS["entry"]
        for one in field["in"][spelling]["paths"]
        if {*fields} & {path[0] for path in field["in"][spelling]["paths"]}
    }
    known = {name: value for name, value in ENTRIES[spelling].items() if name not in same}
    return Lorebook.of({"entries": [known | fields]}).entries[0]


READERS: Mapping[str, Callable[[dict[str, Any], str], Any]] = {
    "card": lambda data, _: Character.of({"spec": "chara_card_v3", "spec_version": "3.0", "data": data}),
    "entry": entry,
    "book": lambda data, _: Lorebook.of({"entries": [], **data}),
    "persona": lambda data, _: read_personas(Document({"name": "Ada", **data}))[0],
    "prompt": lambda data, _: Preset.of({"prompts": [data]}).prompts[0],
    "script": lambda data, _: RegexScripts.of([data]).scripts[0],
}
PRESENT: Mapping[str, dict[str, Any]] = {
    "card": {"name": "Ada", "extensions": {"depth_prompt": {"prompt": "Note."}}},
    "script": {"findRegex": "/a/", "replaceString": "", "trimStrings": [], "placement": [1], "scriptName": "s"},
}
VALUES: Mapping[str, Any] = {
    "line": "zeta", "text": "zeta", "integer": 7, "number": 0.75, "maybe": True, "keys": ["zeta"], "tags": ["zeta"],
    "texts": ["zeta"], "json": {"en": "zeta"}, "numbers": [2],
    "shown": [{"type": "icon", "uri": "ccdefault:", "name": "zeta", "ext": "png"}],
}  # fmt: skip

LOCATIONS = [
    pytest.param(name, field, spelling, path, id=f"{name}-{field['name']}-{spelling}-{'.'.join(path)}")
    for name, fields in FIELDS.items()
    for field in fields
    for spelling, location in field["in"].items()
    for path in location["paths"]
]


@pytest.mark.parametrize(("name", "field", "spelling", "path"), LOCATIONS)
def test_a_field_stands_where_it_is_read_from(
    name: str, field: dict[str, Any], spelling: str, path: tuple[str, ...]
) -> None:
    """What a form writes there is what the reader has in the field."""
    read = READERS.get(name) or (lambda data, _: FORMS[name].struct.read(Document(data)))
    get = attrgetter(field["name"])
    before = get(read(_with({}, (), None, PRESENT.get(name, {})), spelling))
    default = field["in"][spelling]["default"]
    others = [written for written, word in field.get("choices", ()) if word != str(before) and written != before]
    value = (
        others[-1] if field["kind"] == "choice" else (not default) if field["kind"] == "flag" else VALUES[field["kind"]]
    )
    inverted = field["in"][spelling].get("inverted", False)
    after = get(read(_with({}, path, (not value) if inverted else value, PRESENT.get(name, {})), spelling))
    assert after != before


def _with(tree: dict[str, Any], path: tuple[str, ...], value: Any, base: Mapping[str, Any]) -> dict[str, Any]:
    """A document with a value at a path."""
    tree = msgspec.json.decode(msgspec.json.encode({**base, **tree}))
    inner = tree
    for step in path[:-1]:
        inner = inner.setdefault(step, {})
    if path:
        inner[path[-1]] = value
    return tree
