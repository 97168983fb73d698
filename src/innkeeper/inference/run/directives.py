"""DirectivesRunner: ask a model for directives, in the surest way it knows, and repair what comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from innkeeper.inference.directives.config import DirectivesConfig, supports
from innkeeper.inference.directives.envelope import (
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
from innkeeper.inference.errors import DirectivesError, HttpError, ReplyError
from innkeeper.inference.limits import MAX_DIRECTIVE_BYTES, SAMPLE_CHARACTERS
from innkeeper.inference.output_tags import transform_tags
from innkeeper.inference.run.config import RunnerConfig
from innkeeper.inference.run.request import PromptResult
from innkeeper.inference.run.runner import PromptRunner
from innkeeper.prompt import ProviderError, UsageError, VariablesStore, deep_merge, thaw

__all__ = ["Attempt", "DirectivesResult", "DirectivesRunner", "StructuredOutput"]

_RESERVED: Final = ("model", "messages", "tools", "tool_choice", "stream", "stream_options")
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
        wanted = {name: self.types.get(name, "") for name in self.rules.allowed or ()}
        told = instruction(None if self.output_instructions else wanted)
        return "\n\n".join(text for text in (system, told, self.output_instructions, repair) if text)


class Attempt(msgspec.Struct, frozen=True, omit_defaults=True):
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
    attempts: tuple[Attempt, ...]
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
class DirectivesRunner:
    """Asks for directives. ``client`` is a `Client` or a `PromptRunner`."""

    client: Any
    runner_config: RunnerConfig

    def run(
        self,
        history: Any = None,
        *,
        system: str | None = None,
        output: StructuredOutput | None = None,
        llm_options: Mapping[str, Any] | None = None,
        variables_store: VariablesStore | None = None,
        strict: bool = False,
        **inputs: Any,
    ) -> DirectivesResult:
        """Ask in each mode of the config that the model knows, with repairs, until an answer will do.

        Errors that the provider answers with lead to the next mode; when it cannot be reached they raise. ``inputs`` go to
        `PromptRunner.build_request`. Variables are written to the store when an answer would do.

        Raises `UsageError` for options that are not the caller's to set, and what requests raise.
        """
        reserved = [name for name in _RESERVED if name in (llm_options or {})]
        if reserved:
            msg = f"llm_options may not hold {', '.join(reserved)}"
            raise UsageError(msg)
        asking = _Asking(self, output or StructuredOutput(), history, system, llm_options or {}, inputs)
        asking.inputs |= {"variables_store": variables_store, "strict": strict, "commit": False}
        return asking.go(variables_store)

    @property
    def runner(self) -> PromptRunner:
        """The runner that sends the requests."""
        return self.client if isinstance(self.client, PromptRunner) else PromptRunner(self.client)


class _Asking:
    """One run: the attempts so far."""

    def __init__(
        self,
        asker: DirectivesRunner,
        output: StructuredOutput,
        history: Any,
        system: str | None,
        options: Mapping[str, Any],
        inputs: Mapping[str, Any],
    ) -> None:
        self.runner = asker.runner
        self.config = asker.runner_config
        self.output = output
        self.history = history
        self.system = system
        self.options = options
        self.inputs = dict(inputs)
        self.attempts: list[Attempt] = []
        self.sample = ""
        self.request: Any = None

    @property
    def modes(self) -> DirectivesConfig:
        return self.config.directives

    def go(self, store: VariablesStore | None) -> DirectivesResult:
        for mode in self.modes.modes:
            if not supports(mode, self.config.capabilities):
                self.attempts.append(Attempt(mode, skipped=True, code="CAPABILITY_UNSUPPORTED"))
                continue
            envelope = self.ask(mode)
            if envelope is not None:
                if store is not None:
                    self.request.commit(store)
                return self.found(mode, envelope)
        return DirectivesResult(ok=False, attempts=tuple(self.attempts), content_sample=self.sample)

    def ask(self, mode: str) -> Envelope | None:
        """The envelope that ``mode`` gives, repaired where that is possible; ``None`` when it gives none."""
        repair: str | None = None
        for number in range(1, self.modes.repair_retry_count + 2):
            try:
                result = self.send(mode, repair)
            except (HttpError, ReplyError) as error:
                self.attempts.append(_rejected(mode, number, error))
                return None
            try:
                envelope = self.read(result)
            except DirectivesError as error:
                reasons = tuple(error.details.get("reasons", ()))
                self.attempts.append(
                    Attempt(mode, number, code=error.code, reasons=reasons, elapsed_ms=result.elapsed_ms)
                )
                repair = repair_note(error.code, reasons)
            else:
                self.attempts.append(Attempt(mode, number, ok=True, elapsed_ms=result.elapsed_ms))
                return envelope
        return None

    def send(self, mode: str, repair: str | None) -> PromptResult:
        form = response_format(mode, self.output.schema_name, self.output.rules.allowed)
        options = deep_merge(self.modes.overrides(mode), thaw(dict(self.options)))
        options.pop("response_format", None)
        self.request = self.runner.build_request(
            self.config,
            self.history,
            system=self.output.system(self.system, repair),
            llm_options={**options, **({"response_format": form} if form else {})},
            message_transforms=self.modes.message_transforms,
            response_transforms=self.modes.response_transforms,
            **self.inputs,
        )
        return self.runner.perform(self.request)

    def read(self, result: PromptResult) -> Envelope:
        message = result.assistant_message
        self.sample = result.content[:SAMPLE_CHARACTERS]
        if message.get("tool_calls"):
            msg = "the answer calls tools"
            raise DirectivesError(msg, code="TOOL_CALLS_PRESENT")
        parsed = message.get("parsed")
        content = parsed if isinstance(parsed, Mapping) else result.content
        envelope = validate(parse_object(content, self.output.max_bytes), self.output.rules)
        reasons = reasons_of(self.output.result_validator(envelope)) if self.output.result_validator else ()
        if reasons:
            msg = "the application refuses the answer"
            raise DirectivesError(msg, code="RESULT_INVALID", reasons=reasons)
        return envelope

    def found(self, mode: str, envelope: Envelope) -> DirectivesResult:
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


def _rejected(mode: str, number: int, error: ProviderError) -> Attempt:
    about = error.message.lower()
    flagged = error.status in {400, 422} and any(word in about for word in _STRUCTURE)
    return Attempt(mode, number, code="HTTP_ERROR", status=error.status, structured_output_rejected=flagged)
