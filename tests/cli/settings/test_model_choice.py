"""ModelChoice: a model is found by alias, provider, address, or in this process; never at an address that nobody named."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from innkeeper.cli.settings.model_choice import choose_model
from innkeeper.cli.settings.settings import UserSettings
from innkeeper.prompt.errors import UnknownNameError, UsageError

FILE = {
    "base_url": "ollama",
    "aliases": {"models": {"fast": "openrouter:deep/seek", "here": "local:mine"}},
    "providers": {"mine": "https://llm.example"},
}


def settings(document: Mapping[str, object] | None = None, **environ: str) -> UserSettings:
    """Settings of a document."""
    return UserSettings(FILE if document is None else document, Path("config.toml"), environ)


@pytest.mark.parametrize(
    ("model", "base_url", "name", "address"),
    [
        (None, None, "local", None),
        ("local:other", None, "local:other", None),
        ("here", None, "local:mine", None),
        ("fast", None, "deep/seek", "https://openrouter.ai/api"),
        ("mine:a:b", None, "a:b", "https://llm.example"),
        ("gemma:2b", None, "gemma:2b", "http://localhost:11434"),
        ("gemma:2b", "https://x.example/v1", "gemma:2b", "https://x.example/v1"),
        ("gemma:2b", "mine", "gemma:2b", "https://llm.example"),
        ("local", "http://localhost:9", "local", "http://localhost:9"),
    ],
)
def test_choices(model: str | None, base_url: str | None, name: str, address: str | None) -> None:
    """The address comes from the model's provider, else from the option, else from the settings; a local model has none."""
    choice = choose_model(settings(), model, base_url)
    assert (choice.name, choice.address, choice.is_local) == (name, address, address is None)
    assert choice.wire_name == (None if address is None else name)


def test_environment() -> None:
    """Model and address of the environment count as those of the file do."""
    choice = choose_model(settings({}, INNKEEPER_MODEL="m", INNKEEPER_BASE_URL="http://localhost:7"))
    assert (choice.name, choice.address, choice.setting.source) == ("m", "http://localhost:7", "environment")


@pytest.mark.parametrize(
    ("model", "base_url", "words"),
    [
        (None, "http://localhost:9", "needs the name of a model"),
        ("fast", "http://localhost:9", "both say where it is"),
        ("gpt-4o", None, "nobody has said"),
    ],
)
def test_refused(model: str | None, base_url: str | None, words: str) -> None:
    """An address without a model, two addresses and none are refused before anything is sent."""
    without = {name: value for name, value in FILE.items() if name != "base_url"}
    with pytest.raises(UsageError, match=words):
        choose_model(settings(without), model, base_url)


def test_name_alone() -> None:
    """Who only needs the name is not asked where the model is."""
    choice = choose_model(settings({}), "gpt-4o", need_address=False)
    assert (choice.name, choice.wire_name, choice.is_local) == ("gpt-4o", "gpt-4o", False)


def test_unknown_provider() -> None:
    """An address that is none is taken for a provider's name, and near ones are offered."""
    with pytest.raises(UnknownNameError, match="unknown provider 'opneai'"):
        choose_model(settings(), "m", "opneai")
