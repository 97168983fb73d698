"""Order: what a provider is asked for: messages after post-processing, names, model, settings, tools, stop strings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.content.preset import Preset
from innkeeper.dialects.providers.openai import definition
from innkeeper.dialects.report import Report
from innkeeper.dialects.sillytavern.conversion import ChatConversion, Texts
from innkeeper.dialects.sillytavern.converters import post_processed
from innkeeper.dialects.sillytavern.messages import Speakers
from innkeeper.prompt import Plan, Ports
from innkeeper.prompt.build import start
from innkeeper.prompt.errors import UsageError
from innkeeper.taverns.silly.inputs import SillyInputs, read_inputs

__all__ = ["DEFAULT_SOURCE", "Order", "order_of"]

DEFAULT_SOURCE: Final = "custom"
_DEFAULTS: Final = {"temperature": 1, "top_p": 1, "top_k": 0, "frequency_penalty": 0, "presence_penalty": 0}
_DEFAULT_TOKENS: Final = 300


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """A request before it has a provider's shape. ``options`` have SillyTavern's defaults; ``tools`` are definitions."""

    talk: ChatConversion
    preset: Preset
    model: str
    options: Mapping[str, Any]
    stop: tuple[str, ...] = ()
    tools: tuple[dict[str, Any], ...] = ()
    prefill: str = ""

    @property
    def source(self) -> str:
        """SillyTavern's name for the provider."""
        return self.preset.chat_completion_source or DEFAULT_SOURCE

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages, by the preset's mode of post-processing."""
        return self.talk.messages

    @property
    def max_tokens(self) -> int:
        """The longest reply, in tokens."""
        return int(self.options["max_tokens"])

    @property
    def effort(self) -> str:
        """How much is to be thought; ``auto`` where nobody says."""
        return str(self.options.get("reasoning_effort") or "auto")

    @property
    def shows_thoughts(self) -> bool:
        """Whether thoughts are asked for."""
        return self.preset.show_thoughts is not False

    def sampling(self, *names: str) -> dict[str, Any]:
        """The options of these names that are set."""
        return {name: self.options[name] for name in names if self.options.get(name) is not None}

    @property
    def seed(self) -> int | None:
        """The seed; ``None`` for none, which SillyTavern writes as a negative number."""
        found = self.options.get("seed")
        return found if isinstance(found, int) and found >= 0 else None


def order_of(plan: Plan) -> Order:
    """What the provider of a plan's preset is asked for. Raises `UsageError` for a plan without the request that made it."""
    if plan.request is None:
        msg = "the plan does not say which request made it"
        raise UsageError(msg, hint="build it with innkeeper.taverns.silly")
    inputs = read_inputs(start(plan.request, Ports()))
    talk = ChatConversion.of(_sent(plan), _speakers(inputs), _texts(plan), Report("silly"))
    mode = inputs.preset.custom_prompt_post_processing
    return Order(
        talk=msgspec.structs.replace(talk, messages=post_processed(talk, mode)),
        preset=inputs.preset,
        model=inputs.preset.model or plan.model or "",
        options=_options(plan),
        stop=plan.stop,
        tools=tuple(definition(tool) for tool in plan.tools) if inputs.calls_tools else (),
        prefill=str(plan.options.get("assistant_prefill") or ""),
    )


def _sent(plan: Plan) -> list[dict[str, Any]]:
    """The plan's messages; one that calls tools and says nothing has no content."""
    return [
        {key: value for key, value in message.items() if key != "content" or value or "tool_calls" not in message}
        for message in plan.to_messages("openai")
    ]


def _speakers(inputs: SillyInputs) -> Speakers:
    return Speakers(char=inputs.char, user=inputs.user, group=inputs.group.names if inputs.group else ())


def _texts(plan: Plan) -> Texts:
    settings = plan.request.settings if plan.request else {}
    given = {"placeholder": settings.get("prompt_placeholder"), "tool_call": settings.get("tool_call_text")}
    return Texts(**{name: text for name, text in given.items() if isinstance(text, str)})


def _options(plan: Plan) -> dict[str, Any]:
    given = {name: value for name, value in plan.options.items() if value is not None}
    return {**_DEFAULTS, "max_tokens": _DEFAULT_TOKENS, **given}
