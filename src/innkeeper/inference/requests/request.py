"""GenerationRequest: what a caller wants of a model, in one shape for every surface: read from a body, sent to a provider.

Options stand under neutral names; a value counts when it is there, zero included, and null is as if it were not. What only one
surface has stays as it came, in ``extra`` and ``hosted``: a provider who speaks the same protocol gets it, for any other it is
named in a note. `provider_request` writes what the provider of a route is sent, `request_for` does so for a plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.dialects import DIALECTS
from innkeeper.dialects.options import neutral
from innkeeper.dialects.plan_payload import plan_payload
from innkeeper.inference.adapters.adapter import Adapter, ModelRequest
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.prompt.data import EMPTY, FrozenDict, freeze, thaw
from innkeeper.prompt.dialect import Dialects, Tool
from innkeeper.prompt.errors import FormatError, LimitError, UnsupportedError, UsageError, Where
from innkeeper.prompt.message import Message
from innkeeper.prompt.note import Note, NoteKind

if TYPE_CHECKING:
    from innkeeper.inference.routing.route import Route
    from innkeeper.prompt import Plan


MAX_CHOICES: Final = 8
"""Answers that one request may ask for (`LimitError`)."""


class GenerationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request. ``surface`` is the name of the adapter whose protocol it was written in.

    ``hosted`` are tools that a provider runs himself, ``extra`` fields that have no neutral name. ``prompt`` is the text of a
    text completion, which is the one message, too. ``echo`` is what a Responses object repeats of it. ``choices`` is how many
    answers are wanted, ``choice`` which of them this request is for. ``raw`` is a body that is sent as it is, in place of all
    else.
    """

    surface: str
    model: str
    messages: tuple[Message, ...]
    options: FrozenDict = EMPTY
    tools: tuple[Tool, ...] = ()
    hosted: tuple[FrozenDict, ...] = ()
    extra: FrozenDict = EMPTY
    stream: bool = False
    include_usage: bool = False
    prompt: str | None = None
    user: str | None = None
    metadata: FrozenDict = EMPTY
    previous_response_id: str | None = None
    store: bool | None = None
    echo: FrozenDict = EMPTY
    notes: tuple[Note, ...] = ()
    choices: int = 1
    choice: int = 0
    raw: ModelRequest | None = None


class Fields:
    """The fields of a body, taken one after another; what is left at the end is nobody's.

    Every method that takes a field raises `UsageError` with the field's name as its place for a value of another type.
    """

    def __init__(self, body: Mapping[str, Any], path: str = "") -> None:
        self._rest = {name: value for name, value in body.items() if value is not None}
        self._path = path

    def take(self, name: str) -> Any:
        """A field's value as it is; None where there is none."""
        return self._rest.pop(name, None)

    def text(self, name: str) -> str | None:
        """A text."""
        text: str | None = self._typed(name, str, "a text")
        return text

    def flag(self, name: str) -> bool | None:
        """True or false."""
        flag: bool | None = self._typed(name, bool, "true or false")
        return flag

    def mapping(self, name: str) -> Mapping[str, Any]:
        """An object; an empty one where there is none."""
        return self._typed(name, Mapping, "an object") or {}

    def items(self, name: str) -> list[Any]:
        """A list; an empty one where there is none."""
        return self._typed(name, list, "a list") or []

    def fields(self, name: str) -> Fields:
        """The fields of an object."""
        return Fields(self.mapping(name), f"{self._path}{name}.")

    def number(self, name: str) -> int | float | None:
        """A number."""
        value = self.take(name)
        if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
            return value
        raise self.wrong(name, "a number")

    def choices(self) -> int:
        """How many answers are wanted, under ``n``. Raises `LimitError` for more than `MAX_CHOICES`."""
        count = self.take("n")
        if count is None:
            return 1
        if type(count) is not int or count < 1:
            raise self.wrong("n", "a whole number, at least 1")
        if count > MAX_CHOICES:
            raise LimitError("n", limit="MAX_CHOICES", allowed=MAX_CHOICES, found=count, where=Where(path="n"))
        return count

    def model(self) -> str:
        """The name of the model."""
        name = self.text("model")
        if not name:
            raise UsageError("the request names no model", where=Where(path="model"), hint="send model: NAME")
        return name

    def rest(self) -> FrozenDict:
        """What nobody took."""
        rest, self._rest = self._rest, {}
        return freeze(rest)  # type: ignore[no-any-return]  # a frozen dict of a dict

    def wrong(self, name: str, kind: str) -> UsageError:
        """The error for a field of the wrong type."""
        path = self._path + name
        return UsageError(f"{path} must be {kind}", where=Where(path=path))

    def _typed(self, name: str, kind: Any, expected: str) -> Any:
        value = self.take(name)
        if value is None or isinstance(value, kind):
            return value
        raise self.wrong(name, expected)


_NUMBERS: Final = frozenset(
    {"temperature", "top_p", "top_k", "min_p", "top_a", "typical_p", "frequency_penalty", "presence_penalty"}
) | {"repetition_penalty", "seed", "max_tokens", "max_completion_tokens", "max_output_tokens", "top_logprobs"}


def option_fields(fields: Fields, names: Iterable[str]) -> dict[str, Any]:
    """The options among these names that the request has."""
    taken = {name: fields.number(name) if name in _NUMBERS else fields.take(name) for name in names}
    return {name: value for name, value in taken.items() if value is not None}


