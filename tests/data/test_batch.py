"""Batches: a table of requests to a table of prompts, row by row what a build gives."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from innkeeper import BuildRequest, build, load_character
from innkeeper.budget import accounting
from innkeeper.data import BatchSettings, build_batch
from innkeeper.data.rows import RowReader
from innkeeper.prompt import LimitError, UsageError
from innkeeper.tokens import default_counter
from tests.shared import ROOT

EXAMPLES = ROOT / "examples"
NOW = "2026-01-15T12:00:00Z"
CARD = json.loads((EXAMPLES / "wenna.json").read_text())
TALK = [{"role": ("user", "assistant")[n % 2], "content": f"{n} over the reef"} for n in range(4)]
ROW = {"tavern": "silly", "character": CARD, "history": TALK, "message": "Is it safe?", "model": "gpt-4o", "now": NOW}


def lines(*rows: Any, **columns: list[Any]) -> pa.Table:
    """Rows as lines of JSON."""
    texts = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    return pa.table({"request": pa.array(texts, pa.large_binary()), **columns})


def built(table: pa.Table, **settings: Any) -> list[dict[str, Any]]:
    """The rows that a batch gives."""
    rows: list[dict[str, Any]] = build_batch(table, BatchSettings(roots=(str(EXAMPLES),), **settings)).to_pylist()
    return rows


WIDE = {"context_window": 8192, "reserved_tokens": 100}
ROWS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "vibe": {"tavern": "vibe", **WIDE},
    "silly": WIDE,
    "smart": {"tavern": "smart", **WIDE},
    "risu": {"tavern": "risu", **WIDE},
    "a named dialect": {"tavern": "vibe", "dialect": "anthropic", **WIDE},
    "trimmed": {"tavern": "vibe", "context_window": 600, "history": TALK * 20},
    "only the system": {"tavern": "vibe", "history": [], "message": "", "system": "Be brief.", **WIDE},
    "tools, a schema": {
        "tavern": "vibe",
        "tools": [{"name": "look", "description": "Look.", "parameters": {"type": "object"}}],
        "options": {"response_format": {"type": "json_object"}},
        **WIDE,
    },
}


@pytest.mark.parametrize("dialect", [None, "openai", "anthropic", "text"])
@pytest.mark.parametrize("name", ROWS)
def test_a_row_is_a_build(name: str, dialect: str | None) -> None:
    """The prompt, its fingerprint and its tokens are those of `build`; the id is the row's own."""
    fields = {**ROW, **ROWS[name]}
    plan = build(BuildRequest.of(fields))
    (row,) = built(lines({**fields, "id": "first"}), dialect=dialect)
    assert json.loads(row["messages"]) == plan.to_messages(dialect)
    assert (row["id"], row["fingerprint"], row["error"]) == ("first", plan.fingerprint(dialect), None)
    assert row["tokens"] == accounting(plan).total
    assert row["cost"] > 0


def test_data_that_are_too_deep() -> None:
    """Are refused wherever they stand: in a line, in a column, among what is shared."""
    deep: Any = "x"
    for _ in range(300):
        deep = {"a": deep}
    reader = RowReader(BuildRequest(), {}, (), ())
    for row in ({"request": {"settings": deep}}, {"settings": deep}):
        with pytest.raises(LimitError, match="MAX_DEPTH"):
            reader.request(reader.fields(row))
    with pytest.raises(LimitError, match="MAX_DEPTH"):
        RowReader(BuildRequest(), {"card": deep}, (), ())


def test_columns_are_fields() -> None:
    """One column a field gives the same as a line of JSON; gaps of a table's columns are no fields."""
    columns = {name: [json.dumps(value) if isinstance(value, (dict, list)) else value] for name, value in ROW.items()}
    nested = {**columns, "history": [[{**message, "name": None} for message in TALK]], "system": [None]}
    expected = built(lines(ROW))[0]["fingerprint"]
    for table in (pa.table(columns), pa.table(nested)):
        assert built(table)[0]["fingerprint"] == expected


@pytest.mark.parametrize("text", ["wenna.json", "@wenna", "@file"])
def test_assets_by_name(text: str) -> None:
    """A path inside the folder, a shared asset, and a shared path are the asset that is written inline."""
    named = built(lines({**ROW, "character": text}), shared={"wenna": CARD, "file": "wenna.json"})
    assert named[0]["fingerprint"] == built(lines(ROW))[0]["fingerprint"]


def test_all_kinds_of_files() -> None:
    """Persona, lorebooks, preset and chat may be files, too."""
    files = {
        "user": "ansel.persona.json",
        "lorebooks": ["larks.lorebook.json"],
        "preset": "skerrow.preset.json",
        "history": "wenna.chat.jsonl",
    }
    (row,) = built(lines({**ROW, **files}))
    assert row["error"] is None
    texts = " ".join(message["content"] for message in json.loads(row["messages"]))
    assert "skipper" in texts
    assert row["fingerprint"] != built(lines(ROW))[0]["fingerprint"]


