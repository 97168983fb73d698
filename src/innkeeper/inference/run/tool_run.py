"""ToolRun: one run of a tool loop, without I/O: a generator that says what it wants next.

While it runs it tells events, and afterwards a trace.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from innkeeper.inference.errors import (
    MAX_TOOL_CALLS,
    SAMPLE_CHARACTERS,
    AnswerError,
    HttpError,
    ReplyError,
    RequestCancelledError,
    ToolUseError,
)
from innkeeper.inference.output_tags import transform_tags
from innkeeper.inference.run.request import PromptRequest, PromptResult
from innkeeper.inference.tools.calls import ModelCall, calls_of, parse_arguments, size_of_arguments
from innkeeper.inference.tools.dispatcher import error_codes, failure, written
from innkeeper.prompt import InnkeeperError, Message, freeze

if TYPE_CHECKING:
    from innkeeper.inference.run.tool_loop import BaseToolLoop


EVENTS: Final = (
    "llm_request_start",
    "text_delta",
    "llm_request_error",
    "llm_request_retry",
    "llm_request_end",
    "tool_call_start",
    "tool_call_end",
    "fix_empty_final",
    "final",
    "final_stream_start",
    "final_stream_delta",
    "final_stream_end",
    "final_stream_skipped",
    "final_stream_error",
)
"""The types of all events. Each is a mapping with ``type``, ``turn`` and figures of its own.

``text_delta`` (with ``delta``) is more of what the model says in a turn, where the run is streamed.
"""


class TurnTrace(msgspec.Struct, omit_defaults=True):
    """One request of a tool loop: what was asked, what came back, what the tools did. Sizes, codes and names, no texts."""

    turn: int
    request: dict[str, Any]
    response_summary: dict[str, Any] = {}
    tool_calls: list[dict[str, Any]] = []
    tool_results: list[dict[str, Any]] = []
    final_stream: dict[str, Any] = {}

    def answered(self, result: PromptResult, calls: int, ignored: int, sample: str | None) -> None:
        """Take in the answer; ``sample`` is the start of prose that tool calls pushed aside."""
        self.response_summary = {
            "has_tool_calls": calls > 0,
            "tool_calls_count": calls,
            "ignored_tool_calls_count": ignored,
            "finish_reason": result.finish_reason,
            "elapsed_ms": result.elapsed_ms,
            "content_bytes": len(result.content.encode()),
            **({"usage": dict(result.usage)} if result.usage is not None else {}),
            **({"stripped_content_sample": sample} if sample else {}),
        }

    def called(self, call: ModelCall) -> dict[str, Any]:
        """Take in a call; returns its facts."""
        facts = {"id": call.id, "name": call.name, "arguments_bytes": size_of_arguments(call.arguments)}
        self.tool_calls = [*self.tool_calls, facts]
        return facts

    def returned(self, call: ModelCall, envelope: Mapping[str, Any]) -> dict[str, Any]:
        """Take in a result; returns its facts."""
        facts = {
            "id": call.id,
            "name": call.name,
            "ok": envelope.get("ok") is True,
            "error_codes": error_codes(envelope),
        }
        self.tool_results = [*self.tool_results, facts]
        return facts

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts."""
        facts: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return facts


THOUGHTS: Final = ("reasoning_content", "reasoning_details")
"""Fields of an answer that calls tools which its provider wants back beside the calls, as they came."""

_KEPT: Final = ("signature", *THOUGHTS)
_EMPTY_FINAL: Final = "Your last answer was empty. Please give your final answer now, using the tool results above."
_SUFFIX: Final = "Tools are off now. Answer the user from the tool results above, and call no tools."


class Build(NamedTuple):
    """Build the request for a chat; with ``suffix`` after the system text."""

    history: list[Message]
    tools: bool
    suffix: str | None = None


class Ask(NamedTuple):
    """Send a request; where the run is streamed, each piece of the answer is told as an event of the turn."""

    request: PromptRequest
    turn: int


class Stream(NamedTuple):
    """Send a request as a stream; each piece is told as an event of the turn."""

    request: PromptRequest
    turn: int


class Use(NamedTuple):
    """Run a tool."""

    call: ModelCall
    args: dict[str, Any]


class Tell(NamedTuple):
    """Tell the caller's handler of an event."""

    event: Mapping[str, Any]


class ToolLoopResult(NamedTuple):
    """The final answer; the chat with everything that was said on the way; one trace entry for each request."""

    assistant_text: str
    history: tuple[Message, ...]
    trace: tuple[TurnTrace, ...]


Run = Generator[Any, Any, Any]


def _tell(kind: str, turn: int, **facts: Any) -> Tell:
    return Tell({"type": kind, "turn": turn, **facts})