def read_tools(items: Iterable[Any], path: str = "tools") -> tuple[tuple[Tool, ...], tuple[FrozenDict, ...]]:
    """Functions, and what only a provider can run. A function may be flat (Responses) or nested (chat completions).

    Raises:
        UsageError: a tool that is no object, or a function without a name.
    """
    tools, hosted = [], []
    for index, raw in enumerate(items):
        where = Where(path=f"{path}[{index}]")
        if not isinstance(raw, Mapping):
            raise UsageError("a tool must be an object", where=where)
        if raw.get("type", "function") == "function":
            inner = raw.get("function")
            tools.append(read_tool(inner if isinstance(inner, Mapping) else raw, where))
        else:
            hosted.append(freeze(raw))
    return tuple(tools), tuple(hosted)


def read_tool(raw: Mapping[str, Any], where: Where, schema: str = "parameters") -> Tool:
    """A function's definition, whose parameters stand under ``schema``. Raises `UsageError` where it has no name."""
    name, described, parameters = raw.get("name"), raw.get("description"), raw.get(schema)
    if not isinstance(name, str) or not name.strip():
        raise UsageError("a function must have a name", where=where)
    return Tool(
        name=name,
        description=described if isinstance(described, str) else "",
        parameters=freeze(parameters) if isinstance(parameters, Mapping) else EMPTY,
        strict=raw["strict"] if isinstance(raw.get("strict"), bool) else None,
    )


def read_message(value: Mapping[str, Any], path: str) -> Message:
    """A message of our own shape or OpenAI's. Raises `UsageError` with its place."""
    try:
        return Message.of(dict(value), where=Where(path=path))
    except FormatError as error:
        raise UsageError(error.message, where=error.where, hint=error.hint) from error


def file_part(part: Mapping[str, Any]) -> dict[str, Any]:
    """A file's part, flat: its data as a ``data:`` address or its address as ``url``, with its name and id."""
    inner = part.get("file")
    fields = {**part, **(inner if isinstance(inner, Mapping) else {})}
    data = fields.get("file_data")
    embedded = isinstance(data, str) and data.startswith("data:")
    source = {"url": data if embedded else fields.get("file_url"), "data": None if embedded else data}
    named = {"name": fields.get("filename"), "file_id": fields.get("file_id"), "detail": fields.get("detail")}
    return {"type": "file", **{name: value for name, value in {**source, **named}.items() if value is not None}}


_PROMPTS = frozenset({"instruct", "chat_template"})
"""Options that write a prompt of messages; a text completion brings its own."""


def provider_request(
    request: GenerationRequest, route: Route, adapter: Adapter, dialects: Dialects = DIALECTS
) -> ModelRequest:
    """What goes over the wire for a request on a route; its ``notes`` are the request's and the dialect's.

    A raw body is sent as it is, where route and body fit (`check_raw`). Raises `ConfigError`, `LimitError`, and
    `UnknownNameError` for a dialect that there is not.
    """
    if request.raw is not None:
        return check_raw(request, request.raw, route, adapter)
    same = adapter.name == request.surface
    options = {**neutral(route.options), **neutral(request.options)}
    if request.prompt is not None:
        options = {name: value for name, value in options.items() if name not in _PROMPTS}
    if same and (request.extra or request.hosted):
        options["extra"] = {**(options.get("extra") or {}), **thaw(request.extra)}
    written = dialects[route.dialect or adapter.dialect].request(
        request.messages, model=route.model, options=options, tools=request.tools
    )
    body = written.body
    if same and request.hosted:
        body = {**body, "tools": [*body.get("tools", ()), *thaw(request.hosted)]}
    lost: list[Note] = []
    if not same:
        kinds = [str(tool.get("type")) for tool in request.hosted]
        lost += [Note(NoteKind.LOSS, f"the field {name!r:.60} is not sent") for name in request.extra]
        lost += [Note(NoteKind.LOSS, f"a tool of type {kind!r:.60} is not sent") for kind in kinds]
    sent = ModelRequest.of(adapter, body, model=route.model, stream=request.stream)
    return msgspec.structs.replace(sent, notes=(*request.notes, *written.notes, *lost))


def check_raw(request: GenerationRequest, raw: ModelRequest, route: Route, adapter: Adapter) -> ModelRequest:
    """A raw body as a route's provider gets it: untouched.

    Raises:
        UnsupportedError: the provider speaks another protocol than the surface.
        UsageError: the body names another model than the route's.
    """
    if not isinstance(adapter, type(ADAPTERS[request.surface])):
        raise UnsupportedError(
            f"the route {route.name!r:.80} is not asked by {request.surface}, so no raw body can be sent",
            where=Where(path="model"),
            hint="leave the mode out, or name another route",
        )
    if raw.model != route.model:
        raise UsageError(
            f"the body names the model {raw.model!r:.80}, which is not that of the route {route.name!r:.80}",
            where=Where(path="model"),
            hint=f"a raw body names the provider's own model: {route.model!r}",
        )
    return raw


def request_for(plan: Plan, route: Route, *, stream: bool = False, **options: Any) -> ModelRequest:
    """Return what the provider of ``route`` is sent for a plan: its model, messages, tools, options and stop strings.

    The route's dialect writes it. The route's options count where neither the plan nor ``options`` say otherwise. The answer may
    be as long as the tokens that the plan reserved (`plan_payload`). What the provider cannot be told is in the request's
    ``notes``. Raises as `Plan.to_request`.
    """
    adapter = ADAPTERS[route.adapter]
    planned = plan if plan.model == route.model else plan.with_(model=route.model)
    defaults = {name: value for name, value in neutral(route.options).items() if name not in neutral(plan.options)}
    payload = plan_payload(planned, route.dialect or adapter.dialect, **{**defaults, **neutral(options)})
    request = ModelRequest.of(adapter, payload.body, model=route.model, stream=stream)
    return msgspec.structs.replace(request, notes=payload.notes)
