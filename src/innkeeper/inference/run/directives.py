"""DirectivesRunner: ask a model for directives, in the surest way it knows, and repair what comes back.

`AsyncDirectivesRunner` is the same for event loops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from innkeeper.inference.errors import MAX_DIRECTIVE_BYTES, SAMPLE_CHARACTERS, AnswerError, HttpError, ReplyError
from innkeeper.inference.output_tags import transform_tags
from innkeeper.inference.run.base import BaseRunner
from innkeeper.inference.run.callers import completed
from innkeeper.inference.run.config import RunnerConfig, supports
from innkeeper.inference.run.envelope import (
    SCHEMA_NAME,
    Directive,
    DirectiveRules,
    DirectiveWarning,
    Envelope,
    instruction,
    parse_object,
    reasons_of,
    repair_note,
    response_format,
    validate,
)
from innkeeper.inference.run.request import PromptRequest, PromptResult
from innkeeper.inference.run.runner import AsyncPromptRunner, PromptRunner
from innkeeper.prompt import ProviderError, UsageError, VariablesStore, deep_merge, thaw

_RESERVED: Final = ("model", "messages", "tools", "tool_choice", "stream", "stream_options")
_WAIT: Final = frozenset({429, 503, 529})
"""Statuses that ask to come back later: no other mode would do better now."""

_STRUCTURE: Final = ("response_format", "structured", "schema")


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredOutput:
    """What an application wants to get.

    ``types`` are its directive types with what each is for; ``allowed_types`` those wanted now (all when ``None``);
    ``type_aliases`` map a model's words to them. ``payload_validator(type, payload)`` and
    ``result_validator(envelope)`` give nothing when all is well, else reasons. ``output_instructions``
    take the place of the list of types in what the model is told.
    """

    types: Mapping[str, str] = field(default_factory=dict)
    allowed_types: Sequence[str] | None = None
    type_aliases: Mapping[str, str] = field(default_factory=dict)
    payload_validator: Callable[[str, Mapping[str, Any]], Any] | None = None
    result_validator: Callable[[Envelope], Any] | None = None
    output_instructions: str | None = None
    schema_name: str = SCHEMA_NAME
    max_bytes: int = MAX_DIRECTIVE_BYTES

    @property
    def rules(self) -> DirectiveRules:
        """The same as the validator wants it."""
        allowed = self.allowed_types if self.allowed_types is not None else tuple(self.types) or None
        return DirectiveRules(
            allowed=None if allowed is None else tuple(allowed),
            known=tuple(self.types),
            aliases=dict(self.type_aliases),
            payload_validator=self.payload_validator,
        )

    def system(self, system: str | None, repair: str | None) -> str:
        """The system text: the caller's, the envelope's instruction, and what was wrong with the last answer."""
        types = {name: self.types.get(name, "") for name in self.rules.allowed or ()}
        form = instruction(None if self.output_instructions else types)
        return "\n\n".join(text for text in (system, form, self.output_instructions, repair) if text)


class DirectiveAttempt(msgspec.Struct, frozen=True, omit_defaults=True):
    """One request, or a mode that was passed over. ``code`` is why it did not serve."""

    mode: str
    attempt: int = 0
    ok: bool = False
    skipped: bool = False
    code: str | None = None
    reasons: tuple[str, ...] = ()
    status: int | None = None
    structured_output_rejected: bool = False
    elapsed_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class DirectivesResult:
    """What came of it. ``content_sample`` is the start of the last answer when none would do."""

    ok: bool
    attempts: tuple[DirectiveAttempt, ...]
    mode: str | None = None
    assistant_text: str = ""
    directives: tuple[Directive, ...] = ()
    envelope: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[DirectiveWarning, ...] = ()
    content_sample: str = ""

    @property
    def elapsed_ms(self) -> float:
        """All requests together."""
        return sum(attempt.elapsed_ms for attempt in self.attempts)


@dataclass(frozen=True, slots=True)
class _BaseDirectives:
    """What the two runners share. ``client`` is a client or a runner."""

    client: Any
    runner_config: RunnerConfig

    def _run(
        self,
        runner: BaseRunner,
        output: StructuredOutput | None,
        system: str | None,
        llm_options: Mapping[str, Any] | None,
        cancel: Any,
    ) -> _DirectivesRun:
        reserved = [name for name in _RESERVED if name in (llm_options or {})]
        if reserved:
            msg = f"llm_options may not hold {', '.join(reserved)}"
            raise UsageError(msg)
        return _DirectivesRun(
            runner, self.runner_config, output or StructuredOutput(), system, llm_options or {}, cancel
        )


class DirectivesRunner(_BaseDirectives):
    """Asks for directives. ``client`` is a `Client` or a `PromptRunner`."""

    @property
    def runner(self) -> PromptRunner:
        """The runner that sends the requests."""
        return self.client if isinstance(self.client, PromptRunner) else PromptRunner(self.client)

    def run(
        self,
        history: Any = None,
        *,
        system: str | None = None,
        output: StructuredOutput | None = None,
        llm_options: Mapping[str, Any] | None = None,
        variables_store: VariablesStore | None = None,
        strict: bool = False,
        cancel: Any = None,
        **inputs: Any,
    ) -> DirectivesResult:
        """Ask in each mode of the config that the model knows, with repairs, until an answer will do.

        Errors that the provider answers with lead to the next mode; those that ask to wait (429, 503, 529, and any that says
        how long) raise, as when it cannot be reached. ``inputs`` go to `PromptRunner.build_request`. Variables are written to
        the store when an answer would do.

        Raises `UsageError` for options that are not the caller's to set, and what requests raise.
        """
        run = self._run(self.runner, output, system, llm_options, cancel)
        return completed(run.go(variables_store, history=history, strict=strict, **inputs))


class AsyncDirectivesRunner(_BaseDirectives):
    """`DirectivesRunner` for event loops. ``client`` is an `AsyncClient` or an `AsyncPromptRunner`."""

    @property
    def runner(self) -> AsyncPromptRunner:
        """The runner that sends the requests."""
        return self.client if isinstance(self.client, AsyncPromptRunner) else AsyncPromptRunner(self.client)

    async def run(
        self,
        history: Any = None,
        *,
        system: str | None = None,
        output: StructuredOutput | None = None,
        llm_options: Mapping[str, Any] | None = None,
        variables_store: VariablesStore | None = None,
        strict: bool = False,
        cancel: Any = None,
        **inputs: Any,
    ) -> DirectivesResult:
        """See `DirectivesRunner.run`."""
        run = self._run(self.runner, output, system, llm_options, cancel)
        return await run.go(variables_store, history=history, strict=strict, **inputs)


class _DirectivesRun:
    """One run: its attempts, and the request that was sent last."""

    def __init__(
        self,
        runner: Any,
        config: RunnerConfig,
        output: StructuredOutput,
        system: str | None,
        options: Mapping[str, Any],
        cancel: Any,
    ) -> None:
        self.runner, self.caller, self.cancel = runner, runner.caller, cancel
        self.config = config
        self.output = output
        self.system = system
        self.options = options
        self.inputs: dict[str, Any] = {}
        self.attempts: list[DirectiveAttempt] = []
        self.sample = ""
        self.request: PromptRequest | None = None

    async def go(self, store: VariablesStore | None, **inputs: Any) -> DirectivesResult:
        """The whole run, with the inputs that all its requests have."""
        self.inputs = {**inputs, "variables_store": store, "commit": False}
        for mode in self.config.directives.modes:
            if not supports(mode, self.config.capabilities):
                self.attempts.append(DirectiveAttempt(mode, skipped=True, code="CAPABILITY_UNSUPPORTED"))
                continue
            envelope = await self.ask(mode)
            if envelope is not None:
                if store is not None and self.request is not None:
                    self.request.commit(store)
                return self.result_of(mode, envelope)
        return DirectivesResult(ok=False, attempts=tuple(self.attempts), content_sample=self.sample)

    async def ask(self, mode: str) -> Envelope | None:
        """The envelope that ``mode`` gives, repaired where that is possible; ``None`` when it gives none."""
        repair: str | None = None
        for number in range(1, self.config.directives.repair_retry_count + 2):
            try:
                result = await self.perform(mode, repair)
            except (HttpError, ReplyError) as error:
                if error.status in _WAIT or getattr(error, "retry_after", None) is not None:
                    raise
                self.attempts.append(_rejected(mode, number, error))
                return None
            try:
                envelope = self.read(result)
            except AnswerError as error:
                reasons = tuple(error.details.get("reasons", ()))
                self.attempts.append(
                    DirectiveAttempt(mode, number, code=error.code, reasons=reasons, elapsed_ms=result.elapsed_ms)
                )
                repair = repair_note(error.code, reasons)
            else:
                self.attempts.append(DirectiveAttempt(mode, number, ok=True, elapsed_ms=result.elapsed_ms))
                return envelope
        return None

    async def perform(self, mode: str, repair: str | None) -> PromptResult:
        """The answer to one request."""
        runner, inputs, cancel = self.runner, self.inputs_of(mode, repair), self.cancel
        request: PromptRequest = await self.caller.value(lambda: runner.build_request(self.config, **inputs))
        result: PromptResult = await self.caller.value(lambda: runner.perform(request, cancel=cancel))
        self.request = request
        return result

    def inputs_of(self, mode: str, repair: str | None) -> dict[str, Any]:
        """The inputs of one request."""
        config = self.config.directives
        form = response_format(mode, self.output.schema_name, self.output.rules.allowed)
        options = deep_merge(config.overrides(mode), thaw(dict(self.options)))
        options.pop("response_format", None)
        return {
            **self.inputs,
            "system": self.output.system(self.system, repair),
            "llm_options": {**options, **({"response_format": form} if form else {})},
            "message_transforms": config.message_transforms,
            "response_transforms": config.response_transforms,
        }

    def read(self, result: PromptResult) -> Envelope:
        message = result.assistant_message
        self.sample = result.content[:SAMPLE_CHARACTERS]
        if message.get("tool_calls"):
            msg = "the answer calls tools"
            raise AnswerError(msg, code="TOOL_CALLS_PRESENT")
        parsed = message.get("parsed")
        content = parsed if isinstance(parsed, Mapping) else result.content
        envelope = validate(parse_object(content, self.output.max_bytes), self.output.rules)
        reasons = reasons_of(self.output.result_validator(envelope)) if self.output.result_validator else ()
        if reasons:
            msg = "the application refuses the answer"
            raise AnswerError(msg, code="RESULT_INVALID", reasons=reasons)
        return envelope

    def result_of(self, mode: str, envelope: Envelope) -> DirectivesResult:
        text = transform_tags(envelope.assistant_text, self.config.output_tags).text
        return DirectivesResult(
            ok=True,
            attempts=tuple(self.attempts),
            mode=mode,
            assistant_text=text,
            directives=envelope.directives,
            envelope=replace_text(envelope, text),
            warnings=envelope.warnings,
        )


def replace_text(envelope: Envelope, text: str) -> dict[str, Any]:
    """The envelope as JSON data, with the text that people read."""
    return {**envelope.to_dict(), "assistant_text": text}


def _rejected(mode: str, number: int, error: ProviderError) -> DirectiveAttempt:
    about = error.message.lower()
    flagged = error.status in {400, 422} and any(word in about for word in _STRUCTURE)
    return DirectiveAttempt(mode, number, code="HTTP_ERROR", status=error.status, structured_output_rejected=flagged)
