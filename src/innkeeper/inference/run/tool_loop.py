"""ToolLoopRunner: ask, run the tools that the model calls, ask again, until it answers (TavernKit's *ToolLoopRunner*).

On request the answer of every turn is streamed as it comes, calls of tools among them; or the final answer is asked for once
more as a stream without tools, for providers that cannot do both at once.
`AsyncToolLoopRunner` is the same for event loops. What a run decides is in `ToolRun`; here is what it needs for that, and how
its wishes are done.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Self

from innkeeper.inference.client.watch import check_cancelled
from innkeeper.inference.errors import HttpError, ReplyError, StreamCutError
from innkeeper.inference.run.base import (
    INPUTS,
    BaseRunner,
    carry_out,
    carry_out_async,
    check_cancelled_async,
    settle,
    until_cancelled,
)
from innkeeper.inference.run.config import RunnerConfig
from innkeeper.inference.run.request import PromptResult
from innkeeper.inference.run.runner import AsyncPromptRunner, PromptRunner
from innkeeper.inference.run.tool_run import THOUGHTS, Ask, Build, Stream, Tell, ToolLoopResult, ToolRun, Use
from innkeeper.inference.tools.definition import ToolRegistry
from innkeeper.inference.tools.dispatcher import AsyncToolDispatcher, ToolDispatcher
from innkeeper.inference.tools.toolbox import Toolbox
from innkeeper.inference.tools.transforms import (
    TOOL_CALL_TRANSFORMS,
    TOOL_RESULT_TRANSFORMS,
    TOOL_TRANSFORMS,
    TransformRegistry,
)
from innkeeper.prompt import BuildRequest, ProviderError, UsageError, VariablesStore, thaw
from innkeeper.prompt.message import messages_of

DEFAULT_MAX_TURNS: Final = 12

Run = Generator[Any, Any, ToolLoopResult]
Handler = Callable[[Mapping[str, Any]], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseToolLoop:
    """What the two loops share: a model, its tools, and how a turn is asked for."""

    runner_class: ClassVar[Callable[[Any], Any]]
    dispatcher_class: ClassVar[Callable[..., Any]]

    runner: Any
    config: RunnerConfig
    registry: ToolRegistry
    dispatcher: Any
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
    ) -> Self:
        """A loop for one model and a set of tools.

        ``client`` is a client or a runner. ``registry`` holds the tool definitions, of which the config's allow and deny
        lists are applied. ``tool_executor`` runs them (see `ToolDispatcher`), or is a `Toolbox`, which has both; only a config
        with tools disabled does without one. ``inputs`` go to `PromptRunner.build_request` (``character``, ``request``,
        ``dialect`` …).

        Raises `UsageError` for tools without an executor, an executor or a client of the wrong kind, and an unknown input.
        """
        unknown = sorted(inputs.keys() - INPUTS)
        if unknown:
            near = difflib.get_close_matches(unknown[0], INPUTS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"inputs: {', '.join(sorted(INPUTS))}"
            raise UsageError(f"unknown input {unknown[0]!r}", hint=hint)
        config = runner_config.tool_calling
        if isinstance(tool_executor, Toolbox):
            registry, tool_executor = tool_executor.registry, tool_executor.functions
        offered = ToolRegistry.of(registry).filtered(config.tool_allowlist, config.tool_denylist)
        if tool_executor is None and config.tool_use_mode != "disabled" and offered:
            msg = "tools need a tool_executor"
            raise UsageError(msg, hint='or set context.tool_calling.tool_use_mode to "disabled"')
        executor = {} if tool_executor is None else tool_executor
        return cls(
            runner=client if isinstance(client, BaseRunner) else cls.runner_class(client),
            config=runner_config,
            registry=offered,
            dispatcher=cls.dispatcher_class(offered, executor, aliases=tool_aliases, timeout=config.tool_timeout),
            system=system,
            variables_store=variables_store,
            strict=strict,
            llm_options=dict(llm_options or {}),
            inputs=inputs,
        )

    def __post_init__(self) -> None:
        if not isinstance(self.runner, self.runner_class):  # type: ignore[arg-type]
            msg = f"{type(self).__name__} needs {self.runner_class.__name__}, not {type(self.runner).__name__}"
            raise UsageError(msg)

    @property
    def offers_tools(self) -> bool:
        """Whether the model is shown any tool."""
        return self.config.tool_calling.tool_use_mode != "disabled" and bool(self.registry.openai_tools())

    def reason_not_to_stream(self, *, used: bool) -> str | None:
        """Why a final answer is not asked for again as a stream, if it is not."""
        if not used:
            return "no tools were used"
        if not self.config.capabilities.supports_streaming:
            return "the model cannot stream"
        return None if callable(getattr(self.runner.client, "chat", None)) else "the client cannot stream"

    def _run(self, user_text: str | None, history: Any, max_turns: int, *, final_stream: bool) -> Run:
        if max_turns < 1:
            msg = f"max_turns must be at least 1, not {max_turns}"
            raise UsageError(msg)
        return ToolRun(self, user_text, messages_of(history)).go(max_turns, final_stream=final_stream)

    def _turn(self, wish: Build) -> dict[str, Any]:
        """The inputs of `PromptRunner.build_request` for one turn.

        The tools are an input of each build, so that the tavern carries their calls and results, and are sent as the
        transforms made them; in a turn without tools none are sent.
        """
        config = self.config.tool_calling
        options = {**thaw(config.request_overrides), **thaw(dict(self.llm_options))}
        inputs = dict(self.inputs)
        offered = self.registry.openai_tools()
        if self.offers_tools:
            inputs["request"] = BuildRequest.of(inputs.get("request") or {}).with_(tools=offered)
        if wish.tools:
            offered = self.tool_transforms.apply(config.tool_transforms, offered, strict=self.strict)
            options = {"tool_choice": thaw(config.tool_choice) or "auto", **options, "tools": offered}
        else:
            options = {k: v for k, v in options.items() if k not in {"parallel_tool_calls", "tool_choice"}} | {
                "tools": []
            }
        if wish.suffix:
            inputs["system"] = "\n\n".join(filter(None, [self.system, wish.suffix]))
        keys = (inputs.get("dialect_options") or {}).get("message_keys") or ()
        return {
            "runner_config": self.config,
            "history": wish.history,
            "system": self.system,
            "variables_store": self.variables_store,
            "strict": self.strict,
            "llm_options": options,
            "message_transforms": config.message_transforms,
            "response_transforms": config.response_transforms,
            "commit": False,
            **inputs,
            "dialect_options": {**(inputs.get("dialect_options") or {}), "message_keys": (*THOUGHTS, *keys)},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLoopRunner(BaseToolLoop):
    """Runs a model with tools. Make one with `build`; it holds no state of a chat, so one serves many."""

    runner_class: ClassVar[Callable[[Any], Any]] = PromptRunner
    dispatcher_class: ClassVar[Callable[..., Any]] = ToolDispatcher

    def run(
        self,
        user_text: str | None,
        history: Any = None,
        *,
        max_turns: int = DEFAULT_MAX_TURNS,
        on_event: Handler | None = None,
        stream: bool = False,
        final_stream: bool = False,
        cancel: Any = None,
    ) -> ToolLoopResult:
        """Answer ``user_text`` (none or blank: the history speaks for itself).

        With ``stream`` the text of every turn is heard as it comes, what is said before tools are called, too; what fails once
        something was said is not asked again. ``on_event`` hears of everything, in order; what it raises is swallowed. ``cancel``
        is an event or a function: it is looked at before each request and tool, and while a request waits. Variables are written
        to the store once, when the run has succeeded. Raises `ToolUseError` (``NO_TOOL_CALLS``, ``TOOL_ERROR``) in enforced mode
        and (``RESULTS_NOT_SENT``) where the tavern does not carry tools, ``TURN_LIMIT``, ``CANCELLED``; and whatever a request
        raises.
        """

        def tell(event: Mapping[str, Any]) -> None:
            if on_event is not None:
                with contextlib.suppress(Exception):
                    on_event(event)

        def do(wish: Any) -> Any:
            if isinstance(wish, Tell):
                return tell(wish.event)
            if isinstance(wish, Build):
                return self.runner.build_request(**self._turn(wish))
            check_cancelled(cancel)
            if isinstance(wish, Ask):
                return self._ask(wish, tell, cancel) if stream else self.runner.perform(wish.request, cancel=cancel)
            if isinstance(wish, Stream):
                return self.runner.perform_stream(wish.request, lambda it: tell(_delta(wish, it)), cancel=cancel)
            return self.dispatcher.run(wish.call.name, wish.args, wish.call.id)

        return carry_out(self._run(user_text, history, max_turns, final_stream=final_stream and not stream), do)

    def _ask(self, wish: Ask, tell: Callable[[Mapping[str, Any]], Any], cancel: Any) -> PromptResult:
        heard: list[str] = []

        def hear(piece: str) -> None:
            heard.append(piece)
            tell(_piece(wish, piece))

        try:
            result: PromptResult = self.runner.perform(wish.request, hear, cancel=cancel)
        except (HttpError, ReplyError) as error:
            raise _spoken(error, heard) from error
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class AsyncToolLoopRunner(BaseToolLoop):
    """`ToolLoopRunner` for event loops. Tools, ``on_event`` and ``cancel`` may be of either kind."""

    runner_class: ClassVar[Callable[[Any], Any]] = AsyncPromptRunner
    dispatcher_class: ClassVar[Callable[..., Any]] = AsyncToolDispatcher

    async def run(
        self,
        user_text: str | None,
        history: Any = None,
        *,
        max_turns: int = DEFAULT_MAX_TURNS,
        on_event: Handler | None = None,
        stream: bool = False,
        final_stream: bool = False,
        cancel: Any = None,
    ) -> ToolLoopResult:
        """See `ToolLoopRunner.run`. ``cancel`` stops a tool that is awaited, too; so does cancelling the task."""

        async def tell(event: Mapping[str, Any]) -> None:
            if on_event is not None:
                with contextlib.suppress(Exception):
                    await settle(on_event(event))

        async def do(wish: Any) -> Any:
            if isinstance(wish, Tell):
                return await tell(wish.event)
            if isinstance(wish, Build):
                return await self.runner.build_request(**self._turn(wish))
            await check_cancelled_async(cancel)
            if isinstance(wish, Ask):
                return await (
                    self._ask(wish, tell, cancel) if stream else self.runner.perform(wish.request, cancel=cancel)
                )
            if isinstance(wish, Stream):
                return await self.runner.perform_stream(wish.request, lambda it: tell(_delta(wish, it)), cancel=cancel)
            work: Use = wish
            return await until_cancelled(self.dispatcher.run(work.call.name, work.args, work.call.id), cancel)

        streams_last = final_stream and not stream
        return await carry_out_async(self._run(user_text, history, max_turns, final_stream=streams_last), do)

    async def _ask(self, wish: Ask, tell: Callable[[Mapping[str, Any]], Any], cancel: Any) -> PromptResult:
        heard: list[str] = []

        async def hear(piece: str) -> None:
            heard.append(piece)
            await tell(_piece(wish, piece))

        try:
            result: PromptResult = await self.runner.perform(wish.request, hear, cancel=cancel)
        except (HttpError, ReplyError) as error:
            raise _spoken(error, heard) from error
        return result


def _piece(wish: Ask, text: str) -> dict[str, Any]:
    return {"type": "text_delta", "turn": wish.turn, "delta": text}


def _spoken(error: HttpError | ReplyError, heard: list[str]) -> ProviderError:
    """An error of the provider's; once something was said, that of a stream that ended too early: nobody asks again then."""
    return StreamCutError(error.message, partial="".join(heard)) if heard else error


def _delta(wish: Stream, text: str) -> dict[str, Any]:
    return {"type": "final_stream_delta", "turn": wish.turn, "delta": text}
