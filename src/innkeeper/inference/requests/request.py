"""GenerationRequest: what a caller wants of a model, in one shape for every surface: read from a body, sent to a provider.

Options stand under neutral names; a value counts when it is there, zero included, and null is as if it were not. What only one
surface has stays as it came, in ``extra`` and ``hosted``: a provider who speaks the same protocol gets it, for any other it is
named in a note. `provider_request` writes what the provider of a route is sent, `request_for` does so for a plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from innkeeper.dialects import DIALECTS
from innkeeper.dialects.options import neutral
from innkeeper.dialects.plan_payload import plan_payload
from innkeeper.inference.adapters.adapter import Adapter, ModelRequest
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.prompt.data import EMPTY, FrozenDict, freeze, thaw
from innkeeper.prompt.errors import FormatError, LimitError, UnsupportedError, UsageError, Where
from innkeeper.prompt.message import Message
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.prompt.payload.dialect import Dialects, Tool
from innkeeper.prompt.text import kind_of

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
    positions: tuple[int, ...] = ()
    """Where each of ``hosted`` stands among all tools."""
    headers: FrozenDict = EMPTY
    """Headers of the protocol that go with it, as ``anthropic-beta``."""


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
        """A number; of tokens, a whole one that a model can write."""
        value = self.take(name)
        value = int(value) if name in _COUNTS and isinstance(value, float) and value.is_integer() else value
        if name in _COUNTS and value is not None and (type(value) is not int or value < 0):
            raise self.wrong(name, "a whole number, at least 0")
        if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
            return value
        raise self.wrong(name, "a number")

    def texts(self, name: str) -> Any:
        """A text, or a list of texts, as it stands."""
        value = self.take(name)
        listed = value if isinstance(value, list) else () if value is None else (value,)
        if not all(isinstance(text, str) for text in listed):
            raise self.wrong(name, "a text or a list of texts")
        return value

    def choices(self) -> int:
        """How many answers are wanted, under ``n``. Raises `LimitError` for more than `MAX_CHOICES`."""
        count = self.take("n")
        if count is None:
            return 1
        count = int(count) if isinstance(count, float) and count in range(1, MAX_CHOICES + 1) else count
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

    def restore(self, name: str, value: Any) -> None:
        """Give back what is left of a field, or all of it."""
        if value:
            self._rest[name] = value

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


_COUNTS: Final = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens"})
_NUMBERS: Final = frozenset(
    {"temperature", "top_p", "top_k", "min_p", "top_a", "typical_p", "frequency_penalty", "presence_penalty"}
) | {"repetition_penalty", "seed", "top_logprobs", *_COUNTS}


def option_fields(fields: Fields, names: Iterable[str]) -> dict[str, Any]:
    """The options among these names that the request has."""
    taken = {name: _option(fields, name) for name in names}
    return {name: value for name, value in taken.items() if value is not None}


def _option(fields: Fields, name: str) -> Any:
    if name in _NUMBERS:
        return fields.number(name)
    if name == "response_format":
        return fields.mapping(name) or None
    return fields.texts(name) if name == "stop" else fields.take(name)


class ToolFields(NamedTuple):
    """Tools as a request has them: functions, and what only a provider can run, each with its place among all of them."""

    tools: tuple[Tool, ...]
    hosted: tuple[FrozenDict, ...]
    positions: tuple[int, ...]


def read_tools(items: Iterable[Any], *, own: str = "function", schema: str = "parameters") -> ToolFields:
    """The tools of a request. A function, of the type ``own``, may be flat or nested; its parameters stand under ``schema``.

    Raises:
        UsageError: a tool that is no object, or a function without a name.
    """
    tools, hosted = [], []
    for index, raw in enumerate(items):
        where = Where(path=f"tools[{index}]")
        if not isinstance(raw, Mapping):
            raise UsageError("a tool must be an object", where=where)
        if raw.get("type", own) == own:
            tools.append(_tool(raw, where, schema))
        else:
            hosted.append((index, freeze(raw)))
    return ToolFields(tuple(tools), tuple([tool for _, tool in hosted]), tuple([index for index, _ in hosted]))


def _tool(raw: Mapping[str, Any], where: Where, schema: str) -> Tool:
    inner = raw.get("function")
    nested = isinstance(inner, Mapping)
    fields: Mapping[str, Any] = inner if isinstance(inner, Mapping) else raw
    name, described, parameters = fields.get("name"), fields.get("description"), fields.get(schema)
    if not isinstance(name, str) or not name.strip():
        raise UsageError("a function must have a name", where=where)
    if not isinstance(described, str | None):
        raise UsageError(f"the description of a function must be text, not {kind_of(described)}", where=where)
    if not isinstance(parameters, Mapping | None):
        raise UsageError(f"the {schema} of a function must be an object, not {kind_of(parameters)}", where=where)
    known = {"type", "name", "description", schema, "strict"}
    rest = {key: value for key, value in fields.items() if key not in known and value is not None}
    outer = {key: value for key, value in raw.items() if key not in ("type", "function") and value is not None}
    own = {**outer, **({"function": rest} if rest else {})} if nested else rest
    return Tool(
        name=name,
        description=described or "",
        parameters=EMPTY if parameters is None else freeze(parameters),
        strict=fields["strict"] if isinstance(fields.get("strict"), bool) else None,
        extra=freeze(own),
    )


_CHOICES: Final = frozenset({"function", "auto", "none", "required", "any"})


def tool_choice(fields: Fields) -> Any:
    """Which tool must be called; None where there is no choice, or one that only its own provider knows, which stays a field."""
    choice = fields.take("tool_choice")
    if isinstance(choice, Mapping) and str(choice.get("type", "function")) not in _CHOICES:
        fields.restore("tool_choice", choice)
        return None
    return choice


def read_message(value: Mapping[str, Any], path: str) -> Message:
    """A message of our own shape or OpenAI's. Raises `UsageError` with its place."""
    try:
        return Message.of(dict(value), where=Where(path=path))
    except FormatError as error:
        raise UsageError(error.message, where=error.where, hint=error.hint) from error


