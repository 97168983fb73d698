"""PromptRunner: from a chat to a provider's answer, one request at a time (1-vibetavern-pipeline, *PromptRunner*)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from innkeeper.inference.client.chat import ChatStream, choice_of
from innkeeper.inference.errors import DecodeError, PreflightError
from innkeeper.inference.run.config import RunnerConfig
from innkeeper.inference.run.request import PromptRequest, PromptResult, apply_request_policy, place_system, preflight
from innkeeper.inference.tools.transforms import MESSAGE_TRANSFORMS, RESPONSE_TRANSFORMS, TransformRegistry
from innkeeper.prompt import (
    BuildRequest,
    Note,
    NoteKind,
    Plan,
    Ports,
    UsageError,
    VariablesStore,
    build,
    deep_merge,
    freeze,
    thaw,
)
from innkeeper.prompt.dialect import Payload

__all__ = ["PromptRunner", "PromptStream"]

_NOT_HERE: Final = ("stream", "stream_options")
_DECIDED: Final = ("model", "messages")


@dataclass(frozen=True, slots=True)
class PromptRunner:
    """Builds prompts, checks them against the model, sends them once. It holds no state of a chat.

    ``client`` needs ``chat_completions(**request) -> response`` with a ``body``, and for streams ``chat(...)`` and
    ``chat_stream(...)`` as `Client` has them. Retries and fallbacks are the business of others.
    """

    client: Any
    message_transforms: TransformRegistry = field(default_factory=lambda: MESSAGE_TRANSFORMS)
    response_transforms: TransformRegistry = field(default_factory=lambda: RESPONSE_TRANSFORMS)
    timer: Callable[[], float] = time.perf_counter

    def __post_init__(self) -> None:
        if not callable(getattr(self.client, "chat_completions", None)):
            msg = f"a client needs chat_completions(**request); {type(self.client).__name__} has none"
            raise UsageError(msg)

    def build_request(  # noqa: PLR0913 - one argument an input, all by name
        self,
        runner_config: RunnerConfig,
        history: Any = None,
        *,
        system: str | None = None,
        character: Any = None,
        user: Any = None,
        message: str | None = None,
        meta: Mapping[str, Any] | None = None,
        variables_store: VariablesStore | None = None,
        strict: bool | None = None,
        llm_options: Mapping[str, Any] | None = None,
        dialect: str = "openai",
        message_transforms: Iterable[Any] = (),
        response_transforms: Iterable[Any] = (),
        request: BuildRequest | Mapping[str, Any] | None = None,
        ports: Ports | None = None,
        commit: bool = True,
    ) -> PromptRequest:
        """Build a prompt and the provider request for it. None of the arguments is changed.

        ``request`` holds further inputs (lorebooks, preset, ``now``, ``seed``, …); arguments given here win over it. A
        ``system`` that is not blank becomes a block of its own before the history, in the *system* budget group (in taverns
        that inject: an injection before the main prompt); TavernKit makes it a history message, which a trimmer may evict.
        ``llm_options`` go over the config's defaults and are sent as they are; ``stream`` does not belong there. Transforms are
        names or callables. With ``commit=False`` variables stay as they were; see `PromptRequest.commit`.

        Raises `UsageError`, `PreflightError`, and what a build raises (`PipelineError`, `MaxTokensExceededError`).
        """
        options, notes = self._options(runner_config, llm_options)
        decided, sent = apply_request_policy(options, runner_config.capabilities)
        inputs = {
            "history": history,
            "character": character,
            "user": user,
            "message": message,
            "strict": strict,
            "options": decided,
        }
        wanted = _build_request(runner_config, inputs, meta or {}, request, dialect)
        preflight(decided, runner_config.capabilities)
        given = _ports(ports, variables_store)
        plan = _plan(runner_config, wanted, given, system)
        rendered = plan.render(dialect)
        messages = self.message_transforms.apply(
            message_transforms, _messages(rendered.body, dialect), strict=wanted.strict
        )
        added = _from_plan(plan, dialect, decided)
        made = PromptRequest(
            plan=plan,
            context=runner_config.context,
            capabilities=runner_config.capabilities,
            dialect=dialect,
            payload=freeze({"model": runner_config.model, "messages": messages, **added.body, **sent}),
            options=freeze(decided),
            strict=wanted.strict,
            response_transforms=tuple(response_transforms),
            output_tags=runner_config.output_tags,
            notes=(*_about_inputs(plan), *rendered.notes, *added.notes, *notes, *_ignored(runner_config)),
        )
        if commit and given.variables is not None:
            made.commit(given.variables)
        return made

    def perform(self, prompt_request: PromptRequest) -> PromptResult:
        """Send the request, once, and read the answer. Raises the client's errors; `DecodeError` for an answer of no use."""
        if prompt_request.payload.get("stream"):
            msg = "perform returns whole answers"
            raise UsageError(msg, hint="use perform_stream or stream")
        started = self.timer()
        response = self.client.chat_completions(**prompt_request.request)
        elapsed = (self.timer() - started) * 1000
        return self.read(prompt_request, response, elapsed)

    def perform_stream(
        self,
        prompt_request: PromptRequest,
        on_delta: Callable[[str], Any] | None = None,
        *,
        include_usage: bool = True,
    ) -> PromptResult:
        """Send the request as a stream; ``on_delta`` is called with each piece of text. See `stream` for an iterator.

        Raises `PreflightError` for tools, a response format, or a model that cannot stream.
        """
        options = _streamable(prompt_request, self.client, "chat")
        started = self.timer()
        reply = self.client.chat(stream=True, include_usage=include_usage, on_delta=on_delta, **options)
        return self.read(prompt_request, reply[3], (self.timer() - started) * 1000)

    def stream(self, prompt_request: PromptRequest, *, include_usage: bool = True) -> PromptStream:
        """The same as an iterator of text, whose ``result`` is there when it has ended. Leaving it early stops the provider."""
        options = _streamable(prompt_request, self.client, "chat_stream")
        pieces = self.client.chat_stream(include_usage=include_usage, **options)
        return PromptStream(self, prompt_request, pieces, self.timer())

    def read(self, prompt_request: PromptRequest, response: Any, elapsed_ms: float) -> PromptResult:
        """The result in a response that took ``elapsed_ms``, for callers who send requests themselves. Raises `DecodeError`."""
        body = response.body
        if not isinstance(body, Mapping):
            msg = "the provider's answer is no JSON object"
            raise DecodeError(msg)
        choice = choice_of(body) if body.get("choices") else {}
        message = self.response_transforms.apply(
            prompt_request.response_transforms, thaw(dict(choice.get("message") or {})), strict=prompt_request.strict
        )
        reason = choice.get("finish_reason")
        return PromptResult(
            prompt_request, response, body, message, reason if isinstance(reason, str) else None, elapsed_ms
        )

    def _options(
        self, config: RunnerConfig, llm_options: Mapping[str, Any] | None
    ) -> tuple[dict[str, Any], list[Note]]:
        given = thaw(dict(llm_options or {}))
        misplaced = [name for name in _NOT_HERE if name in given]
        if misplaced:
            msg = f"llm_options may not hold {', '.join(misplaced)}"
            raise UsageError(msg, hint="use perform_stream or stream")
        ignored = [name for name in _DECIDED if name in given]
        notes = [Note(NoteKind.IGNORED, f"llm_options.{name}: the runner decides it") for name in ignored]
        kept = {name: value for name, value in given.items() if name not in ignored}
        return deep_merge(thaw(config.llm_options_defaults), kept), notes


