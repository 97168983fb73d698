"""The directives envelope ``{assistant_text, directives: [{type, payload}]}``: asked for, found in an answer, checked.

It is asked for as a JSON Schema and as an instruction. `parse_object` finds the JSON object in a model's text: bare, fenced, in
``<directives>`` or ``<json>`` tags, or among prose. `validate` turns the object into directives: keys and types are read
generously, what cannot be used is dropped with a warning. A payload may hold patch operations: ``set``, ``delete``, ``append``
and ``insert`` at a path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

import msgspec

from innkeeper.inference.errors import MAX_DIRECTIVE_BYTES, SAMPLE_CHARACTERS, AnswerError
from innkeeper.inference.tools.calls import strict_json, unfenced
from innkeeper.prompt import LimitError, freeze
from innkeeper.prompt.data import EMPTY, FrozenDict, check_depth, thaw
from innkeeper.prompt.text import kind_of

SCHEMA_NAME: Final = "tavern_directives"


class Directive(msgspec.Struct, frozen=True):
    """One thing an application is asked to do."""

    type: str
    payload: FrozenDict = EMPTY

    @property
    def patch_ops(self) -> tuple[PatchOp, ...]:
        """The payload's patch operations. Raises `AnswerError` (see `innkeeper.inference.run.envelope`)."""
        return patch_ops(self.payload)

    def to_dict(self) -> dict[str, Any]:
        """As the envelope holds it."""
        return {"type": self.type, "payload": thaw(self.payload)}


def schema(types: Sequence[str] | None = None) -> dict[str, Any]:
    """The envelope's JSON Schema; ``types`` are the only directive types there are."""
    kind: dict[str, Any] = {"type": "string", **({"enum": list(types)} if types else {})}
    directive = _object({"type": kind, "payload": {"type": "object"}})
    return _object({"assistant_text": {"type": "string"}, "directives": {"type": "array", "items": directive}})


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def response_format(mode: str, name: str = SCHEMA_NAME, types: Sequence[str] | None = None) -> dict[str, Any] | None:
    """What a request asks for in ``mode``; nothing in ``prompt_only``.

    Not ``strict``, which TavernKit asks for: providers take that only of schemas whose every object is closed, and a payload
    is open.
    """
    if mode == "json_schema":
        return {"type": mode, "json_schema": {"name": name, "strict": False, "schema": schema(types)}}
    return {"type": mode} if mode == "json_object" else None


def instruction(types: Mapping[str, str] | None = None) -> str:
    """What the model is told about the envelope; ``types`` map each directive type to what it is for."""
    lines = [
        "Answer with one JSON object and nothing else: no prose around it, no code fence.",
        'Its form: {"assistant_text": "what the user reads", "directives": [{"type": "...", "payload": {...}}]}',
        "- assistant_text is always there and is plain text.",
        "- directives is a list; leave it empty when nothing is to be done.",
        "- each directive has a type and a payload, which is an object.",
    ]
    if types:
        lines.append("Directive types:")
        lines += [f"- {name}: {about}" if about else f"- {name}" for name, about in types.items()]
    return "\n".join(lines)


def repair_note(code: str, reasons: Sequence[str] = ()) -> str:
    """What the model is told after an answer that could not be used."""
    lines = [f"Your last answer could not be used ({code})."]
    lines += [f"- {reason}" for reason in reasons]
    return "\n".join([*lines, "Answer again, with a valid JSON object only."])


_WRAPPER: Final = re.compile(r"<(/?)(directives|json)>", re.IGNORECASE)
_MARK: Final = re.compile(r'["{}\\]')
_OBJECT: Final = re.compile(r'\{\s*+"')
_MAX_STARTS: Final = 8
"""Opening braces that are tried before the text counts as holding no object."""


