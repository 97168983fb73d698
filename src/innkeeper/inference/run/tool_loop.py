"""ToolLoopRunner: ask, run the tools that the model calls, ask again, until it answers (TavernKit's *ToolLoopRunner*).

On request the answer of every turn is streamed as it comes, calls of tools among them; or the final answer is asked for once
more as a stream without tools, for providers that cannot do both at once.
`AsyncToolLoopRunner` is the same for event loops. What a run does is in `ToolRun`; here is what it needs for that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Self

from innkeeper.inference.run.base import BaseRunner, check_inputs
from innkeeper.inference.run.callers import completed
from innkeeper.inference.run.config import RunnerConfig
from innkeeper.inference.run.runner import AsyncPromptRunner, PromptRunner
from innkeeper.inference.run.tool_run import THOUGHTS, ToolLoopResult, ToolRun
from innkeeper.inference.tools.definition import ToolRegistry
from innkeeper.inference.tools.dispatcher import AsyncToolDispatcher, ToolDispatcher
from innkeeper.inference.tools.toolbox import Toolbox
from innkeeper.inference.tools.transforms import (
    TOOL_CALL_TRANSFORMS,
    TOOL_RESULT_TRANSFORMS,
    TOOL_TRANSFORMS,
    TransformRegistry,
)
from innkeeper.prompt import BuildRequest, Message, UsageError, VariablesStore, thaw
from innkeeper.prompt.message import messages_of
from innkeeper.prompt.text import kind_of

DEFAULT_MAX_TURNS: Final = 12

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
        check_inputs(inputs)
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
            msg = f"{type(self).__name__} needs {self.runner_class.__name__}, not {kind_of(self.runner)}"
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
        return None if self.runner.can_stream else "the client cannot stream"

    def _run(self, user_text: str | None, history: Any, max_turns: int, **how: Any) -> ToolRun:
        if max_turns < 1:
            msg = f"max_turns must be at least 1, not {max_turns}"
            raise UsageError(msg)
        return ToolRun(self, user_text, messages_of(history), **how)

    def inputs_of(self, history: list[Message], *, tools: bool, suffix: str | None = None) -> dict[str, Any]:
        """Return the inputs of `PromptRunner.build_request` for one turn; with ``suffix`` after the system text.

        The tools are an input of each build, so that the tavern carries their calls and results, and are sent as the
        transforms made them; in a turn without tools none are sent.
        """
        config = self.config.tool_calling
        options = {**thaw(config.request_overrides), **thaw(dict(self.llm_options))}
        inputs = dict(self.inputs)
        offered = self.registry.openai_tools()
        if self.offers_tools:
            inputs["request"] = BuildRequest.of(inputs.get("request") or {}).with_(tools=offered)
        if tools:
            offered = self.tool_transforms.apply(config.tool_transforms, offered, strict=self.strict)
            options = {"tool_choice": thaw(config.tool_choice) or "auto", **options, "tools": offered}
        else:
            options = {k: v for k, v in options.items() if k not in {"parallel_tool_calls", "tool_choice"}} | {
                "tools": []
            }
        if suffix:
            inputs["system"] = "\n\n".join(filter(None, [self.system, suffix]))
        keys = (inputs.get("dialect_options") or {}).get("message_keys") or ()
        return {
            "runner_config": self.config,
            "history": history,
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
        run = self._run(user_text, history, max_turns, on_event=on_event, stream=stream, cancel=cancel)
        return completed(run.go(max_turns, final_stream=final_stream and not stream))


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
        run = self._run(user_text, history, max_turns, on_event=on_event, stream=stream, cancel=cancel)
        return await run.go(max_turns, final_stream=final_stream and not stream)
