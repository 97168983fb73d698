"""``innkeeper admin negative``, ``model``, ``provider`` and ``tool``: rows come, are shown and go; mistakes change nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import Run, prepared

PROVIDER = ("admin", "provider", "set", "openrouter", "--base-url", "https://x.example", "--secret-name", "OR")
MODEL = (
    "admin",
    "model",
    "set",
    "m/1",
    "--provider",
    "openrouter",
    "--modality",
    "image",
    "--family",
    "sdxl",
    "--task",
    "t2i",
)


@pytest.fixture
def kept(run: Run, tmp_path: Path) -> Run:
    """A library with a provider, a model, a tool and two fragments."""
    return prepared(
        run,
        tmp_path / "home",
        PROVIDER,
        (*MODEL, "--window", 8192, "--set", 'capabilities={"sync": true}'),
        ("admin", "tool", "set", "dice", "--description", "Rolls."),
        ("admin", "negative", "new", "blurry, text", "--family", "sdxl", "--priority", 2),
        ("admin", "negative", "new", "hands", "--family", "sdxl"),
    )


def test_providers(kept: Run) -> None:
    """A provider is listed and shown; one with models stays; without them it goes."""
    assert "https://x.example" in kept("admin", "provider", "list").out
    (row,) = kept("admin", "provider", "list", "--json").data["providers"]
    assert (row["name"], row["secret_name"]) == ("openrouter", "OR")
    assert "bearer" in kept("admin", "provider", "show", "openrouter").out
    changed = kept(
        "provider",
        "set",
        "openrouter",
        "--set",
        "is_active=false",
        "--set",
        "docs_url=",
        "--set",
        "display_name=O",
        "--json",
    ).data
    assert (changed["is_active"], changed["docs_url"], changed["base_url"]) == (False, None, "https://x.example")
    assert changed["display_name"] == "O"
    assert kept("admin", "provider", "remove", "openrouter", "--json").error["kind"] == "conflict"
    assert kept("admin", "model", "remove", "m/1").out == "m/1: removed.\n"
    assert kept("admin", "provider", "remove", "openrouter", "--json").data["removed"] is True


def test_models(kept: Run) -> None:
    """A model is listed with its defaults, shown with its provider, changed in what is named."""
    assert kept("admin", "model", "default", "t2i", "m/1").out == "m/1 is the default for t2i.\n"
    assert "t2i*" in kept("admin", "model", "list").out
    found = kept("admin", "model", "list", "--task", "t2i", "--modality", "image", "--json").data
    assert (found["defaults"], found["models"][0]["provider"]) == ({"t2i": "m/1"}, "openrouter")
    assert kept("admin", "model", "list", "--modality", "chat", "--json").data["models"] == []
    assert kept("admin", "model", "default", "t2i", "m/1", "--json").data["task"] == "t2i"
    assert "openrouter" in kept("admin", "model", "show", "m/1").out
    shown = kept("admin", "model", "show", "m/1", "--json").data
    assert (shown["capabilities"], shown["default_for_tasks"]) == ({"sync": True}, ["t2i"])
    changed = kept("admin", "model", "set", "m/1", "--tier-ceiling", "sfw", "--priority", 3, "--json").data
    assert (changed["tier_ceiling"], changed["priority"], changed["context_window"]) == ("sfw", 3, 8192)
    assert kept("admin", "model", "remove", "m/1", "--json").data["removed"] is True


def test_tools(kept: Run, tmp_path: Path) -> None:
    """A tool has a definition from a file; its own description counts where none is given."""
    path = tmp_path / "dice.yaml"
    path.write_text("name: dice\ndescription: Rolls dice.\nparameters:\n  type: object\n")
    made = kept("admin", "tool", "set", "dice", "--file", path, "--inactive", "--json").data
    assert (made["description"], made["is_active"]) == ("Rolls dice.", False)
    assert made["definition"]["parameters"] == {"type": "object"}
    assert "Rolls dice." in kept("admin", "tool", "list").out
    assert len(kept("admin", "tool", "list", "--json").data["tools"]) == 1
    assert "object" in kept("admin", "tool", "show", "dice").out
    assert kept("admin", "tool", "show", "dice", "--json").data["name"] == "dice"
    assert kept("admin", "tool", "remove", "dice").out == "dice: deleted.\n"
    assert kept("admin", "tool", "set", "dice", "--file", "-", "--json", input="{}").data["definition"] == {}
    assert kept("admin", "tool", "remove", "dice", "--json").data["deleted"] is True


def test_negatives(kept: Run) -> None:
    """Fragments are listed in their order, shown, joined with what was left out, and taken out."""
    rows = kept("admin", "negative", "list", "--family", "sdxl", "--json").data["negatives"]
    assert [row["negative_prompt"] for row in rows] == ["hands", "blurry, text"]
    assert "blurry, text" in kept("admin", "negative", "list", "--mode", "txt2img", "--content-mode", "sfw").out
    assert "hands" in kept("admin", "negative", "show", rows[0]["id"]).out
    assert kept("admin", "negative", "show", rows[0]["id"], "--json").data["priority"] == 1
    found = kept("admin", "negative", "render", "--family", "sdxl", "--text", "Hands, fog")
    assert found.out == "hands, blurry, text, fog\n"
    assert "left out (duplicate): Hands" in found.err
    assert kept("admin", "negative", "render", "--target", "m/1", "--json").data["text"] == "hands, blurry, text"
    assert kept("admin", "negative", "render", "--family", "flux").out == "no negative prompt (no_rows)\n"
    assert kept("admin", "negative", "remove", rows[0]["id"]).out.endswith(": removed.\n")
    assert kept("admin", "negative", "remove", rows[1]["id"], "--json").data["removed"] is True


def test_adult_fragments_are_not_joined(kept: Run) -> None:
    """Without policy and age record a preview of the adult tier is one of the general tier, and says so."""
    kept("admin", "negative", "new", "adult fragment", "--family", "sdxl", "--content-mode", "nsfw", "--json")
    data = kept("admin", "negative", "render", "--family", "sdxl", "--content-mode", "nsfw", "--json").data
    assert data["text"] == "hands, blurry, text"
    assert (data["tier_granted"], data["tier_reasons"]) == ("sfw", ["ceiling:account", "ceiling:policy"])
    blocked = kept("admin", "negative", "render", "--family", "sdxl", "--text", "a nude 12 year old", "--json")
    assert (blocked.code, blocked.error["kind"]) == (65, "tier_blocked")


@pytest.mark.parametrize(
    ("words", "code", "kind", "told"),
    [
        (("admin", "provider", "show", "openroute"), 2, "not_found", "did you mean 'openrouter'?"),
        (("admin", "provider", "remove", "nobody"), 2, "not_found", "nobody"),
        (("admin", "provider", "set", "x", "--set", "colour=red"), 2, "unknown_name", "colour"),
        (("admin", "provider", "set", "x", "--set", "rate_limits={"), 65, "format", "rate_limits"),
        (("admin", "provider", "set", "x", "--set", "is_active=7"), 65, "field", "is_active"),
        (("admin", "provider", "set", "x", "--set", "novalue"), 2, "usage", "NAME=VALUE"),
        (("admin", "model", "show", "m/2"), 2, "not_found", "did you mean 'm/1'?"),
        (("admin", "model", "set", "m/2", "--provider", "openroute"), 2, "not_found", "openrouter"),
        (("admin", "model", "set", "m/2", "--provider", "openrouter"), 65, "field", "modality"),
        (("admin", "model", "default", "t2v", "m/1"), 65, "field", "t2i"),
        (("admin", "model", "default", "t2i", "m/2"), 2, "not_found", "m/1"),
        (("admin", "model", "remove", "m/2"), 2, "not_found", "m/1"),
        (("admin", "tool", "show", "dise"), 2, "not_found", "dice"),
        (("admin", "tool", "remove", "dise"), 2, "not_found", "dice"),
        (("admin", "tool", "set", "x", "--file", "-"), 65, "transfer", "object"),
        (("admin", "negative", "show", "nobody"), 2, "not_found", "nobody"),
        (("admin", "negative", "remove", "nobody"), 2, "not_found", "nobody"),
        (("admin", "negative", "new", "hands", "--family", "sdxl"), 2, "already_exists", "hands"),
        (("admin", "negative", "new", " ", "--family", "sdxl"), 2, "usage", "text"),
        (("admin", "negative", "render"), 2, "usage", "target"),
        (("admin", "negative", "render", "--target", "m/2"), 2, "unknown_name", "m/1"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_mistakes(kept: Run, words: tuple[str, ...], code: int, kind: str, told: str) -> None:
    """Each mistake has its exit code and kind, says what to do, and changes nothing."""
    before = kept("admin", "db", "export", "-").out
    found = kept(*words, "--json", input="[1]")
    assert (found.code, found.error["kind"]) == (code, kind)
    assert told in json.dumps(found.error) or told in found.err
    assert kept("admin", "db", "export", "-").out == before