def parse_object(content: Any, max_bytes: int = MAX_DIRECTIVE_BYTES) -> dict[str, Any]:
    """The object in ``content`` (text, or a mapping already).

    Raises `AnswerError` with code ``EMPTY``, ``TOO_LARGE``, ``NOT_OBJECT`` or ``INVALID_JSON`` (with a sample).
    """
    if isinstance(content, Mapping):
        content = json.dumps(thaw(content), default=str)  # a body may hold NaN, which is not JSON
    text = content.strip() if isinstance(content, str) else ""
    if not text:
        _refuse("EMPTY", "the answer is empty")
    if len(text) > max_bytes or len(text.encode("utf-8", "replace")) > max_bytes:
        _refuse("TOO_LARGE", f"the answer is larger than {max_bytes:,} bytes")
    value = next(_values(text), text)
    if value is text:
        _refuse("INVALID_JSON", "the answer holds no JSON object", sample=text[:SAMPLE_CHARACTERS])
    if not isinstance(value, dict):
        _refuse("NOT_OBJECT", f"the answer is {kind_of(value)}, not an object")
    return value


def _values(text: str) -> Iterator[Any]:
    """What the text can be read as, the likeliest first."""
    for candidate in (text, unfenced(text), _unwrapped(text)):
        yield from _read(candidate)
    for candidate in _balanced(text):
        yield from (value for value in _read(candidate) if isinstance(value, dict))


def _read(text: str) -> Iterator[Any]:
    try:
        value = strict_json(text)
        check_depth(value, "the answer")
    except (ValueError, RecursionError, LimitError):
        return
    yield value


def _unwrapped(text: str) -> str:
    """What stands between the first opening wrapper and the last closing one of its name."""
    tags = list(_WRAPPER.finditer(text))
    first = next((tag for tag in tags if not tag[1]), None)
    if first is None:
        return ""
    ends = [tag.start() for tag in tags if tag[1] and tag[2].lower() == first[2].lower() and tag.start() >= first.end()]
    return unfenced(text[first.end() : ends[-1]]) if ends else ""


def _balanced(text: str) -> Iterator[str]:
    """Stretches from a brace to the one that closes it, from the first braces on; linear for each of them.

    A brace that begins an object and is never closed ends the search: the answer was cut, and what is inside is not it.
    """
    start = text.find("{")
    for _ in range(_MAX_STARTS):
        end = _end(text, start) if start >= 0 else None
        if start < 0 or (end is None and _OBJECT.match(text, start)):
            return
        if end is not None:
            yield text[start:end]
        start = text.find("{", start + 1 if end is None else end)


def _end(text: str, start: int) -> int | None:
    """Where the object that begins at ``start`` ends; braces in strings do not count."""
    depth, quoted, skip = 0, False, -1
    for match in _MARK.finditer(text, start):
        mark, at = match[0], match.start()
        if at == skip:
            continue
        if mark == "\\":
            skip = at + 1
        elif mark == '"':
            quoted = not quoted
        elif not quoted:
            depth += 1 if mark == "{" else -1
            if depth == 0:
                return at + 1
    return None


def _refuse(code: str, message: str, **details: Any) -> NoReturn:
    raise AnswerError(message, code=code, **details)


_PUNCTUATION: Final = re.compile(r"[^a-z0-9]+")

PayloadValidator = Callable[[str, Mapping[str, Any]], Any]
"""``(type, payload)`` → nothing or true when it is good; false, a reason, or a list of reasons when it is not."""


