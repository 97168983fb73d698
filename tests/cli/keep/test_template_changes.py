"""``innkeeper admin template`` where it changes something: versions come, labels move, files come and go, whole or not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.running import Run, prepared

MAKE = ("admin", "template", "new", "hello", "--use-case", "chat", "--text", "Hello {{name}}.", "--variable", "name")
NEXT = {"use_case": "chat", "system_prompt": "Hi {{name}}!", "variables": [{"name": "name"}]}


@pytest.fixture
def hello(run: Run, tmp_path: Path) -> Run:
    """A library with one template in production."""
    return prepared(run, tmp_path / "home", MAKE, ("admin", "template", "publish", "hello"))


def editor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> None:
    """An editor that changes the file by a script of sed."""
    program = tmp_path / "editor"
    program.write_text(f"#!/bin/sh\nsed -i '{script}' \"$1\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(program))
    monkeypatch.delenv("VISUAL", raising=False)


def test_create(run: Run, tmp_path: Path) -> None:
    """A template is made from options, from a file, or from both, and answers nothing yet."""
    assert run(*MAKE).out.startswith("hello: version 1 (")
    assert run("admin", "template", "label", "hello", "--json").data == {"name": "hello", "labels": {}, "history": []}
    text = tmp_path / "text.txt"
    text.write_text("Paint.")
    words = ("--use-case", "enhancement", "--target", "sdxl", "--job-type", "image", "--token-limit", 75)
    more = ("--max-output-tokens", 90, "--provider", "local", "--syntax", "liquid", "--description", "d", "--note", "n")
    made = run("admin", "template", "new", "paint", *words, *more, "--text-from", text, "--json").data
    assert (made["key"]["target_model"], made["token_limit"], made["max_output_tokens"]) == ("sdxl", 75, 90)
    both = run("template", "new", "--file", "-", "--variable", "a?", "--json", input=json.dumps({**NEXT, "name": "x"}))
    assert both.data["name"] == "x"
    assert [one["name"] for one in run("admin", "template", "show", "x", "--json").data["variables"]] == ["a"]


@pytest.mark.parametrize(
    ("words", "input_", "code", "kind"),
    [
        (("create", "hello", "--use-case", "chat", "--text", "x"), "", 2, "already_exists"),
        (("create", "x", "--use-case", "chat"), "", 2, "usage"),
        (("create", "--use-case", "chat", "--text", "x"), "", 2, "usage"),
        (("create", "x", "--use-case", "chat", "--text", "x", "--text-from", "-"), "", 2, "usage"),
        (("create", "x", "--file", "nowhere.yaml"), "", 69, "missing_file"),
        (("create", "x", "--file", "-"), '{"use_case": 3}', 65, "transfer"),
        (("create", "x\ny", "--use-case", "chat", "--text", "x"), "", 65, "field"),
        (("edit", "helo", "--file", "-"), json.dumps(NEXT), 2, "not_found"),
        (("edit", "hello", "--file", "-"), json.dumps({**NEXT, "name": "other"}), 2, "usage"),
        (("edit", "hello", "--file", "-"), "{", 65, "transfer"),
        (("publish", "hello", "--version", "7"), "", 2, "not_found"),
        (("label", "hello", "staging"), "", 2, "usage"),
        (("label", "hello", "--remove"), "", 2, "usage"),
        (("label", "hello", "staging", "--remove"), "", 2, "not_found"),
        (("label", "helo"), "", 2, "not_found"),
        (("rollback", "hello"), "", 2, "not_found"),
        (("import",), "", 2, "usage"),
        (("import", "-", "--builtin"), "", 2, "usage"),
        (("import", "-"), '{"format": "other"}', 65, "transfer"),
        (("import", "-"), '{"format": "innkeeper-library", "schema": 1, "templates": [{"name": 3}]}', 65, "transfer"),
        (("export", "-", "helo"), "", 2, "not_found"),
    ],
    ids=lambda value: " ".join(value)[:50] if isinstance(value, tuple) else None,
)
def test_mistakes(hello: Run, words: tuple[str, ...], input_: str, code: int, kind: str) -> None:
    """Each mistake has its exit code and kind, and nothing is changed."""
    before = hello("admin", "template", "export", "-").out
    found = hello("admin", "template", *words, "--json", input=input_)
    assert (found.code, found.error["kind"]) == (code, kind)
    assert hello("admin", "template", "export", "-").out == before


def test_edit_from_a_file(hello: Run) -> None:
    """A file makes a new version; the same again makes none; a note and an older beginning are taken."""
    made = hello("admin", "template", "edit", "hello", "--file", "-", "--note", "shorter", input=json.dumps(NEXT))
    assert made.out.startswith("hello: version 2 (")
    same = hello("admin", "template", "edit", "hello", "--file", "-", input=json.dumps(NEXT))
    assert same.out == "hello: nothing changed, version 2 stays the latest.\n"
    assert (
        hello("admin", "template", "edit", "hello", "--file", "-", "--json", input=json.dumps(NEXT)).data["changed"]
        is False
    )
    assert hello("admin", "template", "show", "hello", "--json").data["note"] == "shorter"


def test_edit_in_an_editor(hello: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The editor gets the latest version, or one that is named; what is saved is the next one."""
    editor(monkeypatch, tmp_path, "s/Hello/Good day/")
    assert hello("admin", "template", "edit", "hello", "--json").data["version"] == 2
    assert hello("admin", "template", "show", "hello", "--json").data["system_prompt"] == "Good day {{name}}."
    editor(monkeypatch, tmp_path, "s/Hello/Servus/")
    assert hello("admin", "template", "edit", "hello", "--from", 1, "--json").data["version"] == 3
    editor(monkeypatch, tmp_path, "")
    assert hello("admin", "template", "edit", "hello", "--json").data["changed"] is False