class PromptStream:
    """The pieces of an answer's text, and then its `result`. Use it in a ``with`` block to stop early."""

    def __init__(self, runner: PromptRunner, prompt_request: PromptRequest, pieces: ChatStream, started: float) -> None:
        self._runner = runner
        self._request = prompt_request
        self._pieces = pieces
        self._started = started
        self._result: PromptResult | None = None

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            return next(self._pieces)
        except StopIteration:
            elapsed = (self._runner.timer() - self._started) * 1000
            self._result = self._runner.read(self._request, self._pieces.reply.response, elapsed)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop here."""
        self._pieces.close()

    @property
    def partial(self) -> str:
        """The text so far."""
        return self._pieces.partial

    @property
    def result(self) -> PromptResult:
        """The whole answer. Raises `UsageError` while the stream has not ended."""
        if self._result is None:
            msg = "the stream has not ended"
            raise UsageError(msg, hint="iterate to its end first; `partial` is the text so far")
        return self._result


def _build_request(
    config: RunnerConfig, inputs: Mapping[str, Any], meta: Mapping[str, Any], base: Any, dialect: str
) -> BuildRequest:
    start = BuildRequest.of(base if base is not None else {})
    given = {name: value for name, value in inputs.items() if value is not None}
    return start.with_(
        **given,
        tavern=config.tavern,
        context=config.context,
        meta={"default_model_hint": config.model, **start.meta, **meta},
        provider=config.provider,
        model=config.model,
        dialect=dialect,
        step_options=deep_merge(dict(config.step_layers), start.step_options),
        context_window=config.capabilities.context_window_tokens or start.context_window,
        reserved_tokens=config.capabilities.reserved_response_tokens or start.reserved_tokens,
    )


def _plan(config: RunnerConfig, request: BuildRequest, ports: Ports, system: str | None) -> Plan:
    """The plan, uncommitted; what a replay of its request would not know is named."""
    pipeline = config.pipeline_for(request)
    request, steps = place_system(request, pipeline, system)
    plan = build(request, steps, ports, commit=False)
    strange = [name for name, is_it in (("system", steps is not pipeline), ("pipeline", config.custom)) if is_it]
    return plan.with_(unreplayable=(*plan.unreplayable, *strange)) if strange else plan


def _ports(ports: Ports | None, variables: VariablesStore | None) -> Ports:
    found = ports or Ports()
    return found if variables is None else replace(found, variables=variables)


def _messages(body: Any, dialect: str) -> list[dict[str, Any]]:
    if not isinstance(body, list) or not all(isinstance(message, Mapping) for message in body):
        msg = f"dialect {dialect!r} does not give a list of messages, which chat completions take"
        raise UsageError(msg, hint="use the dialect openai, or send plan.to_request(dialect) with a client of your own")
    messages: list[dict[str, Any]] = thaw(body)
    return messages


def _from_plan(plan: Plan, dialect: str, decided: Mapping[str, Any]) -> Payload:
    """What the tavern added to the request (options, stop strings, tools) by the provider's names, with the losses.

    Where the caller decided, nothing is added: the caller's own options are sent as they are.
    """
    added = {name: value for name, value in plan.options.items() if name not in decided}
    only = plan.with_(blocks=(), model=None, options=freeze(added)).to_request(dialect)
    body = {name: value for name, value in only.body.items() if name != "messages" and name not in decided}
    return Payload(body, only.notes)


def _about_inputs(plan: Plan) -> list[Note]:
    """The plan's notes, but for a tavern's that it does without the dialect: the runner itself uses it."""
    return [note for note in plan.notes if note.data.get("input") != "dialect"]


def _ignored(config: RunnerConfig) -> list[Note]:
    if not config.language_policy.get("enabled") or "language_policy" in config.pipeline:
        return []
    return [Note(NoteKind.IGNORED, f"context.language_policy: the tavern {config.tavern!r} has no such step")]


def _streamable(prompt_request: PromptRequest, client: Any, method: str) -> dict[str, Any]:
    request = prompt_request.request
    preflight(request, prompt_request.capabilities, stream=True)
    if not callable(getattr(client, method, None)):
        msg = f"{type(client).__name__} cannot stream: it has no {method}()"
        raise PreflightError(msg)
    return request
