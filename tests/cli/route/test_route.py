"""``innkeeper admin route``: where requests go and why, and the policies that decide it; ``innkeeper admin worker`` beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Run

CHAT = ("--modality", "chat", "--task", "roleplay")


@pytest.fixture
def kept(run: Run) -> Run:
    """A library with two providers and a model at each."""
    for words in (
        ("admin", "provider", "set", "openrouter", "--set", "tier_ceiling=nsfw"),
        ("admin", "provider", "set", "groq"),
        (
            "model",
            "set",
            "maker/one",
            "--provider",
            "openrouter",
            "--modality",
            "chat",
            "--task",
            "roleplay",
            "--window",
            8192,
        ),
        (
            "model",
            "set",
            "two",
            "--provider",
            "groq",
            "--modality",
            "chat",
            "--task",
            "roleplay",
            "--set",
            'pricing={"input": 2}',
        ),
    ):
        assert run(*words).code == 0
    return run


def test_explain(kept: Run) -> None:
    """Each deployment has its place or the reason why it has none; the policy is told; nowhere is an exit code of its own."""
    told = kept("admin", "route", "explain", "--task", "roleplay", "--json").data
    assert [(one["deployment"], one["place"]) for one in told["candidates"]] == [
        ("groq/two", 1),
        ("openrouter/maker/one", 2),
    ]
    assert told["policy"]["name"] == "default"
    adult = kept("admin", "route", "explain", "--task", "roleplay", "--tier", "nsfw", "--json").data["candidates"]
    assert {one["deployment"]: one["refused"] for one in adult} == {
        "openrouter/maker/one": "",
        "groq/two": "tier_ceiling",
    }
    long = kept("admin", "route", "explain", "--model", "maker/one", "--input-tokens", 9000)
    assert long.code == 69
    assert "context_window" in long.out
    assert "busy, then price, then priority" in long.err


def test_a_model_that_nobody_has_is_refused_by_its_name(kept: Run) -> None:
    """As everywhere else, with the nearest of those that there are."""
    refused = kept("route", "explain", "--model", "maker/on")
    assert (refused.code, "unknown model 'maker/on'" in refused.err, "maker/one" in refused.err) == (2, True, True)
    assert kept("route", "explain", "--model", "maker/one").code == 0


def test_explain_pictures(run: Run) -> None:
    """Pictures and videos are explained as jobs go: to models whose provider makes some, else to the tiny picture."""
    bare = run("admin", "route", "explain", "--modality", "video", "--task", "t2v", "--json").data["candidates"]
    assert [(one["deployment"], one["refused"]) for one in bare] == [
        ("tiny-seed-picture/video", ""),
        ("tiny-seed-picture", "modality"),
    ]
    assert run("admin", "provider", "set", "fal").code == 0
    words = ("--modality", "image", "--task", "t2i", "--set", 'pricing={"per_image": 0.03}')
    assert run("admin", "model", "set", "fal-ai/x", "--provider", "fal", *words).code == 0
    told = run("admin", "route", "explain", "--modality", "image", "--task", "t2i", "--json").data["candidates"]
    assert [(one["deployment"], one["estimate"]) for one in told if not one["refused"]] == [("fal/fal-ai/x", 0.03)]


def test_policies(kept: Run) -> None:
    """A policy is a row: set, listed, shown, removed; what it says counts at once; what is none is refused."""
    assert (
        kept(
            "admin", "route", "policy", "set", "mine", "--task", "roleplay", "--criteria", "priority", "--attempts", 2
        ).code
        == 0
    )
    assert "mine" in kept("admin", "route", "policy", "list").out
    assert kept("admin", "route", "policy", "show", "mine", "--json").data["criteria"] == ["priority"]
    assert kept("admin", "route", "explain", "--task", "roleplay", "--json").data["policy"]["attempts"] == 2
    twice = kept("admin", "route", "policy", "set", "mine", "--criteria", "price", "--criteria", "price", "--json")
    assert twice.error["kind"] == "field"
    assert kept("admin", "route", "policy", "set", "mine", "--money", 0, "--json").error["kind"] == "field"
    assert kept("admin", "route", "policy", "remove", "mine").code == 0


def test_workers(run: Run) -> None:
    """An invitation is shown once; a worker that there is not is named; hosts are looked at before."""
    made = run("admin", "worker", "invite", "--host", "10.0.0.0/8", "--minutes", 5, "--json").data
    assert len(made["invitation"]) == 64
    assert run("admin", "worker", "invite", "--host", "http://x", "--json").error["kind"] == "config"
    assert run("admin", "worker", "list", "--json").data == {"workers": []}
    assert "state" in run("admin", "worker", "list").out
    for command in ("drain", "release", "remove"):
        assert run("admin", "worker", command, "nobody", "--json").error["kind"] == "not_found"


def test_worker_cycle(run: Run, tmp_path: Path) -> None:
    """A worker drains, is released and removed by its id."""
    from innkeeper.library.db.engine import Database
    from innkeeper.library.workers.store import WorkerReport, WorkerStore

    path = tmp_path / "library.db"
    with Database.open(path) as db:
        store = WorkerStore(db)
        made = store.enrol(store.invite(), "http://w", WorkerReport())
    where = ("--database", path)
    assert "draining" in run("admin", "worker", "drain", made.id, *where).out
    assert run("admin", "worker", "release", made.id, "--json", *where).data["state"] == "dead"
    assert made.id in run("admin", "worker", "list", *where).out
    assert run("admin", "worker", "remove", made.id, *where).code == 0
