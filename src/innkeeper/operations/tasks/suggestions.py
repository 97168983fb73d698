"""Suggestions: ``character-suggestions``: a model proposes parts of a character as JSON with fixed keys, in a few attempts.

The text passes the gate twice: as a model's answer, and as a character's card. If parts are missing, the model is asked once
more; the parts that can be read then are returned, and flagged (dynamic-prompting reference 3.10).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from innkeeper.gate.gate import TextKind, character_ceiling
from innkeeper.gate.tier import Ceilings
from innkeeper.inference.errors import AnswerError, HttpError
from innkeeper.inference.routing.router import NoRouteError
from innkeeper.library.errors import FieldError, need_texts
from innkeeper.library.log.enhancements import Done
from innkeeper.library.prepare.conversation import template_values
from innkeeper.library.prepare.request import PrepareRequest
from innkeeper.operations.tasks.answer import TaskAnswer, Written, json_object
from innkeeper.operations.tasks.execution import TextTask, TextTasks
from innkeeper.prompt.data import EMPTY, FrozenDict, freeze, parse_json
from innkeeper.prompt.errors import InnkeeperError, Where
from innkeeper.prompt.message import Message
from innkeeper.prompt.text import scalar_text

USE_CASE: Final = "character_suggestions"

ATTEMPTS: Final = 3
"""Maximum attempts for suggestions."""

LONGEST_WAIT: Final = 5.0
"""Maximum seconds to wait for a busy provider, once, if it names a time."""

_LONGEST_TEXT: Final = 4_000


class Shape(msgspec.Struct, frozen=True):
    """The value of a key: one text, or from ``least`` to ``most`` texts, and its description."""

    words: str
    least: int = 0
    most: int = 0


KEYS: Final[Mapping[str, Shape]] = {
    "suggestedDescription": Shape("a description of 2 to 4 sentences"),
    "suggestedTraits": Shape("traits of character", 3, 5),
    "suggestedVoiceTone": Shape("how the character speaks, in a few words"),
    "suggestedPersona": Shape("who the character is towards the user, in 1 to 3 sentences"),
    "suggestedAppearance": Shape("features of the character's looks", 4, 6),
    "suggestedBackstory": Shape("moments of the character's past", 3, 5),
    "suggestedVoiceExamples": Shape("lines that the character could say", 2, 3),
    "suggestedForbiddenPhrases": Shape("phrases that the character would never say", 1, 5),
}
"""The document's keys and their values."""

SUGGESTION_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "traits": ("suggestedTraits",),
    "voice": ("suggestedVoiceTone",),
    "appearance": ("suggestedAppearance",),
    "backstory": ("suggestedBackstory",),
    "voice_examples": ("suggestedVoiceExamples",),
    "description": ("suggestedDescription",),
    "all": tuple(KEYS),
}
"""The types of suggestions and their keys."""


class SuggestionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for suggestions. ``character`` has the known columns of the character; ``content_mode`` is the requested tier."""

    kind: str = "all"
    character: Mapping[str, Any] = EMPTY
    content_mode: Any = None
    declared_age: int | None = None
    ceilings: Ceilings = Ceilings()
    user_id: str | None = None
    request_id: str | None = None
    model: str | None = None

    def __post_init__(self) -> None:
        """Check the type. Raises `FieldError`."""
        need_texts(self, ("kind",), ("user_id", "request_id", "model"))
        if self.kind not in SUGGESTION_TYPES:
            hint = f"types: {', '.join(SUGGESTION_TYPES)}"
            raise FieldError(f"{self.kind!r:.40} is no type of suggestions", where=Where(path="type"), hint=hint)

    @property
    def keys(self) -> tuple[str, ...]:
        """The requested keys."""
        return SUGGESTION_TYPES[self.kind]


class Suggested(msgspec.Struct, frozen=True, kw_only=True):
    """Suggestions by the document's keys. ``missing`` are keys without a value, ``salvaged``: the JSON was broken."""

    fields: Mapping[str, Any]
    missing: tuple[str, ...] = ()
    salvaged: bool = False
    answer: TaskAnswer | None = None

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons for degradation."""
        return (*(("partial",) if self.missing else ()), *(("salvaged",) if self.salvaged else ()))


class Suggestions:
    """Asks models for suggestions.

    Args:
        tasks: carries them out.
        sleep: waits so many seconds.
    """

    def __init__(self, tasks: TextTasks, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self.tasks, self._sleep = tasks, sleep

    async def suggest(self, request: SuggestionRequest, **terms: Any) -> Suggested:
        """Return suggestions; ``terms`` are further fields of a `TextTask`.

        Raises:
            AnswerError: no attempt gave a usable answer.
            TierBlockedError: the request or the answer does not pass the gate.
            InnkeeperError: raised by `TextTasks.write`.
        """
        task = TextTask(
            prompt=_prompt(request),
            task="roleplay",
            options=FrozenDict(response_format=freeze(schema_of(request.keys))),
            model=request.model,
            **terms,
        )
        best, written = Suggested(fields=EMPTY, missing=request.keys), []
        for _ in range(ATTEMPTS):
            written.append(await self._written(task))
            if written[-1].refused:
                break
            best = _together(best, read_suggestions(written[-1].text, request.keys), request.keys)
            if not best.missing:
                break
            task = _repeated(task, request, written[-1].text, best.missing)
        if not best.fields and not written[-1].refused:
            raise self._failed(written[-1])
        return await self._finished(task, request, best, written)

    async def _written(self, task: TextTask) -> Written:
        """Let a model write. A busy provider is waited for once, if it names a time below `LONGEST_WAIT`."""
        try:
            return await self.tasks.write(task)
        except HttpError as error:
            if error.status != _BUSY or error.retry_after is None or error.retry_after > LONGEST_WAIT:
                raise
            busy = error
        await self._sleep(busy.retry_after or 0.0)
        try:
            return await self.tasks.write(task)
        except NoRouteError:  # others have been told to wait meanwhile
            raise busy from None

    async def _finished(
        self, task: TextTask, request: SuggestionRequest, best: Suggested, written: Sequence[Written]
    ) -> Suggested:
        lines = {name: [value] if isinstance(value, str) else value for name, value in best.fields.items()}
        texts = {f"{TextKind.CARD}:{name}": "\n".join(values) for name, values in lines.items()}
        last = written[-1]
        if texts:
            await asyncio.to_thread(
                lambda: self.tasks.library.judged(
                    texts,
                    last.prepared.tier.effective,
                    self.tasks.library.ceilings(last.prepared.request),
                    request_id=last.prepared.request_id,
                    actor=request.user_id or "",
                ).require()
            )
        answer = await self.tasks.finish(task, *written, reasons=best.reasons)
        return msgspec.structs.replace(best, answer=answer)

    def _failed(self, written: Written) -> AnswerError:
        error = AnswerError(
            "the model suggested nothing that could be read",
            code="no_suggestions",
            hint="ask again, for fewer things, or another model",
        )
        error.details["route_trace"] = None if written.trace is None else written.trace.to_dict()
        self.tasks.library.record(written.prepared, Done(error=error), strict=False)
        return error


_BUSY: Final = 429


def suggestions_reply(suggested: Suggested, *, took_ms: float, display_name: str = "") -> dict[str, Any]:
    """Return the document's reply with the common fields of tasks. A refusal is in ``refusal``, without suggestions."""
    answer = suggested.answer
    facts = {} if answer is None else answer.to_dict()
    text = facts.pop("text", "")
    refused = answer is not None and answer.refused
    return {
        "success": not refused,
        **suggested.fields,
        "missing": list(suggested.missing),
        "model_used": "" if answer is None else answer.model,
        "model_display_name": display_name or ("" if answer is None else answer.model),
        "processing_time_ms": round(took_ms, 3),
        **({"refusal": text} if refused else {}),
        **facts,
    }


# -------------------------------------------------------------------------------------------------------------------- asking


def schema_of(keys: Sequence[str]) -> dict[str, Any]:
    """Return the JSON Schema of an answer, for providers that enforce one."""
    texts = {"type": "array", "items": {"type": "string"}}
    shapes = {name: KEYS[name] for name in keys}
    properties = {
        name: texts if shape.most else {"type": "string", "description": shape.words} for name, shape in shapes.items()
    }
    schema = {"type": "object", "properties": properties, "required": list(keys), "additionalProperties": False}
    return {"type": "json_schema", "json_schema": {"name": USE_CASE, "strict": True, "schema": schema}}