def test_nothing_written_is_lost(hello: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where what was edited cannot be read, it is printed with the place of the mistake, and no version is made."""
    editor(monkeypatch, tmp_path, "s/use_case/usecase/; s/Hello/An hour of work/")
    found = hello("admin", "template", "edit", "hello")
    assert found.code == 65
    assert "An hour of work" in found.err
    assert "what was edited:" in found.err
    assert hello("admin", "template", "list", "--json").data["templates"][0]["version"] == 1


def test_an_editor_that_fails(hello: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor that is not there is an error, and no version is made."""
    monkeypatch.setenv("VISUAL", "/nowhere/editor")
    assert hello("admin", "template", "edit", "hello").code != 0
    assert os.environ["VISUAL"] == "/nowhere/editor"
    assert hello("admin", "template", "list", "--json").data["templates"][0]["version"] == 1


def test_publish_and_back(hello: Run) -> None:
    """A publication can be tried, done, shown and taken back."""
    hello("admin", "template", "edit", "hello", "--file", "-", input=json.dumps(NEXT))
    assert hello("admin", "template", "publish", "hello", "--dry-run").out == (
        "hello: production would move from version 1 to 2; nothing was changed.\n"
    )
    tried = hello("admin", "template", "publish", "hello", "--label", "staging", "--dry-run", "--json").data
    assert (tried["from_version"], tried["to_version"], tried["dry_run"]) == (None, 2, True)
    assert (
        hello("admin", "template", "publish", "hello").out == "hello: production moved from version 1 to version 2.\n"
    )
    assert hello("admin", "template", "rollback", "hello", "--why", "worse", "--json").data["to_version"] == 1
    assert (
        hello("admin", "template", "label", "hello", "staging", 2).out
        == "hello: staging moved from no version to version 2.\n"
    )
    assert hello("admin", "template", "label", "hello", "staging", "--remove").out.endswith(
        "version 2 to no version.\n"
    )
    shown = hello("admin", "template", "label", "hello").out
    assert "worse" in shown
    assert hello("admin", "template", "render", "--use-case", "chat", "--value", "name=Bo").out == "Hello Bo.\n"


@pytest.mark.parametrize("words", [("--dry-run",), ()], ids=["tried", "done"])
def test_what_is_wrong_is_not_published(hello: Run, words: tuple[str, ...]) -> None:
    """A version with mistakes is not published; they are listed."""
    hello("admin", "template", "edit", "hello", "--file", "-", input=json.dumps({**NEXT, "system_prompt": "{{nam}}"}))
    found = hello("admin", "template", "publish", "hello", *words, "--json")
    assert (found.code, found.error["kind"]) == (65, "invalid_template")
    assert any("nam is used and not declared" in problem for problem in found.error["details"]["problems"])
    assert hello("admin", "template", "label", "hello", "--json").data["labels"] == {"production": 1}


def test_cycles_are_refused(hello: Run) -> None:
    """Partials in a circle are told with the way round, and never published."""
    part = {"use_case": "partial", "variables": [], "system_prompt": "{{> b}}", "partials": [["b", 1]]}
    for name, other in (("a", "b"), ("b", "a")):
        draft = {**part, "name": name, "system_prompt": f"{{{{> {other}}}}}", "partials": [[other, 1]]}
        assert hello("admin", "template", "new", "--file", "-", input=json.dumps(draft)).code == 0
    found = hello("admin", "template", "publish", "a")
    assert found.code == 65
    assert "a@1" in found.err or "a → b" in found.err


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_transfer(hello: Run, tmp_path: Path, form: str) -> None:
    """What is exported is imported elsewhere, the same; again it changes nothing; a file is not overwritten by accident."""
    path = tmp_path / f"t.{form}"
    assert hello("admin", "template", "export", path).out.startswith(f"{path}: 1 template, ")
    assert hello("admin", "template", "export", path, "--json").error["kind"] == "output_exists"
    assert hello("admin", "template", "export", path, "hello", "--force", "--json").data["templates"] == 1
    other = tmp_path / "other.db"
    assert hello("admin", "template", "import", path, "--database", other, "--dry-run").out.startswith(
        "would import: 1 templates"
    )
    assert hello("admin", "template", "import", path, "--database", other, "--json").data["versions"] == 1
    again = hello("admin", "template", "import", path, "--database", other).out
    assert again == "imported: 0 templates, 0 versions, 0 labels, 1 unchanged.\n"
    assert (
        hello("admin", "template", "export", "-", "--database", other).out
        == hello("admin", "template", "export", "-").out
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [("{{nam}}", "invalid_template"), ("A nude 12 year old.", "tier_blocked")],
    ids=["wrong", "blocked"],
)
@pytest.mark.parametrize("group", ["template", "db"])
def test_what_is_wrong_is_not_imported(hello: Run, group: str, text: str, kind: str) -> None:
    """A version that may not be published gets no label by an import either; the place is told, nothing comes in."""
    version = {"version": 1, "use_case": "x", "system_prompt": text}
    row = {"name": "bad", "versions": [version], "labels": {"production": 1}}
    data = json.dumps({"format": "innkeeper-library", "schema": 1, "templates": [row]})
    found = hello("admin", group, "import", "-", "--json", input=data)
    assert (found.code, found.error["kind"]) == (65, kind)
    assert [one["name"] for one in hello("admin", "template", "list", "--json").data["templates"]] == ["hello"]
    without = json.dumps({"format": "innkeeper-library", "schema": 1, "templates": [{**row, "labels": {}}]})
    assert hello(group, "import", "-", input=without).code == 0


def test_builtins(run: Run) -> None:
    """What comes with Innkeeper can be taken in; adult frames come without a label."""
    assert run("admin", "template", "import", "--builtin", "--json").data["templates"] > 20
    rows = run("admin", "template", "list", "--json").data["templates"]
    assert all(bool(row["labels"]) is (row["key"]["content_mode"] == "sfw") for row in rows)
    data = run("admin", "template", "resolve", "--use-case", "chat", "--job-type", "chat", "--json").data
    assert (data["source"], data["degraded"]) == ("database", False)


def test_long_imports_show_a_bar(run: Run, tmp_path: Path) -> None:
    """An import of many templates shows how far it is on the error stream, and nothing with --json."""
    version = {"version": 1, "use_case": "chat", "system_prompt": "x"}
    rows = [{"name": f"t{number}", "versions": [version]} for number in range(300)]
    path = tmp_path / "many.json"
    path.write_text(json.dumps({"format": "innkeeper-library", "schema": 1, "templates": rows}))
    found = run("admin", "template", "import", path)
    assert found.out == "imported: 300 templates, 300 versions, 0 labels, 0 unchanged.\n"
    quiet = run("admin", "template", "import", path, "--json")
    assert (quiet.data["unchanged"], quiet.err) == (300, "")
