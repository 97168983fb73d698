"""From an object to directives: keys and types read generously, what cannot be used dropped with a warning."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from innkeeper.inference.directives.envelope import Directive
from innkeeper.inference.errors import DirectivesError
from innkeeper.prompt import freeze

__all__ = ["DirectiveRules", "DirectiveWarning", "Envelope", "validate"]

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
        found = spellings.get(_folded(name))
        return name if found is None and not (names or self.allowed is not None) else found

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

    Keys match exactly, else regardless of case and of what separates words (``Assistant-Text``). Raises `DirectivesError`
    with code ``MISSING_ASSISTANT_TEXT`` or ``MISSING_DIRECTIVES``; single bad directives become warnings.
    """
    text, items = _field(value, "assistant_text"), _field(value, "directives")
    if not isinstance(text, str):
        msg = "assistant_text is missing or no text"
        raise DirectivesError(msg, code="MISSING_ASSISTANT_TEXT")
    if not isinstance(items, (list, tuple)):
        msg = "directives is missing or no list"
        raise DirectivesError(msg, code="MISSING_DIRECTIVES")
    found = [_directive(item, index, rules) for index, item in enumerate(items)]
    return Envelope(
        text,
        tuple(item for item in found if isinstance(item, Directive)),
        tuple(item for item in found if isinstance(item, DirectiveWarning)),
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
