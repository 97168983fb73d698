"""ToolRun: one run of a tool loop. While it runs it tells events, and afterwards a trace."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from innkeeper.dialects.report import object_of
from innkeeper.inference.errors import (
    MAX_TOOL_CALLS,
    SAMPLE_CHARACTERS,
    AnswerError,
    HttpError,
    ReplyError,
    RequestCancelledError,
    StreamCutError,
    ToolUseError,
)
from innkeeper.inference.output_tags import transform_tags
from innkeeper.inference.run.request import PromptRequest, PromptResult
from innkeeper.inference.tools.calls import ModelCall, as_sent, calls_of, parse_arguments, size_of_arguments
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

_OPAQUE: Final = ("signature", *THOUGHTS)
_EMPTY_FINAL: Final = "Your last answer was empty. Please give your final answer now, using the tool results above."
_SUFFIX: Final = "Tools are off now. Answer the user from the tool results above, and call no tools."


class ToolLoopResult(NamedTuple):
    """The final answer; the chat with everything that was said on the way; one trace entry for each request."""

    assistant_text: str
    history: tuple[Message, ...]
    trace: tuple[TurnTrace, ...]


class ToolRun:
    """The chat so far, what the tools gave, which retries are left. ``stream``: each answer is heard as it comes."""

    def __init__(
        self,
        loop: BaseToolLoop,
        user_text: str | None,
        history: tuple[Message, ...],
        *,
        on_event: Callable[[Mapping[str, Any]], Any] | None = None,
        stream: bool = False,
        cancel: Any = None,
    ) -> None:
        self.loop, self.caller = loop, loop.runner.caller
        self.on_event, self.stream, self.cancel = on_event, stream, cancel
        self.config = loop.config.tool_calling
        asked = [Message("user", user_text)] if user_text is not None and user_text.strip() else []
        self.history = [*history, *asked]
        self.trace: list[TurnTrace] = []
        self.tools = loop.offers_tools
        self.enforced = self.tools and self.config.tool_use_mode == "enforced"
        self.outcomes = {} if asked else _tool_outcomes(history)
        self.succeeded = any(self.outcomes.values())
        self.nudge: str | None = None
        self.retries = self.config.fallback_retry_count
        self.last: PromptRequest | None = None

    async def go(self, max_turns: int, *, final_stream: bool) -> ToolLoopResult:
        """The whole run. Raises `ToolUseError` and its kin, and what the wishes raise."""
        try:
            for turn in range(1, max_turns + 1):
                result = await self.ask(turn)
                calls = self.take(result)
                await self.tell("llm_request_end", turn, **self.trace[-1].response_summary)
                if calls:
                    await self.run_calls(turn, calls)
                elif self.is_empty(result):
                    await self.ask_again(turn)
                else:
                    return await self.end(turn, result, final_stream=final_stream)
        except RequestCancelledError as error:
            raise self.error("CANCELLED", "the run was cancelled") from error
        except ToolUseError:
            raise
        except InnkeeperError as error:
            if not self.outcomes:
                raise  # nothing is lost by it
            raise self.interrupted(error) from error
        msg = f"the model still calls tools after {max_turns} turns"
        raise self.error("TURN_LIMIT", msg)

    async def tell(self, kind: str, turn: int, **facts: Any) -> None:
        """Let the caller's handler hear of an event."""
        await self.caller.value(lambda: self.emit({"type": kind, "turn": turn, **facts}))

    def emit(self, event: Mapping[str, Any]) -> Any:
        """Call the handler; what it raises is swallowed, also where what it gives is awaited."""
        if self.on_event is not None:
            with suppress(Exception):
                heard = self.on_event(event)
                return _quiet(heard) if inspect.isawaitable(heard) else None
        return None

    async def build(self, history: list[Message], *, tools: bool, suffix: str | None = None) -> PromptRequest:
        """Build the request for a chat; with ``suffix`` after the system text."""
        inputs = self.loop.inputs_of(history, tools=tools, suffix=suffix)
        request: PromptRequest = await self.caller.value(lambda: self.loop.runner.build_request(**inputs))
        return request

    async def answer(self, request: PromptRequest, turn: int) -> PromptResult:
        """Send a request. Once something was heard of its answer, an error is that of a stream that ended too early."""
        spoken: list[str] = []

        def hear(piece: str) -> Any:
            spoken.append(piece)
            return self.emit({"type": "text_delta", "turn": turn, "delta": piece})

        try:
            return await self.perform(request, hear if self.stream else None)
        except (HttpError, ReplyError) as error:
            if not spoken:
                raise
            raise StreamCutError(error.message, partial="".join(spoken)) from error  # nobody asks again then

    async def perform(self, request: PromptRequest, on_delta: Any) -> PromptResult:
        """Send a request; each piece of its answer is heard where there is a listener."""
        await self.caller.check(self.cancel)
        runner, cancel = self.loop.runner, self.cancel
        result: PromptResult = await self.caller.value(lambda: runner.perform(request, on_delta, cancel=cancel))
        return result

    async def answer_again(self, request: PromptRequest, turn: int) -> PromptResult:
        """Send a request as a stream; each piece is told as an event of the turn."""
        await self.caller.check(self.cancel)
        runner, cancel = self.loop.runner, self.cancel

        def hear(piece: str) -> Any:
            return self.emit({"type": "final_stream_delta", "turn": turn, "delta": piece})

        result: PromptResult = await self.caller.value(lambda: runner.perform_stream(request, hear, cancel=cancel))
        return result

    async def use(self, call: ModelCall, args: dict[str, Any]) -> dict[str, Any]:
        """Run a tool."""
        await self.caller.check(self.cancel)
        dispatcher = self.loop.dispatcher
        ran: dict[str, Any] = await self.caller.value(lambda: dispatcher.run(call.name, args, call.id), self.cancel)
        return ran

    def error(self, code: str, message: str, **facts: Any) -> ToolUseError:
        """An error that knows how far the run came."""
        return ToolUseError(message, code=code, history=tuple(self.history), trace=tuple(self.trace), **facts)

    def interrupted(self, error: InnkeeperError) -> ToolUseError:
        """The error of a run whose tools have done something before this error: it can go on from its history."""
        wait = error.retry_after if isinstance(error, HttpError) else None
        facts = {} if wait is None else {"retry_after": wait}
        hint = "the tools need not run again: go on with run(None, error.history)"
        failure = self.error("REQUEST_FAILED", f"after tools had run, {error.message}", hint=hint, **facts)
        failure.http_status, failure.exit_code = error.http_status, error.exit_code
        return failure

    async def ask(self, turn: int) -> PromptResult:
        """One answer; in relaxed mode an error of the provider's is met by asking without tools from here on."""
        while True:
            nudge = [Message("user", self.nudge)] if self.nudge is not None else []
            request = await self.build([*self.history, *nudge], tools=self.tools)
            self.last = request
            self.check_results(request)
            await self.tell("llm_request_start", turn, **self.started(turn, request))
            try:
                return await self.answer(request, turn)
            except (HttpError, ReplyError) as error:
                await self.tell("llm_request_error", turn, error=error.kind, status=error.status)
                if not (self.tools and self.config.tool_use_mode == "relaxed" and self.retries > 0):
                    raise
                self.retries -= 1
                self.tools = False
                await self.tell("llm_request_retry", turn, tools=False, retries_left=self.retries)

    def check_results(self, request: PromptRequest) -> None:
        """Refuse to ask again when the results of this run's last calls are not in the prompt: the model would call for ever."""
        called = set()
        for message in reversed(self.history):
            if message.role != "tool":
                break
            called.add(message.tool_call_id)
        carried = {block.message_metadata.get("tool_call_id") for block in request.plan.enabled_blocks}
        sent = any(message.get("role") == "tool" for message in request.payload["messages"])
        if self.outcomes and called and not (called <= carried and sent):
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
            extra = {key: result.assistant_message[key] for key in _OPAQUE if result.assistant_message.get(key)}
            message = {**extra, "tool_calls": [as_sent(call).to_dict() for call in calls]}
            self.history.append(Message("assistant", result.content, metadata=freeze(message)))
        return calls

    async def run_calls(self, turn: int, calls: tuple[ModelCall, ...]) -> None:
        """Run the calls, one after the other; their results go into the history."""
        for call in calls:
            await self.tell("tool_call_start", turn, **self.trace[-1].called(call))
            started = self.loop.runner.timer()
            envelope, text = written(
                await self.envelope(call), self.config.max_tool_output_bytes, self.result_transform
            )
            elapsed = (self.loop.runner.timer() - started) * 1000
            facts = self.trace[-1].returned(call, envelope)
            self.outcomes[call.name] = facts["ok"]
            self.succeeded = self.succeeded or facts["ok"]
            self.history.append(Message("tool", text, metadata=freeze({"tool_call_id": call.id})))
            await self.tell("tool_call_end", turn, **facts, output_bytes=len(text.encode()), elapsed_ms=elapsed)

    async def envelope(self, call: ModelCall) -> dict[str, Any]:
        """What a call gives, or why it was not run."""
        try:
            args = parse_arguments(call.arguments, self.config.max_tool_args_bytes)
        except AnswerError as error:
            data = {key: value for key, value in error.details.items() if key != "code"}
            return failure(call.name, error.code, error.message, **data)
        return await self.use(call, args)

    def result_transform(self, envelope: dict[str, Any]) -> dict[str, Any]:
        """An envelope through the transforms that the config names."""
        registry, names = self.loop.tool_result_transforms, self.config.tool_result_transforms
        changed: dict[str, Any] = registry.apply(names, envelope, strict=self.loop.strict)
        return changed

    def is_empty(self, result: PromptResult) -> bool:
        """Whether a blank answer after tools is to be asked for once more."""
        blank = self.nudge is None and bool(self.outcomes) and not result.content.strip()
        return blank and self.config.fix_empty_final

    async def ask_again(self, turn: int) -> None:
        """Nudge the model; the asking stays out of the history."""
        self.nudge = self.config.fix_empty_final_user_text or _EMPTY_FINAL
        self.tools = self.tools and not self.config.fix_empty_final_disable_tools
        await self.tell("fix_empty_final", turn, tools=self.tools)

    async def end(self, turn: int, result: PromptResult, *, final_stream: bool) -> ToolLoopResult:
        """The result: the last answer, streamed if that was asked for, without control tags."""
        self.judge()
        text = result.content
        if final_stream:
            text = await self.stream_final(turn, text)
        text = transform_tags(text, self.loop.config.output_tags).text
        self.history.append(Message("assistant", text))
        if self.last is not None and self.loop.variables_store is not None:
            self.last.commit(self.loop.variables_store)
        await self.tell("final", turn, content_bytes=len(text.encode()), finish_reason=result.finish_reason)
        return ToolLoopResult(text, tuple(self.history), tuple(self.trace))

    async def stream_final(self, turn: int, text: str) -> str:
        """The answer asked for again as a stream; ``text`` where there was no need, no way, or an error."""
        reason = self.loop.reason_not_to_stream(used=bool(self.outcomes))
        if reason is not None:
            self.trace[-1].final_stream = {"skipped": reason}
            await self.tell("final_stream_skipped", turn, reason=reason)
            return text
        await self.tell("final_stream_start", turn)
        try:
            request = await self.build(self.history, tools=False, suffix=_SUFFIX)
            result = await self.answer_again(request, turn)
        except RequestCancelledError:
            raise
        except InnkeeperError as error:
            self.trace[-1].final_stream = {"error": error.kind}
            await self.tell("final_stream_error", turn, error=error.kind)
            return text
        facts = {"finish_reason": result.finish_reason, "elapsed_ms": result.elapsed_ms}
        self.trace[-1].final_stream = facts
        await self.tell("final_stream_end", turn, **facts, content_bytes=len(result.content.encode()))
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


def _tool_outcomes(history: tuple[Message, ...]) -> dict[str, bool]:
    """What tools have given since the user spoke, and whether it is known to be good: a run that goes on has it behind it.

    Only an object says so, by ``ok``. A result that does not name its tool has the name in the assistant's call.
    """
    begins = max((at for at, message in enumerate(history) if message.role == "user"), default=-1)
    since = history[begins + 1 :]
    names = {call.id: call.name for message in since for call in calls_of(message.tool_calls)}
    outcomes = {}
    for message in since:
        if message.role == "tool":
            result, called = object_of(message.content) or {}, message.tool_call_id or ""
            outcomes[str(result.get("tool_name") or names.get(called) or called)] = result.get("ok") is True
    return outcomes


async def _quiet(heard: Awaitable[Any]) -> None:
    with suppress(Exception):
        await heard