_PROMPTS = frozenset({"instruct", "chat_template"})
"""Options that write a prompt of messages; a text completion brings its own."""


def provider_request(
    request: GenerationRequest, route: Route, adapter: Adapter, dialects: Dialects = DIALECTS
) -> ModelRequest:
    """What goes over the wire for a request on a route; its ``notes`` are the request's and the dialect's.

    Where route and request speak one protocol, nothing of the request is lost. A raw body is sent as it is, where route and body
    fit (`check_raw`). Raises `ConfigError`, `LimitError`, `UnknownReferenceError`, and `UnknownNameError` for a dialect that
    there is not.
    """
    if request.raw is not None:
        return msgspec.structs.replace(check_raw(request, request.raw, route, adapter), headers=request.headers)
    same = adapter.name == request.surface
    options = {**neutral(route.options), **neutral(request.options)}
    if request.prompt is not None:
        options = {name: value for name, value in options.items() if name not in _PROMPTS}
    dialect = dialects[route.dialect or adapter.dialect]
    lost: tuple[Note, ...] = ()
    if same:
        options |= _own_options(request, options, own_fields=dialect.name in _OPEN)
    else:
        lost = _lost(request)
    written = dialect.request(request.messages, model=route.model, options=options, tools=request.tools)
    sent = ModelRequest.of(adapter, written.body, model=route.model, stream=request.stream)
    headers = request.headers if same else EMPTY
    return msgspec.structs.replace(sent, headers=headers, notes=(*request.notes, *written.notes, *lost))


_OPEN: Final = frozenset({"anthropic", "responses", "openai-compatible"})
"""Dialects whose providers get every field that a request in their own protocol has; others refuse what they do not know."""


def _own_options(request: GenerationRequest, options: Mapping[str, Any], *, own_fields: bool) -> dict[str, Any]:
    """What of a request only those read who speak its protocol."""
    own: dict[str, Any] = {"own_fields": True} if own_fields and _has_own_fields(request) else {}
    if request.extra:
        own["extra"] = {**(options.get("extra") or {}), **thaw(request.extra)}
    if request.hosted:
        own["hosted_tools"] = tuple(zip(request.positions, thaw(request.hosted), strict=True))
    if request.metadata and request.surface != _MESSAGES:
        own["metadata"] = thaw(request.metadata)
    if request.store is not None and request.surface == "openai-responses":
        own["store"] = request.store
    return own


def _has_own_fields(request: GenerationRequest) -> bool:
    return any(message.metadata or message.attachments for message in request.messages) or any(
        tool.extra for tool in request.tools
    )


_MESSAGES: Final = "anthropic-messages"
"""The surface whose metadata are the user's name alone."""


def _lost(request: GenerationRequest) -> tuple[Note, ...]:
    """What of a request no other protocol has."""
    check_references(request)
    metadata = request.metadata and request.surface != _MESSAGES
    fields = [*request.extra, *(["metadata"] if metadata else []), *request.headers]
    kinds = [str(tool.get("type")) for tool in request.hosted]
    sentences = [f"the field {name!r:.60} is not sent" for name in fields]
    sentences += [f"a tool of type {kind!r:.60} is not sent" for kind in kinds]
    return tuple([Note(NoteKind.LOSS, sentence) for sentence in sentences])


_ELSEWHERE: Final = ("conversation", "prompt")
"""Fields that name what a provider keeps: without it there is no request to send."""


class UnknownReferenceError(UsageError):
    """A request names a conversation or a prompt that nobody here has."""

    http_status = 404

    def __init__(self, name: str) -> None:
        hint = "send the messages themselves, or previous_response_id"
        super().__init__(
            f"there is no {name} of this id here", where=Where(path=name), hint=hint, code=f"{name}_not_found"
        )


def check_references(request: GenerationRequest) -> None:
    """Let a request pass that names nothing which only a provider of its protocol has. Raises `UnknownReferenceError`."""
    if unknown := next((name for name in _ELSEWHERE if name in request.extra), None):
        raise UnknownReferenceError(unknown)


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
