"""``innkeeper admin vault``: secrets go in and never come out, whatever is asked, whatever fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Ran, Run

CANARY = "canary-9f3b1c-hunter2"


@pytest.fixture
def kept(run: Run) -> Run:
    """A vault with a key and a secret."""
    assert run("admin", "vault", "init").code == 0
    assert run("admin", "vault", "set", "OPENROUTER", "--who", "ann", input=f"{CANARY}\r\n").code == 0
    return run


def test_no_surface_tells_a_secret(kept: Run, tmp_path: Path) -> None:
    """Nothing that commands print, export, query or write holds the secret or the key; nor does the database file."""
    key = (tmp_path / "home" / "vault.key").read_text().strip()
    kept("admin", "provider", "set", "or", "--secret-name", "OPENROUTER")
    runs: list[Ran] = []
    for json_ in ((), ("--json",)):
        runs += [
            kept("admin", "vault", "list", *json_),
            kept("admin", "vault", "status", *json_),
            kept("admin", "vault", "check", *json_),
            kept("admin", "vault", "rotate", *json_),
            kept("admin", "vault", "set", "OPENROUTER", CANARY, *json_),
            kept("admin", "vault", "set", "OPENROUTER", f"--value={CANARY}", *json_),
            kept("admin", "vault", "set", "no name!", *json_, input=CANARY),
            kept("admin", "vault", "set", "A", *json_, input=CANARY * 4_000),
            kept("admin", "vault", "set", "A", *json_, input=CANARY.encode() + b"\xff"),
            kept("admin", "vault", "remove", "OPENROUTR", *json_),
            kept("admin", "provider", "list", *json_),
            kept("admin", "db", "query", "SELECT * FROM secrets", *json_),
            kept("admin", "db", "query", "SELECT * FROM audit_events", *json_),
            kept("admin", "db", "export", "-"),
            kept("cache", "show", *json_),
            kept("admin", "logs", "list", *json_),
            kept("--debug", "vault", "set", "A", "B", CANARY, *json_),
        ]
    kept("cache", "rebuild")
    told = "".join(one.out + one.err for one in runs)
    assert CANARY not in told
    assert key not in told
    for path in (tmp_path / "home").iterdir():
        data = path.read_bytes()
        assert CANARY.encode() not in data, path
        assert path.name == "vault.key" or key.encode() not in data, path


def test_life_of_a_secret(kept: Run) -> None:
    """A secret is listed as set, by whom and by which key; it can be replaced and forgotten."""
    listed = kept("admin", "vault", "list", "--json").data["secrets"]
    assert [(one["name"], one["is_set"], one["updated_by"]) for one in listed] == [("OPENROUTER", True, "ann")]
    assert "OPENROUTER  yes" in kept("admin", "vault", "list").out
    again = kept("admin", "vault", "set", "OPENROUTER", "--json", input="other")
    assert again.data["is_set"] is True
    assert kept("admin", "vault", "remove", "OPENROUTER").out == "OPENROUTER: forgotten.\n"
    assert kept("admin", "vault", "list", "--json").data == {"secrets": []}
    kept("admin", "vault", "set", "A", input="x")
    assert kept("admin", "vault", "remove", "A", "--json").data == {"name": "A", "is_set": False}


def test_asked_at_a_terminal(kept: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a terminal the value is asked for, twice and unseen."""
    asked: list[dict[str, object]] = []

    def prompt(text: str, **given: object) -> str:
        asked.append({"text": text, **given})
        return CANARY

    monkeypatch.setattr("click.prompt", prompt)
    monkeypatch.setattr("innkeeper.cli.keep.vault._is_terminal", lambda: True)
    found = kept("admin", "vault", "set", "B")
    assert (found.code, found.out) == (0, "B: set.\n")
    assert asked == [{"text": "Value of B", "hide_input": True, "confirmation_prompt": True, "err": True}]


def test_keys(kept: Run, tmp_path: Path) -> None:
    """Status and rotation tell of keys by their ids; old ones are let go only when said."""
    first = kept("admin", "vault", "status", "--json").data
    assert (first["secrets"], first["sealed_by_others"], len(first["keys"])) == (1, 0, 1)
    turned = kept("admin", "vault", "rotate")
    assert turned.out.startswith("1 secrets sealed with the key ")
    last = kept("admin", "vault", "rotate", "--drop-old", "--json").data
    assert first["key_id"] in last["dropped"]
    assert "let go" in kept("admin", "vault", "rotate", "--drop-old").out
    assert kept("admin", "vault", "init", "--json").error["kind"] == "vault"
    made = kept("admin", "vault", "init", "--keys", "file", "--json", "--database", tmp_path / "other.db")
    assert made.error["kind"] == "vault"


@pytest.mark.parametrize(
    ("damage", "kind", "told"),
    [
        ("gone", "vault_key_missing", "innkeeper admin vault init"),
        ("open", "vault_key", "chmod 600"),
        ("other", "vault_key", "sealed with the key"),
    ],
)
def test_doctor(kept: Run, tmp_path: Path, damage: str, kind: str, told: str) -> None:
    """A lost key, one that others may read and another one: each is found, told with its mend, and exits with 69."""
    path = tmp_path / "home" / "vault.key"
    if damage == "open":
        path.chmod(0o644)
    else:
        path.unlink()
        if damage == "other":
            kept("admin", "vault", "init")
    found = kept("admin", "vault", "check", "--json")
    assert found.code == 69
    assert kind in {one["code"] for one in found.data["findings"]}
    shown = kept("admin", "vault", "check")
    assert shown.code == 69
    assert told in " ".join(shown.out.split())
    assert kept("admin", "vault", "status").code == 0
    refused = kept("admin", "vault", "rotate", "--json")
    assert (refused.code, refused.error["kind"]) == (69, kind)


def test_well(kept: Run) -> None:
    """Where all is well the doctor says so."""
    found = kept("admin", "vault", "check")
    assert found.code == 0
    assert "opens" in found.out
    assert kept("admin", "vault", "check", "--json").data["ok"] is True


def test_init_as_json(run: Run, tmp_path: Path) -> None:
    """The first key is told by its id and place."""
    found = run("admin", "vault", "init", "--json").data
    assert found["place"] == str(tmp_path / "home" / "vault.key")
    assert run("admin", "vault", "status").out.count(found["key_id"]) == 1