class ToolRun:
    """The chat so far, what the tools gave, which retries are left."""

    def __init__(self, loop: BaseToolLoop, user_text: str | None, history: tuple[Message, ...]) -> None:
        self.loop = loop
        self.config = loop.config.tool_calling
        asked = [Message("user", user_text)] if user_text is not None and user_text.strip() else []
        self.history = [*history, *asked]
        self.trace: list[TurnTrace] = []
        self.tools = loop.offers_tools
        self.enforced = self.tools and self.config.tool_use_mode == "enforced"
        self.outcomes: dict[str, bool] = {}
        self.succeeded = False
        self.nudge: str | None = None
        self.retries = self.config.fallback_retry_count
        self.last: PromptRequest | None = None

    def go(self, max_turns: int, *, final_stream: bool) -> Generator[Any, Any, ToolLoopResult]:
        """The whole run. Raises `ToolUseError` and its kin, and what the wishes raise."""
        try:
            for turn in range(1, max_turns + 1):
                result: PromptResult = yield from self.ask(turn)
                calls = self.take(result)
                yield _tell("llm_request_end", turn, **self.trace[-1].response_summary)
                if calls:
                    yield from self.run_calls(turn, calls)
                elif self.is_empty(result):
                    yield from self.ask_again(turn)
                else:
                    return (yield from self.end(turn, result, final_stream=final_stream))
        except RequestCancelledError as error:
            raise self.error("CANCELLED", "the run was cancelled") from error
        msg = f"the model still calls tools after {max_turns} turns"
        raise self.error("TURN_LIMIT", msg)

    def error(self, code: str, message: str, **facts: Any) -> ToolUseError:
        """An error that knows how far the run came."""
        return ToolUseError(message, code=code, history=tuple(self.history), trace=tuple(self.trace), **facts)

    def ask(self, turn: int) -> Run:
        """One answer; in relaxed mode an error of the provider's is met by asking without tools from here on."""
        while True:
            nudge = [Message("user", self.nudge)] if self.nudge is not None else []
            request: PromptRequest = yield Build([*self.history, *nudge], self.tools)
            self.last = request
            self.check_results(request)
            yield _tell("llm_request_start", turn, **self.started(turn, request))
            try:
                return (yield Ask(request, turn))
            except (HttpError, ReplyError) as error:
                yield _tell("llm_request_error", turn, error=error.kind, status=error.status)
                if not (self.tools and self.config.tool_use_mode == "relaxed" and self.retries > 0):
                    raise
                self.retries -= 1
                self.tools = False
                yield _tell("llm_request_retry", turn, tools=False, retries_left=self.retries)

    def check_results(self, request: PromptRequest) -> None:
        """Refuse to ask again when the results of this run's last calls are not in the prompt: the model would call for ever."""
        wanted = set()
        for message in reversed(self.history):
            if message.role != "tool":
                break
            wanted.add(message.tool_call_id)
        carried = {block.message_metadata.get("tool_call_id") for block in request.plan.enabled_blocks}
        sent = any(message.get("role") == "tool" for message in request.payload["messages"])
        if self.outcomes and wanted and not (wanted <= carried and sent):
            hint = "give it more room, or let its preset and its post-processing send tool calls"
            msg = f"the tavern {self.loop.config.tavern!r} does not send the results of tools to the model"
            raise self.error("RESULTS_NOT_SENT", msg, hint=hint)

    def started(self, turn: int, request: PromptRequest) -> dict[str, Any]:
        """The facts of a request; its trace begins."""
        facts = {
            "model": request.payload["model"],
            "messages_count": len(request.payload["messages"]),
            "tools_count": len(request.payload.get("tools", ())),
            "tool_use_mode": self.config.tool_use_mode,
            "tool_failure_policy": self.config.tool_failure_policy,
            "message_transforms": list(self.config.message_transforms),
            "tool_transforms": list(self.config.tool_transforms),
            "response_transforms": list(self.config.response_transforms),
        }
        self.trace.append(TurnTrace(turn, facts))
        return facts

    def take(self, result: PromptResult) -> tuple[ModelCall, ...]:
        """The calls of an answer that are to be run; the message that holds them goes into the history."""
        called = calls_of(result.assistant_message.get("tool_calls")) if self.tools else ()
        raw = [call.to_dict() for call in called[:MAX_TOOL_CALLS]]
        names, strict = self.config.tool_call_transforms, self.loop.strict
        calls = calls_of(self.loop.tool_call_transforms.apply(names, raw, strict=strict))[: self.config.calls_per_turn]
        prose = result.content.strip()[:SAMPLE_CHARACTERS] if calls else None
        self.trace[-1].answered(result, len(calls), len(called) - len(calls), prose)
        if calls:
            extra = {key: result.assistant_message[key] for key in _KEPT if result.assistant_message.get(key)}
            message = {**extra, "tool_calls": [call.to_dict() for call in calls]}
            self.history.append(Message("assistant", "", metadata=freeze(message)))
        return calls

    def run_calls(self, turn: int, calls: tuple[ModelCall, ...]) -> Run:
        """Run the calls, one after the other; their results go into the history."""
        for call in calls:
            yield _tell("tool_call_start", turn, **self.trace[-1].called(call))
            started = self.loop.runner.timer()
            envelope, text = written(
                (yield from self.envelope(call)), self.config.max_tool_output_bytes, self.result_transform
            )
            elapsed = (self.loop.runner.timer() - started) * 1000
            facts = self.trace[-1].returned(call, envelope)
            self.outcomes[call.name] = facts["ok"]
            self.succeeded = self.succeeded or facts["ok"]
            self.history.append(Message("tool", text, metadata=freeze({"tool_call_id": call.id})))
            yield _tell("tool_call_end", turn, **facts, output_bytes=len(text.encode()), elapsed_ms=elapsed)

    def envelope(self, call: ModelCall) -> Run:
        """What a call gives, or why it was not run."""
        try:
            args = parse_arguments(call.arguments, self.config.max_tool_args_bytes)
        except AnswerError as error:
            data = {key: value for key, value in error.details.items() if key != "code"}
            return failure(call.name, error.code, error.message, **data)
        return (yield Use(call, args))

    def result_transform(self, envelope: dict[str, Any]) -> dict[str, Any]:
        """An envelope through the transforms that the config names."""
        registry, names = self.loop.tool_result_transforms, self.config.tool_result_transforms
        changed: dict[str, Any] = registry.apply(names, envelope, strict=self.loop.strict)
        return changed

    def is_empty(self, result: PromptResult) -> bool:
        """Whether a blank answer after tools is to be asked for once more."""
        blank = self.nudge is None and bool(self.outcomes) and not result.content.strip()
        return blank and self.config.fix_empty_final

    def ask_again(self, turn: int) -> Run:
        """Nudge the model; the asking stays out of the history."""
        self.nudge = self.config.fix_empty_final_user_text or _EMPTY_FINAL
        self.tools = self.tools and not self.config.fix_empty_final_disable_tools
        yield _tell("fix_empty_final", turn, tools=self.tools)

    def end(self, turn: int, result: PromptResult, *, final_stream: bool) -> Generator[Any, Any, ToolLoopResult]:
        """The result: the last answer, streamed if that was asked for, without control tags."""
        self.judge()
        text = result.content
        if final_stream:
            text = yield from self.stream_final(turn, text)
        text = transform_tags(text, self.loop.config.output_tags).text
        self.history.append(Message("assistant", text))
        if self.last is not None and self.loop.variables_store is not None:
            self.last.commit(self.loop.variables_store)
        yield _tell("final", turn, content_bytes=len(text.encode()), finish_reason=result.finish_reason)
        return ToolLoopResult(text, tuple(self.history), tuple(self.trace))

    def stream_final(self, turn: int, text: str) -> Generator[Any, Any, str]:
        """The answer asked for again as a stream; ``text`` where there was no need, no way, or an error."""
        reason = self.loop.reason_not_to_stream(used=bool(self.outcomes))
        if reason is not None:
            self.trace[-1].final_stream = {"skipped": reason}
            yield _tell("final_stream_skipped", turn, reason=reason)
            return text
        yield _tell("final_stream_start", turn)
        try:
            request = yield Build(self.history, tools=False, suffix=_SUFFIX)
            result: PromptResult = yield Stream(request, turn)
        except RequestCancelledError:
            raise
        except InnkeeperError as error:
            self.trace[-1].final_stream = {"error": error.kind}
            yield _tell("final_stream_error", turn, error=error.kind)
            return text
        facts = {"finish_reason": result.finish_reason, "elapsed_ms": result.elapsed_ms}
        self.trace[-1].final_stream = facts
        yield _tell("final_stream_end", turn, **facts, content_bytes=len(result.content.encode()))
        return result.content if result.content.strip() else text

    def judge(self) -> None:
        """In enforced mode: tools were called, and what they gave is good enough for the failure policy."""
        if not self.enforced:
            return
        fatal = self.config.tool_failure_policy == "fatal"
        failed = sorted(name for name, ok in self.outcomes.items() if not ok)
        if not self.outcomes:
            raise self.error("NO_TOOL_CALLS", "the model answered without calling a tool")
        if (fatal and failed) or (not fatal and not self.succeeded):
            raise self.error("TOOL_ERROR", f"tools failed: {', '.join(failed)}")
