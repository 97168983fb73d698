"""ToolLoopRunner: ask, run the tools that the model calls, ask again, until it answers (TavernKit's *ToolLoopRunner*).

On request the final answer is asked for once more as a stream without tools, for people who wait after tools have run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from innkeeper.inference.errors import (
    HttpError,
    ReplyError,
    ToolArgumentsError,
    ToolLoopCancelledError,
    ToolUseError,
    TurnLimitError,
)
from innkeeper.inference.limits import MAX_TOOL_CALLS, SAMPLE_CHARACTERS
from innkeeper.inference.output_tags import transform_tags
from innkeeper.inference.run.config import RunnerConfig
from innkeeper.inference.run.request import PromptRequest, PromptResult
from innkeeper.inference.run.runner import PromptRunner
from innkeeper.inference.run.tool_trace import Events, TurnTrace
from innkeeper.inference.tools.calls import ToolCall, calls_of, parse_arguments
from innkeeper.inference.tools.config import ToolCallingConfig
from innkeeper.inference.tools.definition import ToolRegistry
from innkeeper.inference.tools.dispatcher import ToolDispatcher
from innkeeper.inference.tools.results import failure, written
from innkeeper.inference.tools.transforms import (
    TOOL_CALL_TRANSFORMS,
    TOOL_RESULT_TRANSFORMS,
    TOOL_TRANSFORMS,
    TransformRegistry,
)
from innkeeper.prompt import InnkeeperError, Message, UsageError, VariablesStore, freeze, thaw
from innkeeper.prompt.message import messages_of

__all__ = ["DEFAULT_MAX_TURNS", "ToolLoopResult", "ToolLoopRunner", "stream_final"]

DEFAULT_MAX_TURNS: Final = 12

_EMPTY_FINAL: Final = "Your last answer was empty. Please give your final answer now, using the tool results above."
_KEPT: Final = ("signature", "reasoning_content", "reasoning_details")


@dataclass(frozen=True, slots=True)
class ToolLoopResult:
    """The final answer; the chat with everything that was said on the way; one trace entry for each request."""

    assistant_text: str
    history: tuple[Message, ...]
    trace: tuple[TurnTrace, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLoopRunner:
    """Runs a model with tools. Make one with `build`; it holds no state of a chat, so one serves many."""

    runner: PromptRunner
    config: RunnerConfig
    registry: ToolRegistry
    dispatcher: ToolDispatcher
    system: str | None = None
    variables_store: VariablesStore | None = None
    strict: bool = False
    llm_options: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    tool_transforms: TransformRegistry = field(default_factory=lambda: TOOL_TRANSFORMS)
    tool_call_transforms: TransformRegistry = field(default_factory=lambda: TOOL_CALL_TRANSFORMS)
    tool_result_transforms: TransformRegistry = field(default_factory=lambda: TOOL_RESULT_TRANSFORMS)

    @classmethod
    def build(  # noqa: PLR0913 - one argument a setting, all by name
        cls,
        client: Any,
        runner_config: RunnerConfig,
        tool_executor: Any = None,
        *,
        registry: Any = (),
        tool_aliases: Mapping[str, str] | None = None,
        system: str | None = None,
        variables_store: VariablesStore | None = None,
        strict: bool = False,
        llm_options: Mapping[str, Any] | None = None,
        **inputs: Any,
    ) -> ToolLoopRunner:
        """A loop for one model and a set of tools.

        ``client`` is a `Client` or a `PromptRunner`. ``registry`` holds the tool definitions, of which the config's allow and
        deny lists are applied. ``tool_executor`` runs them (see `ToolDispatcher`); only a config with tools disabled does
        without one. ``inputs`` go to `PromptRunner.build_request` (``character``, ``request``, ``dialect`` …).
        """
        config = runner_config.tool_calling
        offered = ToolRegistry.of(registry).filtered(config.tool_allowlist, config.tool_denylist)
        if tool_executor is None and config.tool_use_mode != "disabled" and offered:
            msg = "tools need a tool_executor"
            raise UsageError(msg, hint='or set context.tool_calling.tool_use_mode to "disabled"')
        executor = {} if tool_executor is None else tool_executor
        return cls(
            runner=client if isinstance(client, PromptRunner) else PromptRunner(client),
            config=runner_config,
            registry=offered,
            dispatcher=ToolDispatcher(offered, executor, aliases=tool_aliases, timeout=config.tool_timeout),
            system=system,
            variables_store=variables_store,
            strict=strict,
            llm_options=dict(llm_options or {}),
            inputs=inputs,
        )

    def run(
        self,
        user_text: str | None,
        history: Any = None,
        *,
        max_turns: int = DEFAULT_MAX_TURNS,
        on_event: Callable[[Mapping[str, Any]], Any] | None = None,
        final_stream: bool = False,
        cancel: Any = None,
    ) -> ToolLoopResult:
        """Answer ``user_text`` after ``history``.

        ``on_event`` is told what happens (`innkeeper.inference.run.tool_trace.EVENTS`). With ``final_stream`` an answer that used
        tools is asked for once more as a stream without tools. ``cancel`` is an event or a function that says when to
        stop. Variables are written to the store once, when the run has succeeded.

        Raises `ToolUseError` (``NO_TOOL_CALLS``, ``TOOL_ERROR``) in enforced mode, `TurnLimitError`,
        `ToolLoopCancelledError`, and whatever a request raises.
        """
        if max_turns < 1:
            msg = f"max_turns must be at least 1, not {max_turns}"
            raise UsageError(msg)
        run = _Run(self, user_text, messages_of(history), Events(on_event), cancel)
        return run.go(max_turns, final_stream=final_stream)

    def request(self, history: list[Message], *, tools: bool, system: str | None = None) -> PromptRequest:
        """The request for one turn."""
        config = self.config.tool_calling
        return self.runner.build_request(
            self.config,
            history,
            system=self.system if system is None else system,
            variables_store=self.variables_store,
            strict=self.strict,
            llm_options=self._options(config, tools=tools),
            message_transforms=config.message_transforms,
            response_transforms=config.response_transforms,
            commit=False,
            **self.inputs,
        )

    def _options(self, config: ToolCallingConfig, *, tools: bool) -> dict[str, Any]:
        options = {**thaw(config.request_overrides), **thaw(dict(self.llm_options))}
        if not tools:
            return {k: v for k, v in options.items() if k not in {"parallel_tool_calls", "tools", "tool_choice"}}
        offered = self.tool_transforms.apply(config.tool_transforms, self.registry.openai_tools(), strict=self.strict)
        return {"tool_choice": thaw(config.tool_choice) or "auto", **options, "tools": offered}

    @property
    def offers_tools(self) -> bool:
        """Whether the model is shown any tool."""
        return self.config.tool_calling.tool_use_mode != "disabled" and bool(self.registry.openai_tools())


class _Run:
    """One run: the chat so far, what the tools gave, which retries are left."""

    def __init__(
        self, loop: ToolLoopRunner, user_text: str | None, history: tuple[Message, ...], events: Events, cancel: Any
    ) -> None:
        self.loop = loop
        self.config = loop.config.tool_calling
        said = [Message("user", user_text)] if user_text is not None and user_text.strip() else []
        self.history = [*history, *said]
        self.events = events
        self.cancel = cancel
        self.trace: list[TurnTrace] = []
        self.tools = loop.offers_tools
        self.enforced = self.tools and self.config.tool_use_mode == "enforced"
        self.outcomes: dict[str, bool] = {}
        self.succeeded = False
        self.nudge: str | None = None
        self.retries = self.config.fallback_retry_count
        self.last: PromptRequest | None = None

    def go(self, max_turns: int, *, final_stream: bool) -> ToolLoopResult:
        for turn in range(1, max_turns + 1):
            result = self.ask(turn)
            calls = self.take(result)
            if calls:
                self.run_calls(turn, calls)
            elif self.is_empty(result):
                self.ask_again(turn)
            else:
                return self.end(turn, result, final_stream=final_stream)
        msg = f"the model still calls tools after {max_turns} turns"
        raise TurnLimitError(msg, code="TURN_LIMIT", history=tuple(self.history), trace=tuple(self.trace))

    def ask(self, turn: int) -> PromptResult:
        """One answer; in relaxed mode an error of the provider's is met by asking without tools from here on."""
        while True:
            self.check_cancelled()
            request = self.last = self.request()
            self.started(turn, request)
            try:
                return self.loop.runner.perform(request)
            except (HttpError, ReplyError) as error:
                self.events.send("llm_request_error", turn, error=error.kind, status=error.status)
                if not (self.tools and self.config.tool_use_mode == "relaxed" and self.retries > 0):
                    raise
                self.retries -= 1
                self.tools = False
                self.events.send("llm_request_retry", turn, tools=False, retries_left=self.retries)

    def request(self) -> PromptRequest:
        nudge = [Message("user", self.nudge)] if self.nudge is not None else []
        return self.loop.request([*self.history, *nudge], tools=self.tools)

    def started(self, turn: int, request: PromptRequest) -> None:
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
        self.events.send("llm_request_start", turn, **facts)

    def take(self, result: PromptResult) -> tuple[ToolCall, ...]:
        """The calls of an answer that are to be run; the message that holds them goes into the history."""
        found = calls_of(result.assistant_message.get("tool_calls")) if self.tools else ()
        kept = self.transformed(found[:MAX_TOOL_CALLS])[: self.config.calls_per_turn]
        prose = result.content.strip()[:SAMPLE_CHARACTERS] if kept else None
        self.trace[-1].answered(result, len(kept), len(found) - len(kept), prose)
        self.events.send("llm_request_end", self.trace[-1].turn, **self.trace[-1].response_summary)
        if kept:
            extra = {key: result.assistant_message[key] for key in _KEPT if result.assistant_message.get(key)}
            called = {**extra, "tool_calls": [call.to_dict() for call in kept]}
            self.history.append(Message("assistant", "", metadata=freeze(called)))
        return kept

    def transformed(self, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
        registry, names = self.loop.tool_call_transforms, self.config.tool_call_transforms
        raw = [call.to_dict() for call in calls]
        return calls_of(registry.apply(names, raw, strict=self.loop.strict))

    def run_calls(self, turn: int, calls: tuple[ToolCall, ...]) -> None:
        for call in calls:
            self.check_cancelled()
            self.events.send("tool_call_start", turn, **self.trace[-1].called(call))
            started = self.loop.runner.timer()
            envelope, text = written(self.envelope(call), self.config.max_tool_output_bytes, self.result_transform)
            elapsed = (self.loop.runner.timer() - started) * 1000
            facts = self.trace[-1].returned(call, envelope)
            self.outcomes[call.name] = facts["ok"]
            self.succeeded = self.succeeded or facts["ok"]
            self.events.send("tool_call_end", turn, **facts, output_bytes=len(text.encode()), elapsed_ms=elapsed)
            self.history.append(Message("tool", text, metadata=freeze({"tool_call_id": call.id})))

    def envelope(self, call: ToolCall) -> dict[str, Any]:
        try:
            args = parse_arguments(call.arguments, self.config.max_tool_args_bytes)
        except ToolArgumentsError as error:
            data = {key: value for key, value in error.details.items() if key != "code"}
            return failure(call.name, error.code, error.message, **data)
        return self.loop.dispatcher.run(call.name, args, call.id)

    def result_transform(self, envelope: dict[str, Any]) -> dict[str, Any]:
        registry, names = self.loop.tool_result_transforms, self.config.tool_result_transforms
        changed: dict[str, Any] = registry.apply(names, envelope, strict=self.loop.strict)
        return changed

    def is_empty(self, result: PromptResult) -> bool:
        blank = self.nudge is None and bool(self.outcomes) and not result.content.strip()
        return blank and self.config.fix_empty_final

    def ask_again(self, turn: int) -> None:
        self.nudge = self.config.fix_empty_final_user_text or _EMPTY_FINAL
        self.tools = self.tools and not self.config.fix_empty_final_disable_tools
        self.events.send("fix_empty_final", turn, tools=self.tools)

    def end(self, turn: int, result: PromptResult, *, final_stream: bool) -> ToolLoopResult:
        self.judge()
        text = result.content
        if final_stream:
            facts, text = stream_final(self.loop, self.history, text, self.events, turn, used=bool(self.outcomes))
            self.trace[-1].final_stream = facts
        text = transform_tags(text, self.loop.config.output_tags).text
        self.history.append(Message("assistant", text))
        if self.last is not None and self.loop.variables_store is not None:
            self.last.commit(self.loop.variables_store)
        self.events.send("final", turn, content_bytes=len(text.encode()), finish_reason=result.finish_reason)
        return ToolLoopResult(text, tuple(self.history), tuple(self.trace))

    def judge(self) -> None:
        """In enforced mode: tools were called, and what they gave is good enough for the failure policy."""
        if not self.enforced:
            return
        fatal = self.config.tool_failure_policy == "fatal"
        failed = sorted(name for name, ok in self.outcomes.items() if not ok)
        if not self.outcomes:
            self.refuse("NO_TOOL_CALLS", "the model answered without calling a tool")
        if (fatal and failed) or (not fatal and not self.succeeded):
            self.refuse("TOOL_ERROR", f"tools failed: {', '.join(failed)}")

    def refuse(self, code: str, message: str) -> None:
        raise ToolUseError(message, code=code, history=tuple(self.history), trace=tuple(self.trace))

    def check_cancelled(self) -> None:
        asked = getattr(self.cancel, "is_set", self.cancel)
        if asked is not None and asked():
            msg = "the run was cancelled"
            raise ToolLoopCancelledError(msg, code="CANCELLED", history=tuple(self.history), trace=tuple(self.trace))


_SUFFIX: Final = "Tools are off now. Answer the user from the tool results above, and call no tools."


def stream_final(
    loop: ToolLoopRunner, history: list[Message], text: str, events: Events, turn: int, *, used: bool
) -> tuple[dict[str, Any], str]:
    """``(facts, text)``: the streamed answer, or ``text`` where there was no need, no way, or an error."""
    reason = _reason_not_to(loop, used=used)
    if reason is not None:
        events.send("final_stream_skipped", turn, reason=reason)
        return {"skipped": reason}, text
    events.send("final_stream_start", turn)
    try:
        request = loop.request(history, tools=False, system="\n\n".join(filter(None, [loop.system, _SUFFIX])))
        result = loop.runner.perform_stream(request, lambda delta: events.send("final_stream_delta", turn, delta=delta))
    except InnkeeperError as error:
        events.send("final_stream_error", turn, error=error.kind)
        return {"error": error.kind}, text
    facts = {"finish_reason": result.finish_reason, "elapsed_ms": result.elapsed_ms}
    events.send("final_stream_end", turn, **facts, content_bytes=len(result.content.encode()))
    return facts, result.content if result.content.strip() else text


def _reason_not_to(loop: ToolLoopRunner, *, used: bool) -> str | None:
    if not used:
        return "no tools were used"
    if not loop.config.capabilities.supports_streaming:
        return "the model cannot stream"
    return None if callable(getattr(loop.runner.client, "chat", None)) else "the client cannot stream"
