"""Base: what the runners share, written once for blocking and awaited callers: building, sending, reading."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Final

import msgspec

from innkeeper.dialects import DIALECTS
from innkeeper.inference.adapters.openai_chat import choice_of
from innkeeper.inference.errors import DecodeError, PreflightError
from innkeeper.inference.run.callers import BLOCKING, Caller
from innkeeper.inference.run.config import RunnerConfig
from innkeeper.inference.run.request import PromptRequest, PromptResult, apply_request_policy, preflight
from innkeeper.inference.tools.transforms import MESSAGE_TRANSFORMS, RESPONSE_TRANSFORMS, TransformRegistry
from innkeeper.prompt import (
    BuildRequest,
    Note,
    NoteKind,
    Plan,
    Ports,
    UsageError,
    VariablesStore,
    deep_merge,
    freeze,
    thaw,
)
from innkeeper.prompt.near import did_you_mean
from innkeeper.prompt.payload.dialect import REPLY_LIMITS, Payload
from innkeeper.prompt.text import kind_of, whole_texts
from innkeeper.taverns.inputs import KEYWORDS, read_keywords

_NOT_HERE: Final = {
    "stream": "use perform_stream or stream",
    "stream_options": "use perform_stream or stream",
    "repair": "pass it in dialect_options",
    "message_keys": "pass it in dialect_options",
}
"""Options that belong elsewhere, and where."""

_DECIDED: Final = ("model", "messages")


@dataclass(frozen=True, slots=True)
class BaseRunner:
    """A client, and the transforms that requests and answers may name. See `PromptRunner`."""

    caller: ClassVar[Caller] = BLOCKING

    client: Any
    message_transforms: TransformRegistry = field(default_factory=lambda: MESSAGE_TRANSFORMS)
    response_transforms: TransformRegistry = field(default_factory=lambda: RESPONSE_TRANSFORMS)
    timer: Callable[[], float] = time.perf_counter

    def __post_init__(self) -> None:
        if not callable(getattr(self.client, "chat_completions", None)):
            msg = f"a client needs chat_completions(**request); {type(self.client).__name__} has none"
            raise UsageError(msg)

    def _build_request(  # noqa: PLR0913 - one argument an input, all by name
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
        dialect_options: Mapping[str, Any] | None = None,
        message_transforms: Iterable[Any] = (),
        response_transforms: Iterable[Any] = (),
        request: BuildRequest | Mapping[str, Any] | None = None,
        ports: Ports | None = None,
        commit: bool = True,
        **more: Any,
    ) -> PromptRequest:
        """Build a prompt and the provider request for it. None of the arguments is changed.

        ``more`` are the other inputs of a build (`BuildInputs`: ``lorebooks``, ``preset``, ``now``, ``seed``, …). ``request``
        holds inputs too; arguments given here win over it. A
        ``system`` that is not blank becomes a block of its own before the history, in the *system* budget group; TavernKit
        makes it a history message, which a trimmer may evict. ``llm_options`` go over the config's defaults and are sent as
        they are; ``stream`` does not belong there. ``dialect_options`` are for the dialect (``repair``, ``names`` …).
        Transforms are names or callables. With ``commit=False`` variables stay as they were; see `PromptRequest.commit`.

        Raises `UsageError`, `PreflightError`, and what a build raises (`PipelineError`, `MaxTokensExceededError`).
        """
        check_inputs(more)
        options, notes = _options(runner_config, llm_options)
        decided, sent = apply_request_policy(options, runner_config.capabilities)
        preflight(decided, runner_config.capabilities)
        keywords = read_keywords(request, ports, more)
        notes = [*keywords.notes, *notes]
        inputs = _inputs(
            keywords.request,
            history=history,
            character=character,
            user=user,
            message=message,
            meta=meta,
            system=system,
            strict=strict,
            options=decided,
            dialect=dialect,
        )
        objects = keywords.ports
        objects = objects if variables_store is None else replace(objects, variables=variables_store)
        chosen = self.message_transforms.chosen(message_transforms, strict=inputs.strict)
        repairs = {"message_transforms": chosen} if chosen else {}
        plan = runner_config.plan(inputs, objects)
        rendered = _rendered(plan, dialect, {**(dialect_options or {}), **repairs}, decided, sent)
        made = PromptRequest(
            plan=plan,
            context=runner_config.context,
            capabilities=runner_config.capabilities,
            dialect=dialect,
            payload=freeze(rendered.body),
            options=freeze(decided),
            strict=inputs.strict,
            response_transforms=tuple(response_transforms),
            output_tags=runner_config.output_tags,
            notes=(
                *_about_inputs(plan),
                *rendered.notes,
                *notes,
                *_doubted(plan, dialect, decided),
                *_ignored(runner_config, plan),
            ),
        )
        if commit and objects.variables is not None:
            made.commit(objects.variables)
        return made

    def read(self, prompt_request: PromptRequest, response: Any, elapsed_ms: float) -> PromptResult:
        """The result in a response that took ``elapsed_ms``, for callers who send requests themselves. Raises `DecodeError`."""
        body = response.body
        if not isinstance(body, Mapping):
            msg = "the provider's answer is not a JSON object"
            raise DecodeError(msg)
        choice = choice_of(body)
        came = whole_texts(thaw(dict(choice["message"])))
        message = self.response_transforms.apply(prompt_request.response_transforms, came, strict=prompt_request.strict)
        reason = choice.get("finish_reason")
        return PromptResult(
            prompt_request, response, body, message, reason if isinstance(reason, str) else None, elapsed_ms
        )

    async def _perform(self, prompt_request: PromptRequest, on_delta: Any, cancel: Any) -> PromptResult:
        request, started = self._whole(prompt_request), self.timer()
        streams = prompt_request.capabilities.supports_streaming and self.can_stream
        if on_delta is not None and streams:
            pieces = self.client.chat_stream(include_usage=True, **request)
            return await self._listen(prompt_request, pieces, on_delta, cancel, started)
        response = await self.caller.value(lambda: self.client.chat_completions(**request), cancel)
        result = self.read(prompt_request, response, self.elapsed_ms(started))
        if on_delta is not None and result.content:
            await self.caller.value(lambda: on_delta(result.content))
        return result

    async def _perform_stream(
        self, prompt_request: PromptRequest, on_delta: Any, cancel: Any, *, include_usage: bool
    ) -> PromptResult:
        started, pieces = self.timer(), self._pieces(prompt_request, include_usage=include_usage)
        return await self._listen(prompt_request, pieces, on_delta, cancel, started)

    async def _listen(
        self, prompt_request: PromptRequest, pieces: Any, on_delta: Any, cancel: Any, started: float
    ) -> PromptResult:
        """The whole of a stream, each piece of which is heard before the next is read."""
        caller = self.caller
        try:
            while (delta := await caller.value(lambda: next_piece(pieces), cancel)) is not None:
                if on_delta is not None:
                    await caller.value(partial(on_delta, delta))
                await caller.check(cancel)
            return self.read(prompt_request, pieces.reply.response, self.elapsed_ms(started))
        finally:
            await caller.value(pieces.close)

    def _whole(self, prompt_request: PromptRequest) -> dict[str, Any]:
        if prompt_request.payload.get("stream"):
            msg = "perform returns whole answers"
            raise UsageError(msg, hint="use perform_stream or stream")
        return prompt_request.request

    def _pieces(self, prompt_request: PromptRequest, *, include_usage: bool) -> Any:
        request = prompt_request.request
        preflight(request, prompt_request.capabilities, stream=True)
        if not self.can_stream:
            msg = f"{type(self.client).__name__} cannot stream: it has no chat_stream()"
            raise PreflightError(msg)
        return self.client.chat_stream(include_usage=include_usage, **request)

    @property
    def can_stream(self) -> bool:
        """Whether the client can stream."""
        return callable(getattr(self.client, "chat_stream", None))

    def elapsed_ms(self, started: float) -> float:
        """Return the milliseconds since a moment of its timer."""
        return (self.timer() - started) * 1000


def next_piece(pieces: Any) -> Any:
    """Return the next piece of a stream of either kind, or what gives it when it is awaited; None at its end."""
    return next(pieces, None) if hasattr(pieces, "__next__") else anext(pieces, None)


_SIGNATURE: Final = inspect.signature(BaseRunner._build_request)  # noqa: SLF001 - this module's own
INPUTS: Final = (frozenset(_SIGNATURE.parameters) | KEYWORDS) - {"self", "runner_config", "history", "more"}
"""The inputs of a request by name, besides the config and the history."""


def check_inputs(names: Iterable[str]) -> None:
    """Raise `UsageError` for the first name that is no input; it says the nearest."""
    unknown = min(set(names) - INPUTS, default=None)
    if unknown is None:
        return
    listed = f"inputs: {', '.join(sorted(INPUTS))}"
    raise UsageError(f"unknown input {unknown!r}", hint=did_you_mean(unknown, INPUTS, listed))


def _options(config: RunnerConfig, llm_options: Mapping[str, Any] | None) -> tuple[dict[str, Any], list[Note]]:
    options = thaw(dict(llm_options or {}))
    misplaced = [name for name in _NOT_HERE if name in options]
    if misplaced:
        msg = f"llm_options may not hold {', '.join(misplaced)}"
        raise UsageError(msg, hint=_NOT_HERE[misplaced[0]])
    ignored = [name for name in _DECIDED if name in options]
    notes = [Note(NoteKind.IGNORED, f"llm_options.{name}: the runner decides it") for name in ignored]
    rest = {name: value for name, value in options.items() if name not in ignored}
    return deep_merge(thaw(config.llm_options_defaults), rest), notes


def _inputs(base: Any, **inputs: Any) -> BuildRequest:
    """The build request in ``base`` with the inputs that were given over it."""
    start = BuildRequest.of(base if base is not None else {})
    if inputs["meta"]:
        inputs["meta"] = {**start.meta, **inputs["meta"]}
    system = inputs["system"]
    if system is not None and not isinstance(system, str):
        msg = f"system must be text, not {kind_of(system)}"
        raise UsageError(msg)
    return start.with_(**{name: value for name, value in inputs.items() if value is not None})


def _rendered(plan: Plan, dialect: str, options: Mapping[str, Any], decided: Mapping[str, Any], sent: Any) -> Payload:
    """The plan as a provider's request. Options of the caller's are sent as they are; those of the tavern by the dialect.

    Tools among the caller's options stand for the plan's own; an empty list of them, which providers refuse, is not sent.
    """
    if "tools" in decided:
        plan = plan.with_(tools=())
        sent = {name: value for name, value in sent.items() if value or name != "tools"}
    added = {} if "extra" in decided else plan.options.get("extra") or {}
    past_the_table = {name: None for name in decided if name != "dialect"}
    if any(decided.get(name) is not None for name in REPLY_LIMITS):
        past_the_table |= dict.fromkeys(REPLY_LIMITS)
    payload = plan.to_request(dialect, **{**past_the_table, **options, "extra": deep_merge(dict(added), sent)})
    shape = (plan.dialects or DIALECTS)[dialect].messages((), {}).body
    if not (isinstance(shape, list) and isinstance(payload.body.get("messages"), list)):
        msg = f"dialect {dialect!r} does not give a list of messages, which chat completions take"
        raise UsageError(msg, hint="use the dialect openai, or send plan.to_request(dialect) with a client of your own")
    return payload


def _doubted(plan: Plan, dialect: str, decided: Mapping[str, Any]) -> list[Note]:
    """Notes of options that are sent as they are, although the dialect would leave them out for this model."""
    options = {name: value for name, value in decided.items() if name not in ("tools", "extra")}
    if not options:
        return []
    notes = (plan.dialects or DIALECTS)[dialect].request((), model=plan.model, options=options).notes
    return [
        msgspec.structs.replace(note, message=f"llm_options: sent as it is, but {note.message}")
        for note in notes
        if note.kind in (NoteKind.IGNORED, NoteKind.LOSS)
    ]


def _about_inputs(plan: Plan) -> list[Note]:
    """The plan's notes, but for a tavern's that it does without dialect and provider: the runner itself uses them."""
    return [note for note in plan.notes if note.data.get("input") not in {"dialect", "provider"}]


def _ignored(config: RunnerConfig, plan: Plan) -> list[Note]:
    """Notes of what the config's own pipeline did nothing with."""
    notes = []
    if config.language_policy.get("enabled") and "language_policy" not in config.pipeline:
        message = f"context.language_policy: the tavern {config.tavern!r} has no such step"
        notes.append(Note(NoteKind.IGNORED, message))
    system = plan.request.system.strip() if config.custom and plan.request is not None else ""
    if system and not any(system in block.content for block in plan.blocks):
        notes.append(Note(NoteKind.IGNORED, "system has no effect: no step of the pipeline reads it"))
    return notes
