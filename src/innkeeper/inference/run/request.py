"""One request of a runner: how it is made ready, what is sent, and what came of it.

`PromptRequest` is the request as it will be sent, `PromptResult` the answer. `preflight` checks before anything is sent what a
request may ask of its model; `apply_request_policy` decides about parallel tool calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from innkeeper.inference.capabilities import Capabilities
from innkeeper.inference.errors import PreflightError
from innkeeper.prompt import FrozenDict, thaw
from innkeeper.prompt.text import text_of, whole_text

if TYPE_CHECKING:
    from innkeeper.inference.client.endpoint import Response
    from innkeeper.inference.output_tags import OutputTagsConfig
    from innkeeper.prompt import Context, Note, Plan, VariablesStore


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


def preflight(options: Mapping[str, Any], capabilities: Capabilities, *, stream: bool = False) -> None:
    """Raise `PreflightError` when ``options`` contradict one another or the model's capabilities.

    Tools and a response format never go together, nor does a stream with either (TavernKit's *Preflight*).
    """
    tools, form = _wants_tools(options), options.get("response_format")
    if tools and form:
        _refuse("tools cannot be combined with response_format", "ask for one of them")
    if stream and (tools or form):
        _refuse("a stream cannot be combined with tools or response_format", "ask for a whole answer")
    if tools:
        _need(capabilities.supports_tools, "tools", capabilities)
    if stream:
        _need(capabilities.supports_streaming, "streaming", capabilities)
    if form:
        _check_form(form, capabilities)


def _check_form(form: Any, capabilities: Capabilities) -> None:
    kinds = {
        "json_object": capabilities.supports_response_format_json_object,
        "json_schema": capabilities.supports_response_format_json_schema,
    }
    kind = form.get("type") if isinstance(form, Mapping) else None
    _need(kinds.get(str(kind), any(kinds.values())), f"response_format {kind or 'of this kind'}", capabilities)


def _need(able: bool, what: str, capabilities: Capabilities) -> None:  # noqa: FBT001 - a yes or no
    if not able:
        _refuse(
            f"{capabilities.provider} {capabilities.model} does not support {what}",
            "pass capabilities_overrides if it does",
        )


def _refuse(message: str, hint: str) -> None:
    raise PreflightError(message, hint=hint)


def _wants_tools(options: Mapping[str, Any]) -> bool:
    return bool(options.get("tools")) or bool(options.get("tool_choice"))


def apply_request_policy(
    options: Mapping[str, Any], capabilities: Capabilities
) -> tuple[dict[str, Any], dict[str, Any]]:
    """``(options, sent)``: options with ``parallel_tool_calls`` decided, and those that the model is sent.

    A response format forces it off; tools turn it off unless the caller says otherwise. It is sent beside tools only, to
    models that know it: without tools providers refuse it. Raises `PreflightError` when it is not a boolean.
    """
    decided = dict(options)
    tools = _wants_tools(options)
    if (tools and decided.get("parallel_tool_calls") is None) or options.get("response_format"):
        decided["parallel_tool_calls"] = False
    parallel = decided.get("parallel_tool_calls")
    if parallel is not None and not isinstance(parallel, bool):
        _refuse("parallel_tool_calls must be true or false", "it is a switch")
    hidden = parallel is None or not tools or not capabilities.supports_parallel_tool_calls
    return decided, {k: v for k, v in decided.items() if not (hidden and k == "parallel_tool_calls")}
