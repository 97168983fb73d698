"""Answering: what answers a plan, a model in this process or a provider's, and what a plan asks of it.

Which of them is meant is a `ModelChoice`: of the command line's words, the environment and the configuration.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from innkeeper.cli.settings.keys import key_for
from innkeeper.cli.settings.model_choice import LOCAL, ModelChoice
from innkeeper.dialects.plan_payload import plan_payload
from innkeeper.prompt import Plan, Ports, UsageError

if TYPE_CHECKING:
    from innkeeper.cli.settings.settings import Settings
    from innkeeper.inference.client.chat import ChatReply
    from innkeeper.prompt import TokenCounter
    from innkeeper.prompt.machine import Secret


COMPATIBLE: Final = "openai-compatible"
"""The dialect of chat completions at an address of one's own, and of the local model."""


def asked(plan: Plan, dialect: str = COMPATIBLE) -> tuple[str, list[dict[str, Any]], dict[str, Any]]:
    """Return what a plan asks of a chat completions endpoint: the model, the messages, the options (`plan_payload`)."""
    body = dict(plan_payload(plan, dialect).body)
    model, messages = body.pop("model", None), body.pop("messages")
    return model or "local", messages, body


class ChatClient(Protocol):
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
class ModelHandle:
    """A model's client, its name, and, where known, its window in tokens and its own way of counting.

    ``media`` reads what the chat names, for its builds. ``address`` is the provider's, None for a model in this process.
    """

    client: ChatClient
    model: str
    window: int | None = None
    counter: TokenCounter | None = None
    media: Callable[[str], bytes | None] | None = None
    address: str | None = None

    @property
    def ports(self) -> Ports:
        """The ports of builds for it."""
        return Ports(token_counter=self.counter, media=self.media)

    def close(self) -> None:
        """Let the model or the connection go."""
        self.client.close()


class Nobody:
    """A client for looking only: it is never asked."""

    def chat(self, *_: Any, **__: Any) -> ChatReply:
        """There is nobody. Raises `UsageError`."""
        raise UsageError("nobody is there to answer")

    def close(self) -> None:
        """There is nothing to let go."""


def open_choice(choice: ModelChoice, settings: Settings, window: int | None) -> ModelHandle:
    """What answers for a model that is chosen, with its stored key. Raises what `open_model` does."""
    key = None if choice.address is None else key_for(choice.address, settings)
    return open_model(choice.name, choice.address, window, key)


def open_model(
    model: str | None, base_url: str | None = None, window: int | None = None, key: Secret | None = None
) -> ModelHandle:
    """What answers for ``model``. Without a name: the provider's at ``base_url``, or the local one where none is given.

    The provider's ``key`` comes from ``INNKEEPER_API_KEY`` where left out. Raises `UsageError`, `UnavailableError`.
    """
    kind, _, name = (model or LOCAL).partition(":")
    if kind != LOCAL or base_url:
        return _provider(model, base_url, window, key)
    from innkeeper.inference.local.model import LocalModel
    from innkeeper.inference.local.weights import DEFAULT_MODEL

    opened = LocalModel.open(name or DEFAULT_MODEL, context_window=window)
    return ModelHandle(opened, opened.name, opened.context_window, opened.counter())


def _provider(model: str | None, base_url: str | None, window: int | None, key: Secret | None) -> ModelHandle:
    from innkeeper.inference.client.clients import Client

    # httpx tries to bring a command line of its own, with colours for source code: a seventh of the time to the first request.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
    if not model:
        raise UsageError("a provider needs the name of a model", hint="--model NAME")
    return ModelHandle(Client(base_url, api_key=key.reveal() if key else None), model, window, address=base_url)