def _prompt(request: SuggestionRequest) -> PrepareRequest:
    known = {name: value for name, value in request.character.items() if value not in (None, "", (), [], {})}
    ceiling = character_ceiling(request.content_mode, request.declared_age)
    above = [] if request.ceilings.character is None else [request.ceilings.character]
    return PrepareRequest(
        use_case=USE_CASE,
        text=_asked(request.keys),
        job_type="chat",
        content_mode=request.content_mode,
        ceilings=msgspec.structs.replace(
            request.ceilings, character=min([ceiling, *above], key=lambda tier: tier.rank)
        ),
        values={"character_name": "the character", **template_values(known)},
        user_id=request.user_id,
        request_id=request.request_id,
    )


def _asked(keys: Sequence[str]) -> str:
    shapes = {name: KEYS[name] for name in keys}
    counts = {name: f"a list of {one.least} to {one.most} " if one.most else "" for name, one in shapes.items()}
    lines = [f'- "{name}": {counts[name]}{one.words}' for name, one in shapes.items()]
    return "\n".join(["Suggest, as one JSON object with these keys:", *lines])


def _repeated(task: TextTask, request: SuggestionRequest, text: str, missing: Sequence[str]) -> TextTask:
    """Return the task again, with the answer and the keys it lacks."""
    prompt = task.prompt
    history = (Message("user", _asked(request.keys)), Message("assistant", scalar_text(text)[:_LONGEST_TEXT]))
    again = f"Not all of it could be read. Answer with the JSON object alone.\n{_asked(missing)}"
    return msgspec.structs.replace(task, prompt=msgspec.structs.replace(prompt, text=again, history=history))


# ------------------------------------------------------------------------------------------------------------------- reading

_FENCE: Final = re.compile(r"\A\s*```[A-Za-z]*[ \t]*\n?|\n?```\s*\Z")
_ITEM: Final = re.compile(r'\s*("(?:[^"\\\n]|\\.){0,8000}")\s*(,?)')
_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.){0,8000}"')


def read_suggestions(text: str, keys: Sequence[str]) -> Suggested:
    """Read an answer: its JSON object, or, if that is broken, each key by itself.

    >>> read_suggestions('{"suggestedVoiceTone": "calm"}', ["suggestedVoiceTone"]).fields["suggestedVoiceTone"]
    'calm'
    """
    whole = scalar_text(text).replace("\0", "")
    intact = json_object(_FENCE.sub("", whole))
    values = _salvaged(whole, keys) if intact is None else intact
    fields = {name: value for name in keys if (value := _shaped(values.get(name), KEYS[name]))}
    missing = tuple(name for name in keys if name not in fields)
    return Suggested(fields=fields, missing=missing, salvaged=intact is None and bool(fields))


def _salvaged(text: str, keys: Sequence[str]) -> dict[str, Any]:
    """Return the values of keys that are intact: a text, or the texts of a list up to the break."""
    values: dict[str, Any] = {}
    for name in keys:
        start = text.find(f'"{name}"')
        rest = text[start + len(name) + 2 :].lstrip() if start >= 0 else ""
        value = rest.removeprefix(":").lstrip() if rest.startswith(":") else ""
        if value.startswith('"') and (match := _STRING.match(value)):
            values[name] = _unquoted(match[0])
        elif value.startswith("["):
            values[name] = [_unquoted(item) for item in _items(value[1:])]
    return values


def _items(text: str) -> list[str]:
    items, start = [], 0
    while (match := _ITEM.match(text, start)) is not None:
        items.append(match[1])
        if not match[2]:
            break
        start = match.end()
    return items


def _unquoted(text: str) -> str:
    try:
        value = parse_json(text, asset="answer")
    except InnkeeperError:
        return ""
    return value if isinstance(value, str) else ""


def _shaped(value: Any, shape: Shape) -> str | list[str] | None:
    """Return a value in the form of its key; None if it does not fit."""
    if not shape.most:
        return _clean(value) or None
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, (list, tuple)):
        return None
    texts = dict.fromkeys(text for item in items if (text := _clean(item)))
    return list(texts)[: shape.most] or None


def _clean(value: Any) -> str:
    return scalar_text(value).replace("\0", "").strip()[:_LONGEST_TEXT] if isinstance(value, str) else ""


def _together(best: Suggested, more: Suggested, keys: Sequence[str]) -> Suggested:
    """Merge two answers; the later one takes precedence."""
    both = {**best.fields, **more.fields}
    fields = {name: both[name] for name in keys if name in both}
    missing = tuple(name for name in keys if name not in fields)
    return Suggested(fields=fields, missing=missing, salvaged=bool(fields) and (best.salvaged or more.salvaged))
