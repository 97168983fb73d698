"""Speakers: what answers a chat, by the name that a command line gives it: a model in this process, or a provider's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from innkeeper.prompt import Ports, UsageError

if TYPE_CHECKING:
    from innkeeper.inference.chat import ChatReply
    from innkeeper.prompt import TokenCounter
    from innkeeper.tokens import Framing

__all__ = ["LOCAL", "Seated", "Speaker", "seat"]

LOCAL: Final = "local"
"""The model that means: the one in this process. ``local:NAME`` is another one that is installed."""


class Speaker(Protocol):
    """What answers: `innkeeper.inference.Client`, a `LocalModel`, or a stand-in."""

    def chat(
        self,
        model: str,
        messages: Sequence[Mapping[str, Any]],
        *,
        stream: bool = ...,
        include_usage: bool = ...,
        on_delta: Callable[[str], Any] | None = ...,
        **options: Any,
    ) -> ChatReply:
        """Answer messages; call ``on_delta`` with each piece."""
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...


@dataclass(frozen=True, slots=True)
class Seated:
    """A speaker, the model's name, and, where known, its window in tokens and its way of counting texts and messages."""

    speaker: Speaker
    model: str
    window: int | None = None
    counter: TokenCounter | None = None
    framing: Framing | None = None

    @property
    def ports(self) -> Ports:
        """The ports of builds for it."""
        return Ports(token_counter=self.counter)

    def close(self) -> None:
        """Let the model or the connection go."""
        self.speaker.close()


def seat(model: str | None, base_url: str | None = None, window: int | None = None) -> Seated:
    """What answers for ``model``. Without a name: the provider's at ``base_url``, or the local one where none is given.

    The key of a provider comes from ``INNKEEPER_API_KEY``. Raises `UsageError`, `ModelMissingError`, `LocalEngineError`.
    """
    kind, _, name = (model or LOCAL).partition(":")
    if kind != LOCAL or base_url:
        return _provider(model, base_url, window)
    from innkeeper.inference.local import LocalModel
    from innkeeper.inference.local_models import DEFAULT_MODEL

    opened = LocalModel.open(name or DEFAULT_MODEL, context_window=window)
    return Seated(opened, opened.name, opened.context_window, opened.counter(), opened.framing)


def _provider(model: str | None, base_url: str | None, window: int | None) -> Seated:
    from innkeeper.inference.client import Client

    if not model:
        raise UsageError("a provider needs the name of a model", hint="--model NAME")
    return Seated(Client(base_url), model, window)
