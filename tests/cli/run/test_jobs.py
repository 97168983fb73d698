"""``innkeeper image``, ``video`` and ``job``: a picture on a bare machine, and what can be done with its job."""

import json
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli import main
from innkeeper.prompt.errors import UsageError


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    """What a command answers as JSON."""
    assert main([*words, "--json"]) == code
    said = capsys.readouterr().out
    return json.loads(said) if said else None


def test_picture(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A picture is drawn, written and told of; the same prompt and seed give the same bytes; another starts from it."""
    words = ("image", "a red barn", "--seed", "0", "--width", "64", "--height", "64")
    one = run(capsys, *words, "--out", "barn.png")
    assert (one["state"], one["seed"], one["model"]) == ("succeeded", 0, "tiny-seed-picture")
    two = run(capsys, *words, "--count", "2")
    assert Path(two["files"][0]).read_bytes() == Path("barn.png").read_bytes()
    assert len(two["files"]) == 2
    started = run(capsys, "image", "in snow", "--seed", "0", "--from", "barn.png", "--width", "64", "--out", "snow.png")
    assert started["mode"] == "i2i"
    moving = run(capsys, "video", "waves", "--duration", "0.5", "--fps", "4", "--width", "64", "--height", "64")
    assert (moving["mode"], moving["state"]) == ("t2v", "succeeded")


def test_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    """A job that was only queued is listed, shown, cancelled, asked for again, carried out and deleted."""
    queued = run(capsys, "image", "a red barn", "--width", "64", "--height", "64", "--no-wait")
    assert queued["state"] == "queued"
    name = queued["id"]
    assert [one["id"] for one in run(capsys, "job", "list", "--state", "queued")["jobs"]] == [name]
    assert run(capsys, "job", "cancel", name)["state"] == "cancelled"
    assert run(capsys, "job", "retry", name)["state"] == "queued"
    run(capsys, "job", "run", "--until-idle")
    shown = run(capsys, "job", "show", name)
    assert [event["event"] for event in shown["events"]][:4] == ["created", "queued", "cancelled", "retried"]
    assert shown["state"] == "succeeded"
    run(capsys, "job", "retry", name, code=2)
    run(capsys, "job", "list", "--state", "odd", code=2)
    run(capsys, "job", "show", "none", code=2)
    assert run(capsys, "job", "letters", "--send-again") == {"letters": [], "sent_again": True}
    assert run(capsys, "job", "purge", "2100-01-01T00:00:00Z") == {"deleted": 1}


def test_priority(capsys: pytest.CaptureFixture[str]) -> None:
    """Every command that makes a job takes its priority; one changes it; the list shows it."""
    size = ("--width", "64", "--height", "64", "--no-wait", "--priority", "3")
    for words in (("image", "a barn"), ("video", "waves"), ("queue-job", "a barn"), ("fal-image", "a barn")):
        made = run(capsys, *words, *size)
        assert run(capsys, "job", "show", made["id"])["priority"] == 3, words
    scene = run(capsys, "generate-scene", "She opens the door.", "--told", "Mira", "--no-wait", "--priority", "3")
    assert run(capsys, "job", "show", scene["job_id"])["priority"] == 3
    assert run(capsys, "job", "set", made["id"], "--priority", "-2")["priority"] == -2
    assert {job["priority"] for job in run(capsys, "job", "list")["jobs"]} == {3, -2}
    run(capsys, "image", "a barn", "--priority", "11", code=2)


def test_work_waits_for_a_server_that_is_not_there_yet(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a process that runs waits for one that went away; what is wrong otherwise ends it."""
    from innkeeper.cli.run import jobs as commands
    from innkeeper.library.errors import DatabaseUnreachableError

    monkeypatch.setattr(commands, "_RETRY_SECONDS", 0.0)
    outcomes: list[Any] = [
        DatabaseUnreachableError("nobody listens"),
        DatabaseUnreachableError("nobody listens"),
        "jobs",
    ]

    def open_jobs() -> Any:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    assert commands._once_reached(open_jobs) == "jobs"  # type: ignore[comparison-overlap]
    assert capsys.readouterr().err.count("nobody listens") == 1
    outcomes.append(UsageError("another"))
    with pytest.raises(UsageError):
        commands._once_reached(open_jobs)


def test_for_people(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """People are told the file, the model that drew it, and what was not as they asked."""
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["image", "a red barn", "--seed", "1", "--width", "100", "--out", "barn.png"]) == 0
    said = capsys.readouterr()
    assert said.out == "barn.png\n"
    assert "tiny-seed-picture, seed 1" in said.err
    assert "width: asked 100, sent 128" in said.err
    job = run(capsys, "job", "list")["jobs"][0]["id"]
    assert main(["admin", "job", "list"]) == 0
    assert "succeeded" in capsys.readouterr().out
    for words in (["admin", "job", "show", job], ["admin", "job", "retry", job], ["admin", "job", "letters"]):
        main(words)
    assert "dispatched" in capsys.readouterr().out
