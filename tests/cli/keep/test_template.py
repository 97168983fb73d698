"""``innkeeper admin template``: what is stored is listed, shown, compared, checked, resolved, rendered; mistakes say where."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Run, prepared

MAKE = ("admin", "template", "new", "hello", "--use-case", "chat", "--text", "Hello {{name}}, {{mood}}.")
VARIABLES = ("--variable", "name", "--variable", "mood=calm")
RESOLVE = ("admin", "template", "resolve", "--use-case", "enhancement", "--job-type", "image", "--target", "sdxl")
ADULT = {"use_case": "chat", "content_mode": "nsfw", "system_prompt": "Adult frame."}


@pytest.fixture
def hello(run: Run, tmp_path: Path) -> Run:
    """A library with one template in production."""
    publish = ("admin", "template", "publish", "hello", "--who", "ann", "--why", "new")
    return prepared(run, tmp_path / "home", (*MAKE, *VARIABLES, "--note", "first"), publish)


def enable_adults(run: Run, tmp_path: Path) -> Path:
    """Enable the adult tier by an operator's policy; returns the age record of a verified adult."""
    policy = {"name": "default", "version": 1, "body": {"adult_enabled": True}, "is_active": True}
    file = tmp_path / "policy.json"
    file.write_text(json.dumps({"format": "innkeeper-library", "schema": 1, "tier_policies": [policy]}))
    assert run("admin", "db", "import", file).code == 0
    record = tmp_path / "age.json"
    facts = {"verified": True, "method": "document", "expiry": "2099-01-01T00:00:00Z", "verifier": "desk"}
    record.write_text(json.dumps(facts))
    return record


# ------------------------------------------------------------------------------------------------------------------ looking


def test_from_an_empty_folder(run: Run, tmp_path: Path) -> None:
    """The first command on a machine answers, with the trace of every level, and makes the library."""
    found = run(*RESOLVE)
    assert found.code == 0
    assert "enhancement.sdxl.qwen_instruct.sfw version 1" in found.out
    for level in ("exact", "any_enhancer", "family", "universal", "lower_tier", "builtin"):
        assert f"\n{level}" in found.out
    assert (tmp_path / "home" / "innkeeper.db").exists()
    data = run(*RESOLVE, "--json").data
    assert (data["level"], data["fallback_level"], data["degraded"]) == ("builtin", 5, True)
    assert data["reasons"] == ["database_empty", "builtin"]