BAD: dict[str, tuple[Any, str]] = {
    "no JSON": (b'{"message": ', "rows"),
    "no object": (b"[1]", "object"),
    "an unknown field": ({**ROW, "nosuch": 1}, "nosuch"),
    "a missing card": ({**ROW, "character": "nobody.png"}, "nobody.png"),
    "a path outside": ({**ROW, "character": "../pyproject.toml"}, "outside"),
    "an absolute path": ({**ROW, "character": "/etc/passwd.json"}, "outside"),
    "a path with a zero": ({**ROW, "character": "wenna\0.png"}, "character"),
    "an unknown name": ({**ROW, "character": "@nobody"}, "nobody"),
    "a wrong type": ({**ROW, "history": 7}, "history"),
    "too deep": (b'{"settings":' + b'{"a":' * 500 + b"1" + b"}" * 501, "MAX_DEPTH"),
    "does not fit": ({**ROW, "context_window": 10, "step_options": {"trimming": {"on_overflow": "error"}}}, ""),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_row_is_its_own_matter(name: str) -> None:
    """It has an error that says where and what; the rows beside it are built."""
    row, word = BAD[name]
    before, bad, after = built(lines(ROW, row, {**ROW, "id": "x"}, line=[1, 2, 3]))
    assert (before["error"], after["error"], after["id"]) == (None, None, "x")
    error = json.loads(bad["error"])
    assert error["at"] == {"asset": "rows", "line": 2}
    assert word in bad["error"]
    assert (bad["messages"], bad["tokens"]) == (None, None)


def test_a_path_in_any_of_the_folders(tmp_path: Path) -> None:
    """It is read from the first that has it; one that none has is missed in the first."""
    table = lines(*[{"tavern": "vibe", "message": "Hm?", "character": name} for name in ("wenna.json", "nobody.json")])
    settings = BatchSettings(roots=(str(tmp_path), str(EXAMPLES)))
    there, missed = build_batch(table, settings).to_pylist()
    assert (there["error"], str(tmp_path) in missed["error"]) == (None, True)


def test_forms() -> None:
    """Text, token numbers, the whole plan, a bundle that builds it again, provider bodies."""
    plan = build(BuildRequest.of(ROW))
    table = lines({**ROW, "id": "a"})
    assert built(table, form="text")[0]["text"] == plan.to_messages("text")["prompt"]
    text = built(table, form="text")[0]["text"]
    assert built(table, form="tokens")[0]["token_ids"] == list(default_counter().tokenize(text, "gpt-4o").ids or ())
    assert json.loads(built(table, form="plan")[0]["plan"])["blocks"]
    assert json.loads(built(table, form="replay")[0]["replay"])["fingerprint"] == plan.fingerprint()


@pytest.mark.parametrize(
    ("provider", "keys"),
    [
        ("openai", {"custom_id", "method", "url", "body"}),
        ("vllm", {"custom_id", "method", "url", "body"}),
        ("anthropic", {"custom_id", "params"}),
        ("gemini", {"key", "request"}),
    ],
)
def test_bodies_in_the_providers_batch_formats(provider: str, keys: set[str]) -> None:
    """Each line has the provider's own fields, with the row's id and the very body of `to_request`."""
    (row,) = built(lines({**ROW, "id": "a"}), form="body", provider=provider)
    line = json.loads(row["body"])
    assert (set(line), line[min(keys & {"custom_id", "key"})]) == (keys, "a")
    dialect = {"anthropic": "anthropic", "gemini": "gemini"}.get(provider, "openai")
    body = msgspec.to_builtins(build(BuildRequest.of(ROW)).to_request(dialect).body)
    assert next(line[key] for key in ("body", "params", "request") if key in line) == json.loads(json.dumps(body))


@pytest.mark.parametrize("settings", [{"form": "nosuch"}, {"form": "body"}, {"form": "body", "provider": "nobody"}])
def test_settings_that_fit_no_row(settings: dict[str, Any]) -> None:
    """A form or a provider that is not known is told before any row."""
    with pytest.raises(UsageError):
        BatchSettings(**settings)


def test_common_fields_and_kept_columns(tmp_path: Path) -> None:
    """What settings say counts where a row says nothing; other columns are passed on as text."""
    common = {"tavern": "silly", "character": load_character(EXAMPLES / "wenna.json").to_dict(), "now": NOW}
    first, second = built(
        lines(
            {"message": "Hello?", "label": 3}, {"message": "Hello?", "character": {"name": "Tobin", "description": "x"}}
        ),
        request=common,
        keep=("label",),
    )
    assert (first["label"], second["label"]) == ("3", None)
    assert first["fingerprint"] != second["fingerprint"]


def test_an_empty_table() -> None:
    """No rows give no rows, with the columns of a result."""
    result = build_batch(lines())
    assert (result.num_rows, result.column_names[:2]) == (0, ["id", "messages"])


def test_a_defect_is_its_rows_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no reader has foreseen is an error of that row, without its text, and the others are built."""

    def broken(request: BuildRequest) -> Any:
        if request.message == "bad":
            raise ValueError(request.message)
        return build(request)

    monkeypatch.setattr("innkeeper.data.batch.build", broken)
    good, bad = built(lines(ROW, {**ROW, "message": "bad"}))
    assert good["error"] is None
    assert json.loads(bad["error"])["message"] == "internal error: ValueError"
