"""``innkeeper serve``: where it listens, and when it does not start."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from innkeeper.cli.app.root import main
from innkeeper.service import Settings
from innkeeper.service.exchange import encode
from innkeeper.taverns import smart
from tests.service.programs import CONSTRUCT, DOCUMENT, Service


def test_starts_and_stops(tmp_path: Path) -> None:
    """It says where it listens, answers with its settings, and ends with 0 when told to stop."""
    (tmp_path / "keys").write_text("from-file\n")
    words = ["--data", str(tmp_path), "--profile", "smarttavern", "--no-python", "--key-file", str(tmp_path / "keys")]
    with Service.command(*words, environment={"INNKEEPER_SERVICE_KEY": "from-env"}) as running:
        url = f"{running.url}/api/modules/api_gateway/info"
        assert httpx.get(url).status_code == 401
        for key in ("from-file", "from-env"):
            config = httpx.get(url, headers={"x-api-key": key}).json()["config"]
            facts = {name: config[name] for name in ("profile", "python", "data", "key")}
            assert facts == {"profile": "smarttavern", "python": False, "data": True, "key": True}
        assert running.stop() == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "0.0.0.0"], "no key is set"),  # noqa: S104 - to be refused
        (["--profile", "other"], "unknown profile"),
        (["--data", "/no/such/folder"], "is not there"),
        (["--key-file", "/no/such/file"], "cannot be read"),
        (["--port", "70000"], "--port"),
        (["--max-body", "0"], "--max-body"),
    ],
)
def test_does_not_start(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What it cannot serve safely, or at all, is wrong usage, with a hint."""
    assert main(["serve", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "hint:" in error


def test_the_folder_that_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who is in the folder of a profile, and names it from outside, learns how to name it."""
    (tmp_path / "profile.toml").write_text('name = "wenna"', "utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["serve", "--profile", "examples"]) == 2
    assert "--profile . is the profile of this folder" in capsys.readouterr().err


@pytest.mark.parametrize(("keys", "words"), [("", "open, for this machine only"), ("k", "every call needs a key")])
def test_words(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], keys: str, words: str) -> None:
    """People are told where it listens and who may call."""
    monkeypatch.setenv("INNKEEPER_SERVICE_KEY", keys)
    seen: list[Settings] = []

    def run(settings: Settings, ready: Any, **_: Any) -> None:
        seen.append(settings)
        ready("http://here")

    monkeypatch.setattr("innkeeper.service.serve", run)
    assert main(["serve", "--cors-origin", "https://a.example", "--max-body", "5", "--time-budget", "2"]) == 0
    assert capsys.readouterr().out == f"Innkeeper listens on http://here ({words}). Ctrl-C stops it.\n"
    assert (seen[0].cors_origins, seen[0].max_body, seen[0].time_budget) == (("https://a.example",), 5, 2.0)
    assert main(["serve", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"listening": "http://here", "open": not keys}


PATH = CONSTRUCT.removeprefix("/api/modules/")
TEXT = "smarttavern/macro/process_text"

CONVERSATION: dict[str, Any] = {
    **DOCUMENT,
    "variables": {"stat_data": {"心": {"醋意值": ["42", "min"]}}, "place": "工坊"},
    "world_books": [
        *DOCUMENT["world_books"],
        {"entries": [{"id": 9, "mode": "conditional", "position": "system", "depth": 1, "content": "C"}
                     | {"condition": "{{python:legacy_num(getvar('stat_data.心.醋意值[0]'),0) >= 30}}"}]},
        [{"id": 10, "mode": "conditional", "condition": "<<keywords:工程师>>", "content": "not in the history"}],
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """A running service."""
    with Service.command() as running:
        yield running


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """A conversation with variables and conditions, as a file."""
    path = tmp_path / "asked.json"
    path.write_text(json.dumps(CONVERSATION, ensure_ascii=False), encoding="utf-8")
    return path


def test_same_bytes(service: Service, asked: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Library, command, command on a service, and HTTP give the same bytes for one conversation."""
    library = encode(smart.construct(**CONVERSATION))
    assert main(["admin", "call", PATH, str(asked), "--json"]) == 0
    here = capfdbinary.readouterr().out
    assert main(["admin", "call", PATH, str(asked), "--json", "--url", service.url]) == 0
    there = capfdbinary.readouterr().out
    http = service.post(CONSTRUCT, CONVERSATION).content
    assert here == there == library + b"\n" == http + b"\n"
    contents = [message["content"] for message in json.loads(http)["messages"]]
    assert contents == ["系统开场", "C", "你好艾拉", "系统注入示例", "艾拉是机械工程师"]


def test_same_chance(service: Service, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """With a moment and a seed, time and dice are the same in both places."""
    path = tmp_path / "text.json"
    path.write_text(json.dumps({"text": "{{time}} {{roll:1d1000000}}|{{python:random.random()}}"}))
    words = ["admin", "call", TEXT, str(path), "--json", "--now", "2026-01-02T03:04:05Z", "--seed", "7"]
    assert main(words) == main([*words, "--url", service.url]) == 0
    first, second = capfdbinary.readouterr().out.splitlines()
    assert first == second


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        (TEXT, '{"text": "a"}', 0),
        ("smarttavern/prompt_raw/assemble_full", '{"presets": {}, "history": []}', 0),
        (TEXT, "{}", 2),
        (TEXT, '{"text": 3}', 2),
        (TEXT, "{bad", 65),
        (TEXT, '{"text": "a", "b": 1}', 65),
        ("smarttavern/chat_branches/branch_table", "{}", 65),
        ("no/such", "{}", 2),
        ("dots.are.wrong", "{}", 2),
        (TEXT, '{"text": "a", "variables": ' + "[" * 100 + "]" * 100 + "}", 65),
    ],
)
def test_exit_codes(tmp_path: Path, path: str, body: str, code: int) -> None:
    """The exit code tells an answer from a refusal and from wrong usage."""
    file = tmp_path / "body.json"
    file.write_text(body)
    assert main(["admin", "call", path, str(file)]) == code


def test_without_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    """An operation without arguments needs no file; without ``--json`` the reply is laid out."""
    assert main(["admin", "call", "smarttavern/macro/list", "--namespace", "modules"]) == 0
    assert capsys.readouterr().out == '{\n  "success": true,\n  "items": {}\n}\n'


def test_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Operations on files read the folder that is named."""
    assert main(["admin", "call", "smarttavern/data_catalog/list_presets", "--data", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)["total"] == 0
    assert main(["admin", "call", "smarttavern/data_catalog/list_presets", "--data", str(tmp_path / "none")]) == 2


def test_nobody_there(capsys: pytest.CaptureFixture[str]) -> None:
    """A service that does not answer is unavailable."""
    assert main(["admin", "call", TEXT, "--url", "http://127.0.0.1:1"]) == 69
    assert "NETWORK_ERROR" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("status", "reply", "code"),
    [(200, b"<html>", 65), (500, b"<html>", 70), (200, b"[1]", 0), (503, b"{}", 70), (413, b"{}", 65)],
)
def test_other_replies(monkeypatch: pytest.MonkeyPatch, status: int, reply: bytes, code: int) -> None:
    """A reply that no service of ours gives is printed as it is."""
    monkeypatch.setattr("innkeeper.service.client.exchange", lambda *_, **__: (status, reply))
    assert main(["admin", "call", TEXT, "--url", "http://127.0.0.1:1"]) == code


def test_explain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--explain`` adds what was left out and why."""
    file = tmp_path / "text.json"
    file.write_text('{"text": "{{foo}}"}')
    assert main(["admin", "call", "smarttavern/macro/process_text", str(file), "--explain"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"][0]["text"] == "1:1: there is no macro 'foo'"