def test_the_process_itself(tmp_path: Path) -> None:
    """As a process of its own, without the migration library: a fresh file needs none."""
    code = (
        "import sys; from innkeeper.cli import main; code = main(sys.argv[1:]);"
        "assert 'alembic' not in sys.modules; assert 'tiktoken' not in sys.modules; sys.exit(code)"
    )
    env = {**os.environ, "INNKEEPER_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code, *RESOLVE], capture_output=True, text=True, env=env, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_list(hello: Run) -> None:
    """Templates are listed with key and labels, filtered by what their key says."""
    assert (
        "hello  1        1       chat / any / any / any / sfw  production=1" in hello("admin", "template", "list").out
    )
    (row,) = hello("admin", "template", "list", "--use-case", "chat", "--label", "production", "--json").data[
        "templates"
    ]
    assert (row["name"], row["labels"], row["note"]) == ("hello", {"production": 1}, "first")
    assert hello("admin", "template", "list", "--contains", "zzz").out.endswith("0 templates\n")


def test_show(hello: Run) -> None:
    """A version is shown whole, with its variables and, if wanted, its history."""
    shown = hello("admin", "template", "show", "hello", "--history")
    assert "Hello {{name}}, {{mood}}." in shown.out
    assert "production        1" in shown.out
    assert "calm" in shown.out
    data = hello("admin", "template", "show", "hello", "--label", "production", "--history", "--json").data
    assert data["system_prompt"] == "Hello {{name}}, {{mood}}."
    assert [variable["name"] for variable in data["variables"]] == ["name", "mood"]
    assert (data["history"][0]["who"], data["history"][0]["why"]) == ("ann", "new")


def test_diff(hello: Run) -> None:
    """Text, variables, configuration and tokens are compared; versions may be named by number or label."""
    assert hello("admin", "template", "diff", "hello").out == "no difference\n"
    draft = {"use_case": "chat", "system_prompt": "Hi {{name}}!", "variables": [{"name": "name"}], "token_limit": 9}
    assert hello("admin", "template", "edit", "hello", "--file", "-", input=json.dumps(draft)).code == 0
    text = hello("admin", "template", "diff", "hello").out
    assert "-Hello {{name}}, {{mood}}." in text
    assert "+Hi {{name}}!" in text
    assert "token_limit" in text
    assert "tokens: 9 before, 5 after (-4)" in text
    data = hello("admin", "template", "diff", "hello", "production", "2", "--json").data
    assert (data["tokens"], data["same"]) == (-4, False)
    assert hello("admin", "template", "publish", "hello").code == 0
    assert "+Hi {{name}}!" in hello("admin", "template", "diff", "hello").out


def test_validate(hello: Run) -> None:
    """All problems are shown with their places; errors exit with 65."""
    assert hello("admin", "template", "check", "hello").out == "hello version 1 may be published\n"
    bad = json.dumps({"name": "b", "use_case": "chat", "system_prompt": "{{a}}", "variables": [{"name": "b"}]})
    found = hello("admin", "template", "check", "--file", "-", input=bad)
    assert found.code == 65
    assert "a is used and not declared" in found.out
    assert "may not be published" in found.out
    data = hello("admin", "template", "check", "--file", "-", "--json", input=bad).data
    assert [problem["code"] for problem in data["problems"]] == ["ambiguous", "undeclared", "unused"]
    assert hello("admin", "template", "check").code == 2


# --------------------------------------------------------------------------------------------------------------- answering


def test_render_by_name(hello: Run, tmp_path: Path) -> None:
    """The text goes to the output as it is, the report to the error stream."""
    found = hello("admin", "template", "render", "hello", "--value", r"name={{mood}} $1", "--value", "other=x")
    assert found.out == "Hello {{mood}} $1, calm.\n"
    assert "mood: default, " in found.err
    assert "left aside: other" in found.err
    values = tmp_path / "v.yaml"
    values.write_text("name: Bo\nmood: sad\n")
    assert hello("admin", "template", "render", "hello", "--values", values).out == "Hello Bo, sad.\n"


def test_render_what_answers(hello: Run) -> None:
    """A request is rendered with its resolution."""
    data = hello("admin", "template", "render", "--use-case", "chat", "--value", "name=Bo", "--json").data
    assert (data["text"], data["resolution"]["level"], data["degraded"]) == ("Hello Bo, calm.", "universal", False)
    found = hello(*("admin", "template", "render", "--use-case", "admin", "--job-type", "chat"))
    assert "makeshift: builtin" in found.err


def test_long_values_are_cut_and_told(hello: Run) -> None:
    """A value beyond its cap is cut, and the report says by how much."""
    draft = {"use_case": "x", "system_prompt": "{{a}}", "variables": [{"name": "a", "max_tokens": 2}]}
    assert hello("admin", "template", "new", "capped", "--file", "-", input=json.dumps(draft)).code == 0
    assert (
        "characters cut"
        in hello("admin", "template", "render", "capped", "--value", "a=one two three four five six").err
    )


@pytest.mark.parametrize("way", ["name", "request"])
def test_adult_rows_are_not_shown(hello: Run, tmp_path: Path, way: str) -> None:
    """Without policy and age record no adult text is rendered, whatever is asked; with both it is."""
    assert hello("admin", "template", "new", "adult", "--file", "-", input=json.dumps(ADULT)).code == 0
    assert hello("admin", "template", "publish", "adult").code == 0
    words: tuple[Any, ...] = ("admin", "template", "render", "--content-mode", "nsfw", "--value", "name=Bo")
    words = (*words, "adult") if way == "name" else (*words, "--use-case", "chat")
    first = hello(*words)
    assert "Adult frame" not in first.out
    assert "ceiling:policy" in first.err
    record = enable_adults(hello, tmp_path)
    second = hello(*words)
    assert "Adult frame" not in second.out
    assert "ceiling:account" in second.err
    assert hello(*words, "--age-record", record).out == "Adult frame.\n"


def test_adult_requests_are_answered_lower(hello: Run) -> None:
    """A request for the adult tier is answered in the general one, with the reasons."""
    data = hello("admin", "template", "resolve", "--use-case", "chat", "--content-mode", "nsfw", "--json").data
    assert (data["tier"]["effective"], data["tier"]["reasons"]) == ("sfw", ["ceiling:account", "ceiling:policy"])
    assert data["template"]["name"] == "hello"
    text = hello("admin", "template", "resolve", "--use-case", "chat", "--content-mode", "nsfw").out
    assert "sfw, where nsfw was asked for (ceiling:account, ceiling:policy)" in text
    assert hello("admin", "template", "resolve", "--use-case", "chat", "--content-mode", "nsfw", "--strict").code == 65


def test_a_block_shows_nothing(hello: Run) -> None:
    """A text that is blocked renders nothing, in any tier, and is not quoted."""
    found = hello("admin", "template", "render", "hello", "--value", "name=a nude 12 year old", "--json")
    assert (found.code, found.out, found.error["kind"]) == (65, "", "tier_blocked")
    assert "12 year" not in found.err
    text = hello(
        "admin", "template", "render", "hello", "--value", "name=Bo", "--text-from", "-", input="a nude 12 year old"
    )
    assert (text.code, text.out) == (65, "")


def test_passthrough(hello: Run) -> None:
    """Where no template answers an enhancement, that is said."""
    found = hello("admin", "template", "resolve", "--use-case", "enhancement", "--job-type", "audio", "--target", "zzz")
    assert "none: the text stays as it is" in found.out


# ---------------------------------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("words", "code", "kind", "told"),
    [
        (("show", "helo"), 2, "not_found", "did you mean 'hello'?"),
        (("show", "hello", "--version", "9"), 2, "not_found", "no version 9"),
        (("show", "hello", "--label", "staging"), 2, "not_found", "it holds: production"),
        (("diff", "hello", "nowhere"), 2, "not_found", "nowhere"),
        (("resolve", "--use-case", "nothing"), 2, "template_not_found", "no template"),
        (("resolve", "--use-case", "chat", "--label", "canary"), 2, "template_not_found", "canary"),
        (("resolve", "--use-case", "chat", "--age-record", "nowhere.json"), 69, "missing_file", "nowhere.json"),
        (("render", "hello"), 65, "missing_variables", "name"),
        (("render", "hello", "--value", "name"), 2, "usage", "NAME=VALUE"),
        (("render", "hello", "--use-case", "chat"), 2, "usage", "--use-case"),
        (("render",), 2, "usage", "--use-case"),
        (("render", "hello", "--values", "nowhere.json"), 69, "missing_file", "nowhere.json"),
        (("publish", "hello", "--label", "Not A Label"), 2, "usage", "cannot be a label"),
        (("list", "--database", "mysql://x/y"), 2, "config", "mysql"),
        (("nothing",), 2, "usage", "No such command"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_mistakes(hello: Run, words: tuple[str, ...], code: int, kind: str, told: str) -> None:
    """Each mistake has its exit code and kind, and says what to do."""
    found = hello("admin", "template", *words, "--json")
    assert (found.code, found.error["kind"]) == (code, kind)
    assert told in found.err
    assert found.out == ""


@pytest.mark.parametrize(
    ("data", "where"),
    [(b"name: [", "<stdin>"), (b'{"name": }', "<stdin>:1:10"), (b"- a", "<stdin>:1:1"), (b"\xff", "<stdin>:1:1")],
    ids=["yaml", "json", "list", "bytes"],
)
def test_values_that_cannot_be_read(hello: Run, data: bytes, where: str) -> None:
    """Values that are no object of JSON or YAML are an error at their place."""
    path = Path("-")
    found = hello("admin", "template", "render", "hello", "--values", path, input=data)
    assert found.code == 65
    assert "innkeeper: -:" in found.err or where in found.err


def test_age_records_that_cannot_be_read(hello: Run, tmp_path: Path) -> None:
    """A record that is none is an error; it never counts as one."""
    path = tmp_path / "age.json"
    path.write_text('{"verified": "yes"}')
    found = hello("admin", "template", "resolve", "--use-case", "chat", "--age-record", path, "--json")
    assert (found.code, found.error["kind"]) == (65, "format")
    assert hello("admin", "template", "render", "hello", "--text-from", "-", input=b"\xff").code == 65


def test_databases_that_fail(hello: Run, tmp_path: Path) -> None:
    """A damaged, a locked and a newer database are errors of their own; what can be answered without it is answered."""
    path = tmp_path / "broken.db"
    path.write_bytes(b"this is no database" * 100)
    found = hello("admin", "template", "list", "--database", path, "--json")
    assert (found.code, found.error["kind"]) == (69, "database_corrupt")
    data = hello(*RESOLVE, "--database", path, "--json").data
    assert data["reasons"][0] == "database_corrupt"
    assert data["template"]["name"] == "enhancement.sdxl.qwen_instruct.sfw"
    kept = tmp_path / "home" / "innkeeper.db"
    newer = tmp_path / "newer.db"
    shutil.copy(kept, newer)
    with sqlite3.connect(newer) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    assert hello("admin", "template", "list", "--database", newer, "--json").error["kind"] == "schema"


def test_a_locked_database(hello: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another program holds the database, a change fails with its reason and leaves nothing; reading goes on."""
    monkeypatch.setattr("innkeeper.library.db.engine.Database.open.__func__.__kwdefaults__", _impatient())
    with sqlite3.connect(tmp_path / "home" / "innkeeper.db") as holder:
        holder.execute("BEGIN IMMEDIATE")
        found = hello("admin", "template", "publish", "hello", "--label", "staging", "--json")
        assert (found.code, found.error["kind"]) == (69, "database_locked")
        assert hello("admin", "template", "list").code == 0
        holder.rollback()
    holder.close()
    assert hello("admin", "template", "label", "hello", "--json").data["labels"] == {"production": 1}


def _impatient() -> dict[str, Any]:
    from innkeeper.library.db.engine import Database

    return {**Database.open.__func__.__kwdefaults__, "timeout": 0.1}  # type: ignore[attr-defined]


def test_a_list_has_pages(hello: Run) -> None:
    """A list is cut after so many, says so, and goes on after the last name; ``--search`` looks into texts."""
    for name in ("ivy", "jay"):
        assert hello("admin", "template", "new", name, "--use-case", "chat", "--text", f"About {name}.").code == 0
    first = hello("admin", "template", "list", "--limit", "2", "--json").data
    assert ([one["name"] for one in first["templates"]], first["next"]) == (["hello", "ivy"], "ivy")
    assert "2 templates; there are more: --after ivy" in hello("admin", "template", "list", "--limit", "2").out
    rest = hello("admin", "template", "list", "--limit", "2", "--after", "ivy", "--json").data
    assert ([one["name"] for one in rest["templates"]], rest["next"]) == (["jay"], None)
    assert len(hello("admin", "template", "list", "--limit", "0", "--json").data["templates"]) == 3
    assert "1 template\n" in hello("admin", "template", "list", "--search", "ABOUT JAY").out


@pytest.mark.parametrize("words", [("--use-case", "nothing"), ("--use-case", "chat", "--label", "canary")])
@pytest.mark.parametrize("strict", [(), ("--strict",)])
def test_what_was_tried_is_shown_where_nothing_answers(
    hello: Run, words: tuple[str, ...], strict: tuple[str, ...]
) -> None:
    """A resolution that finds nothing fails as before, after it has shown every level; as JSON the error holds them."""
    found = hello("admin", "template", "resolve", *words, *strict)
    assert found.code == 2
    for level in ("exact", "universal", "builtin", "unavailable"):
        assert f"\n{level}" in found.out
    error = hello("admin", "template", "resolve", *words, *strict, "--json")
    assert error.code == 2
    assert "unavailable" in error.out + error.err
