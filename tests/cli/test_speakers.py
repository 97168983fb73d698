"""Who answers: the model in this process, or a provider's, by the name that is given."""

from typing import Any

import pytest

from innkeeper.cli.speakers import seat
from innkeeper.inference import local
from innkeeper.inference.client import Client
from innkeeper.inference.local import LocalModel
from innkeeper.prompt import ConfigError, UsageError


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Instead of loading a model, note which one was wanted."""
    asked: list[tuple[str, Any]] = []

    def open_model(name: str, *, context_window: int | None = None) -> LocalModel:
        asked.append((name, context_window))
        return LocalModel(object(), name=name, context_window=context_window or 4096)

    monkeypatch.setattr(local.LocalModel, "open", open_model)
    return asked


@pytest.mark.parametrize(
    ("model", "window", "expected"),
    [
        (None, None, ("smollm2", None)),
        ("local", 512, ("smollm2", 512)),
        ("local:mine", None, ("mine", None)),
    ],
)
def test_local(opened: list[tuple[str, Any]], model: str | None, window: int | None, expected: tuple[str, Any]) -> None:
    """Without a name it is the local model; its window and its own way of counting come with it."""
    seated = seat(model, window=window)
    assert opened == [expected]
    assert (seated.model, seated.window) == (expected[0], window or 4096)
    assert seated.counter is not None
    seated.close()


def test_provider() -> None:
    """A name of another kind is a provider's; nothing is asked before the first turn."""
    seated = seat("gpt-4o", "https://provider.example/v1", 1000)
    assert isinstance(seated.speaker, Client)
    assert (seated.model, seated.window, seated.counter) == ("gpt-4o", 1000, None)
    seated.close()


def test_provider_without_a_model() -> None:
    """A provider needs to be told the model."""
    with pytest.raises(UsageError, match="name of a model"):
        seat(None, "https://provider.example")


def test_bad_address() -> None:
    """An address that is none is refused at once."""
    with pytest.raises(ConfigError):
        seat("gpt-4o", "provider.example")
