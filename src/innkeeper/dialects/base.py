"""BaseDialect: what all built-in dialects do alike. A provider's module states its rules and writes its shapes.

A dialect of your own need not derive from it: anything with a ``name``, ``messages`` and ``request`` is a dialect
(`innkeeper.prompt.payload.dialect.Dialect`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from innkeeper.dialects.conversation import STYLE_OPTIONS, Rules, TurnSequence, converse
from innkeeper.dialects.options import Table, apply, neutral, report_unknown
from innkeeper.dialects.report import Report, jsonable
from innkeeper.dialects.tools import definition, own_tools
from innkeeper.prompt.message import Message
from innkeeper.prompt.payload.dialect import Payload, Tool
from innkeeper.prompt.text import scalar_text


class BaseDialect(ABC):
    """A dialect over the shared rules. Has no state but its name."""

    __slots__ = ("_name",)

    provider: ClassVar[str]
    """The registry name, unless it is made with another."""
    sends_model: ClassVar[bool] = True
    """Whether the model's name stands in the body."""
    rules: ClassVar[Rules]
    """The messages that the provider accepts."""
    table: ClassVar[Table]
    """The spelling of its request options."""
    needs_limit: ClassVar[int] = 0
    """The limit of an answer that it asks for where nobody gives one; 0 where a body needs none."""
    own_options: ClassVar[tuple[str, ...]] = ()
    """Options that shape its messages, besides `STYLE_OPTIONS`."""

    def __init__(self, name: str = "") -> None:
        self._name = name or self.provider

    @property
    def name(self) -> str:
        """The registry name."""
        return self._name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"

    def messages(self, messages: Sequence[Message], options: Mapping[str, Any]) -> Payload:
        """The messages in the provider's shape, with notes of what was lost or repaired. Raises `ConfigError`."""
        report = Report(self._name)
        body = self._messages(self._conversation(messages, options, report), options, report)
        if options:
            report_unknown(options, self.table, (*STYLE_OPTIONS, *self.own_options), report)
        return Payload(body, report.notes())

    def request(
        self, messages: Sequence[Message], *, model: str | None, options: Mapping[str, Any], tools: Sequence[Tool] = ()
    ) -> Payload:
        """The whole request body, with notes. Raises `ConfigError`; `LimitError` for data that nests too deep."""
        report = Report(self._name)
        options = neutral(options)
        talk = self._conversation(messages, options, report)
        body = self._body(scalar_text(model) if model else None, talk, options, report)
        if tools:
            self._add_tools(body, own_tools(tools, self._sends(talk), report), report)
        for position, tool in options.get("hosted_tools") or ():
            body.setdefault("tools", []).insert(position, jsonable(tool))
        body = apply(body, options, self.table, report, others=(*STYLE_OPTIONS, *self.own_options))
        return Payload(self._finished(body, report), report.notes())

    def _sends(self, talk: TurnSequence) -> Callable[[str], bool]:
        """Whether tools may have a field of this name of their own."""
        own = self.rules.parts | ({"cache_control"} if self.rules.cache else frozenset())
        return lambda name: name in own or talk.style.own

    def _conversation(self, messages: Sequence[Message], options: Mapping[str, Any], report: Report) -> TurnSequence:
        return converse(messages, options, self.rules, report)

    @abstractmethod
    def _messages(self, talk: TurnSequence, options: Mapping[str, Any], report: Report) -> Any:
        """The conversation in the provider's shape."""

    def _body(
        self, model: str | None, talk: TurnSequence, options: Mapping[str, Any], report: Report
    ) -> dict[str, Any]:
        """The request body before tools and options."""
        messages = self._messages(talk, options, report)
        named = {"model": model} if model and self.sends_model else {}
        return {**named, **(messages if isinstance(messages, dict) else {"messages": messages})}

    def _add_tools(self, body: dict[str, Any], tools: Sequence[Tool], report: Report) -> None:
        """Write tool definitions into the body, by default as Chat Completions has them."""
        body["tools"] = [definition(tool) for tool in tools]

    def _finished(self, body: dict[str, Any], report: Report) -> dict[str, Any]:
        """The body with what the provider insists on."""
        return body
