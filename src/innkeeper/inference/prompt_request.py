"""PromptRequest and PromptResult: one request as it will be sent, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from innkeeper.inference.chunks import text_of, whole_text
from innkeeper.prompt import FrozenDict, thaw

if TYPE_CHECKING:
    from innkeeper.inference.capabilities import Capabilities
    from innkeeper.inference.output_tags.config import OutputTagsConfig
    from innkeeper.inference.response import Response
    from innkeeper.prompt import Context, Note, Plan, VariablesStore

__all__ = ["PromptRequest", "PromptResult"]


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """A request and where it came from. ``payload`` is what the provider gets; `request` and `messages` are copies of it.

    ``options`` are the request options as they were decided, including those that this model is not sent. ``notes`` say what
    the dialect lost or repaired and which inputs had no effect.
    """

    plan: Plan
    context: Context
    capabilities: Capabilities
    dialect: str
    payload: FrozenDict
    options: FrozenDict
    strict: bool
    response_transforms: tuple[Any, ...]
    output_tags: OutputTagsConfig
    notes: tuple[Note, ...] = ()

    @property
    def request(self) -> dict[str, Any]:
        """The provider's request, as plain data of the caller's own."""
        copy: dict[str, Any] = thaw(self.payload)
        return copy

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Its messages, as plain data of the caller's own."""
        copy: list[dict[str, Any]] = thaw(self.payload["messages"])
        return copy

    def commit(self, store: VariablesStore) -> None:
        """Write what the build changed in its variables into ``store``: for requests that were built without committing.

        Names that the build left alone stay as they are in the store, whoever has written them since.
        """
        before = self.plan.request.variables if self.plan.request is not None else {}
        for scope in {*before, *self.plan.variables}:
            old, new = before.get(scope, {}), self.plan.variables.get(scope, {})
            for name in old.keys() - new.keys():
                store.delete(name, scope)
            for name, value in new.items():
                if name not in old or old[name] != value:
                    store.set(name, thaw(value), scope)


@dataclass(frozen=True, slots=True)
class PromptResult:
    """What a request gave. ``assistant_message`` is plain data, after the response transforms; ``elapsed_ms`` the whole call."""

    prompt_request: PromptRequest
    response: Response
    body: Mapping[str, Any]
    assistant_message: dict[str, Any]
    finish_reason: str | None
    elapsed_ms: float

    @property
    def content(self) -> str:
        """The message's text."""
        return whole_text(text_of(self.assistant_message.get("content")))

    @property
    def usage(self) -> Mapping[str, Any] | None:
        """The provider's token figures."""
        usage = self.body.get("usage")
        return usage if isinstance(usage, Mapping) else None

    def __repr__(self) -> str:
        """Without the texts, which may be private."""
        return f"PromptResult(finish_reason={self.finish_reason!r}, elapsed_ms={self.elapsed_ms:.1f})"