class DirectiveRules(msgspec.Struct, frozen=True, kw_only=True):
    """What counts as a directive.

    ``allowed`` are the types that may be used (all when ``None``), ``known`` those there are, ``aliases`` lead from a model's
    word to ours; ``payload_validator`` is the application's.
    """

    allowed: tuple[str, ...] | None = None
    known: tuple[str, ...] = ()
    aliases: Mapping[str, str] = {}
    payload_validator: PayloadValidator | None = None

    def canonical(self, name: str) -> str | None:
        """Our spelling of a type, regardless of case and punctuation; ``None`` when nobody knows it."""
        names = (*(self.allowed or ()), *self.known, *self.aliases.values())
        spellings = {_folded(alias): target for alias, target in self.aliases.items()}
        spellings |= {_folded(known): known for known in reversed(names)}
        spelled = spellings.get(_folded(name))
        return name if spelled is None and not (names or self.allowed is not None) else spelled

    def permits(self, name: str) -> bool:
        """Whether directives of this type may be used."""
        return self.allowed is None or name in self.allowed


class DirectiveWarning(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why the directive at ``index`` was dropped."""

    code: str
    index: int
    type: str | None = None
    reasons: tuple[str, ...] = ()


class Envelope(msgspec.Struct, frozen=True):
    """What an answer said and asked for."""

    assistant_text: str
    directives: tuple[Directive, ...] = ()
    warnings: tuple[DirectiveWarning, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The envelope as JSON data, without the warnings."""
        return {"assistant_text": self.assistant_text, "directives": [item.to_dict() for item in self.directives]}


def validate(value: Mapping[str, Any], rules: DirectiveRules = DirectiveRules()) -> Envelope:  # noqa: B008 - frozen
    """The envelope in ``value``.

    Keys match exactly, else regardless of case and of what separates words (``Assistant-Text``). Raises `AnswerError`
    with code ``MISSING_ASSISTANT_TEXT`` or ``MISSING_DIRECTIVES``; single bad directives become warnings.
    """
    text, items = _field(value, "assistant_text"), _field(value, "directives")
    if not isinstance(text, str):
        msg = "assistant_text is missing or not text"
        raise AnswerError(msg, code="MISSING_ASSISTANT_TEXT")
    if not isinstance(items, (list, tuple)):
        msg = "directives is missing or not a list"
        raise AnswerError(msg, code="MISSING_DIRECTIVES")
    directives = [_directive(item, index, rules) for index, item in enumerate(items)]
    return Envelope(
        text,
        tuple(item for item in directives if isinstance(item, Directive)),
        tuple(item for item in directives if isinstance(item, DirectiveWarning)),
    )


def _directive(item: Any, index: int, rules: DirectiveRules) -> Directive | DirectiveWarning:
    if not isinstance(item, Mapping):
        return DirectiveWarning("DIRECTIVE_NOT_OBJECT", index)
    written = _field(item, "type")
    if not isinstance(written, str) or not written.strip():
        return DirectiveWarning("MISSING_TYPE", index)
    name = rules.canonical(written.strip())
    if name is None or not rules.permits(name):
        code = "UNKNOWN_DIRECTIVE_TYPE" if name is None else "DISALLOWED_DIRECTIVE_TYPE"
        return DirectiveWarning(code, index, written.strip())
    payload = _field(item, "payload")
    if not isinstance(payload, Mapping):
        code = "MISSING_PAYLOAD" if payload is None else "PAYLOAD_INVALID"
        return DirectiveWarning(code, index, name)
    return _judged(Directive(name, freeze(dict(payload))), index, rules)


def _judged(directive: Directive, index: int, rules: DirectiveRules) -> Directive | DirectiveWarning:
    if rules.payload_validator is None:
        return directive
    try:
        verdict = rules.payload_validator(directive.type, directive.payload)
    except Exception as error:  # noqa: BLE001 - the application's function may raise anything
        return DirectiveWarning("PAYLOAD_VALIDATOR_ERROR", index, directive.type, (type(error).__name__,))
    if verdict is None or verdict is True:
        return directive
    return (
        DirectiveWarning("PAYLOAD_INVALID", index, directive.type, reasons_of(verdict)) if verdict != [] else directive
    )


def reasons_of(verdict: Any) -> tuple[str, ...]:
    """A validator's answer as reasons: none for nothing or true, one for text, its items for a list."""
    if verdict is None or verdict is True:
        return ()
    if verdict is False:
        return ("invalid",)
    items: Sequence[Any] = (
        list(verdict) if isinstance(verdict, Iterable) and not isinstance(verdict, str) else [verdict]
    )
    return tuple(str(item) for item in items)


def _field(value: Mapping[str, Any], name: str) -> Any:
    if name in value:
        return value[name]
    return next((item for key, item in value.items() if _folded(key) == _folded(name)), None)


def _folded(name: Any) -> str:
    return _PUNCTUATION.sub("_", str(name).strip().lower())


PATCH_PREFIXES: Final = ("/draft/", "/ui_state/")
"""Where patches may go; a relative path is under the first."""

_ALIASES: Final = {
    "set": "set",
    "add": "set",
    "replace": "set",
    "delete": "delete",
    "remove": "delete",
    "rm": "delete",
    "append": "append",
    "push": "append",
    "insert": "insert",
}
_BAD_ESCAPE: Final = re.compile(r"~(?![01])")


class PatchOp(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change: ``path`` is a JSON Pointer, ``index`` (from 0) is where ``insert`` puts its value."""

    op: str
    path: str
    value: Any = None
    index: int | None = None


def patch_ops(payload: Mapping[str, Any], prefixes: Sequence[str] = PATCH_PREFIXES) -> tuple[PatchOp, ...]:
    """The operations of ``payload["ops"]``, their names and paths made regular.

    ``add`` and ``replace`` are ``set``, ``remove`` and ``rm`` ``delete``, ``push`` ``append``; without a name, an operation with
    a value sets. Raises `AnswerError` with code ``MISSING_OPS``, ``INVALID_PATCH_OP``, ``INVALID_PATCH_PATH``,
    ``MISSING_PATCH_VALUE`` or ``INVALID_PATCH_INDEX``; ``details["index"]`` is the operation's place.
    """
    ops = payload.get("ops")
    if not isinstance(ops, (list, tuple)) or not ops:
        msg = "the payload has no ops"
        raise AnswerError(msg, code="MISSING_OPS")
    return tuple(_op(item, index, prefixes) for index, item in enumerate(ops))


def _op(item: Any, index: int, prefixes: Sequence[str]) -> PatchOp:
    if not isinstance(item, Mapping):
        raise _error("INVALID_PATCH_OP", index, "an operation must be an object")
    written = item.get("op")
    name = _ALIASES.get(written.strip().lower()) if isinstance(written, str) else None
    if written is None and "value" in item:
        name = "set"
    if name is None:
        raise _error("INVALID_PATCH_OP", index, f"no operation {str(written)[:40]!r}")
    path = _path(item.get("path"), index, prefixes)
    if name == "delete":
        return PatchOp(name, path)
    if "value" not in item:
        raise _error("MISSING_PATCH_VALUE", index, f"{name} needs a value")
    return PatchOp(name, path, freeze(item["value"]), _index(item, index) if name == "insert" else None)


def _path(value: Any, index: int, prefixes: Sequence[str]) -> str:
    text = value.strip() if isinstance(value, str) else ""
    path = text if text.startswith("/") else prefixes[0] + text
    inside = any(path.startswith(prefix) and len(path) > len(prefix) for prefix in prefixes)
    if not text or not inside or _BAD_ESCAPE.search(path) or ".." in path.split("/"):
        raise _error("INVALID_PATCH_PATH", index, f"a path must be a JSON Pointer under {' or '.join(prefixes)}")
    return path


def _index(item: Mapping[str, Any], position: int) -> int:
    index = item.get("index")
    if isinstance(index, str) and index.strip().isascii() and index.strip().isdigit():
        index = int(index)
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        raise _error("INVALID_PATCH_INDEX", position, "insert needs an index from 0")
    return index


def _error(code: str, index: int, message: str) -> AnswerError:
    return AnswerError(f"operation {index}: {message}", code=code, index=index)
