"""The former macro engine of SillyTavern 1.19: a row of passes over the whole text, each replacing one macro.

What a pass writes is seen by the passes after it, so a variable that holds ``{{char}}`` prints the name, and a macro inside
another's argument works only when its own pass comes first. The order of the passes is the language.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from innkeeper.macros.engine.environment import Field, MacroEnvironment
from innkeeper.macros.engine.errors import MAX_NESTING, MAX_REPORTS, MacroError
from innkeeper.macros.engine.evaluate import Trace
from innkeeper.macros.engine.ranges import MacroRange, RangeEdit, edited
from innkeeper.macros.engine.spending import limit_error, report, stop, within_limits
from innkeeper.macros.silly import chat, settings
from innkeeper.macros.silly.card import active_names, card_has_effects, examples_text, group_names, resolved_field
from innkeeper.macros.silly.core import chat_hash, picked, roll, trimmed_spans, without_trims
from innkeeper.macros.silly.legacy_tags import (
    Finder,
    TagMatch,
    assigned,
    exactly,
    on_line,
    quoted,
    to_close,
    within_braces,
)
from innkeeper.macros.silly.settings import unquoted
from innkeeper.macros.silly.variables import add, named, read
from innkeeper.prompt.allowance import AllowanceError, charge
from innkeeper.prompt.errors import LimitError
from innkeeper.text.javascript.random_numbers import string_hash
from innkeeper.text.javascript.values import SPACES, Offsets, json_text, strip, text_of

_COMMA: Final = "\x00"
_READING_SHIFT: Final = 4
"""A step reads so many characters for the tags of one pass, as a power of two."""
_OPENER_STEPS: Final = 20
"""The steps charged for the opener of a tag."""


@dataclass(slots=True)
class _World:
    """One text on its way through the passes. ``text`` is the text as it was given, ``fields`` the card as resolved."""

    text: str
    env: MacroEnvironment
    trace: Trace | None
    depth: int
    original: str | None
    with_card: bool
    fields: dict[str, str] = field(default_factory=dict)
    offsets: Offsets | None = None
    ranges: list[MacroRange] | None = None
    hashed: int | None = None

    def nested(self, text: str, env: MacroEnvironment | None = None, *, with_card: bool = True) -> str:
        """Another text through all passes."""
        return _run(text, _World(text, env or self.env, None, self.depth + 1, None, with_card), {})

    def card(self, name: str) -> str:
        """A field of the card, resolved."""
        if name not in self.fields:
            written: Field = getattr(self.env.card, name, "") if name != "persona" else self.env.persona
            self.fields[name] = self.resolved(written)
        return self.fields[name]

    def resolved(self, written: Field) -> str:
        """A field's text, resolved; other fields stay in it as macros."""
        return resolved_field(self.env, written, lambda text, env: self.nested(text, env, with_card=False))


Replace = Callable[[_World, TagMatch, str], str]
"""The replacement of a tag, by the world and the text of the pass. A `MacroError` leaves the tag unchanged."""


@dataclass(frozen=True, slots=True)
class _Pass:
    name: str
    find: Finder
    replace: Replace
    opener: str = field(init=False)

    def __post_init__(self) -> None:
        """Keep what its tags begin with in lower case."""
        object.__setattr__(self, "opener", self.find.opener.lower())

    def over(self, text: str, world: _World) -> str:
        """The text with every tag of this pass replaced."""
        pieces, position = [], 0
        edits: list[RangeEdit] = []
        for hit in self.find(text):
            if not within_limits(world.env, text, hit.start):
                break
            result = self._result(text, world, hit)
            if result is None:
                result = text[hit.start : hit.end]
            elif world.ranges is not None:
                edits.append(RangeEdit(hit.start, hit.end, len(result), self.name))
            pieces += [text[position : hit.start], result]
            position = hit.end
        if edits and world.ranges is not None:
            world.ranges[:] = edited(world.ranges, edits)
        return "".join([*pieces, text[position:]]) if pieces else text

    def _result(self, text: str, world: _World, hit: TagMatch) -> str | None:
        """The replacement of a tag, or ``None`` for one that stays unchanged."""
        try:
            result = self.replace(world, hit, text)
        except (MacroError, LimitError) as error:
            report(world.env, error, text, hit.start)
            return None
        world.env.spent.output += len(result)
        if world.trace is not None:
            world.trace(self.name, (hit.start, hit.end), result)
        return result


def substitute_legacy(
    text: str,
    env: MacroEnvironment,
    *,
    original: str | None,
    dynamic: Mapping[str, Any] | None,
    replace_character_card: bool,
    trace: Trace | None,
    ranges: list[MacroRange] | None = None,
) -> str:
    """``text`` through all passes of the former engine."""
    if not text:
        return text
    values = {**env.dynamic, **(dynamic or {})}
    return _run(text, _World(text, env, trace, 0, original, replace_character_card, ranges=ranges), values)


def _run(text: str, world: _World, dynamic: Mapping[str, Any]) -> str:
    if world.with_card and card_has_effects(world.env):  # then it happens for each text, needed or not
        for name in _card_order(world.env):
            world.card(name)
        for greeting in (world.env.card.first_message, *world.env.card.alternate_greetings):
            world.resolved(greeting)
    if "<" in text:
        text = _passed(text, world, _MARKS)
    if "{{" not in text:
        return text
    if world.depth > MAX_NESTING:
        report(world.env, limit_error("the nesting of macros", "MAX_NESTING", MAX_NESTING), text, 0)
        return text
    text = _passed(text, world, (*_FIRST, *_environment(world, dynamic), *_LAST))
    if "{{" in text:
        _report_unknown(text, world)
    return text


def _passed(text: str, world: _World, passes: Iterable[_Pass]) -> str:
    """The text after these passes. A pass whose tags cannot occur in it is skipped without a search."""
    try:
        charge("macros", len(text) >> _READING_SHIFT)
        lowered = text.lower()
        for step in passes:
            if step.opener not in lowered:
                continue
            charge("macros", (len(text) >> _READING_SHIFT) + _OPENER_STEPS * lowered.count(step.opener))
            changed = step.over(text, world)
            if changed is not text:
                text, lowered = changed, changed.lower()
    except AllowanceError as error:
        stop(world.env, error, text, 0)
    return text


def _card_order(env: MacroEnvironment) -> list[str]:
    order = ["mes_examples", "description", "personality", "persona", "scenario"]
    head = ["system_prompt"] if env.prefer_card_prompt else []
    tail = ["post_history"] if env.prefer_card_instruction else []
    return [*head, *order, *tail, "depth_prompt", "creator_notes"]


# ------------------------------------------------------------------------------------------------------- simple macros


def _simple(name: str, value: Callable[[_World], str]) -> _Pass:
    return _Pass(name, exactly("{{" + name + "}}"), lambda world, _hit, _text: value(world))


def _read_env(name: str, read_it: Callable[[MacroEnvironment], str]) -> _Pass:
    return _simple(name, lambda world: read_it(world.env))


def _mark(name: str, value: Callable[[MacroEnvironment], str]) -> _Pass:
    return _Pass(name, exactly(f"<{name}>"), lambda world, _hit, _text: value(world.env))


_MARKS: Final = (
    _mark("USER", lambda env: env.user),
    _mark("BOT", lambda env: env.char),
    _mark("CHAR", lambda env: env.char),
    _mark("CHARIFNOTGROUP", group_names),
    _mark("GROUP", group_names),
)

# --------------------------------------------------------------------------------- dice, settings, variables, blank space


_LEGACY_NAMES: Final = {
    "instructFirstAssistantPrefix": ("instructFirstOutput",),
    "instructLastAssistantPrefix": ("instructLastOutput",),
}


def _sequences() -> list[_Pass]:
    passes = []
    for name, (key, aliases) in settings.SEQUENCES.items():
        names = (name, *_LEGACY_NAMES.get(name, aliases))
        passes += [_read_env(other, partial(settings.sequence, key=key)) for other in names]
    return passes


def _system_prompt(world: _World) -> str:
    own = world.card("system_prompt") if world.env.prefer_card_prompt else ""
    return settings.system_prompt(world.env, own)


def _variable(name: str, find: Finder, change: Callable[[_World, str, str], str]) -> _Pass:
    def replace(world: _World, hit: TagMatch, _text: str) -> str:
        return change(world, strip(hit.groups[0]), hit.groups[1] if len(hit.groups) > 1 else "")

    return _Pass(name, find, replace)


def _named(name: str) -> Finder:
    return within_braces(rf"\{{\{{{name}::([^}}]+)\}}\}}")


def _set(scope: str) -> Callable[[_World, str, str], str]:
    def change(world: _World, name: str, value: str) -> str:
        world.env.variables.set(named(name, "setvar"), value, scope)
        return ""

    return change


def _add(scope: str, by: int | None = None) -> Callable[[_World, str, str], str]:
    def change(world: _World, name: str, value: str) -> str:
        named(name, "addvar")
        if by is None:
            add(world.env.variables, name, value, scope)
            return ""
        return text_of(add(world.env.variables, name, by, scope))

    return change


def _variables(word: str, scope: str) -> list[_Pass]:
    def got(world: _World, name: str, _value: str) -> str:
        return text_of(read(world.env.variables, name, scope))

    return [
        _variable(f"set{word}", assigned(f"{{{{set{word}::", empty=True), _set(scope)),
        _variable(f"add{word}", assigned(f"{{{{add{word}::", empty=False), _add(scope)),
        _variable(f"inc{word}", _named(f"inc{word}"), _add(scope, 1)),
        _variable(f"dec{word}", _named(f"dec{word}"), _add(scope, -1)),
        _variable(f"get{word}", _named(f"get{word}"), got),
    ]


class _Trim(_Pass):
    def over(self, text: str, world: _World) -> str:
        """The text without trims and the newlines around them."""
        if world.ranges:
            world.ranges[:] = edited(world.ranges, (RangeEdit(start, end, 0) for start, end in trimmed_spans(text)))
        return without_trims(text)


_FIRST: Final = (
    _Pass(
        "roll",
        within_braces(r"\{\{roll[ :]([^}]+)\}\}"),
        lambda world, hit, _text: roll(strip(hit.groups[0]), world.env) or "",
    ),
    *_sequences(),
    _read_env("defaultSystemPrompt", settings.system_prompt),
    _read_env("instructSystem", settings.system_prompt),
    _read_env("instructSystemPrompt", settings.system_prompt),
    _simple("systemPrompt", _system_prompt),
    _read_env("chatSeparator", lambda env: settings.context(env, "example_separator")),
    _read_env("chatStart", lambda env: settings.context(env, "chat_start")),
    *_variables("var", "local"),
    *_variables("globalvar", "global"),
    _simple("newline", lambda _world: "\n"),
    _Trim("trim", exactly("{{trim}}"), lambda _world, _hit, _text: ""),
    _simple("noop", lambda _world: ""),
    _read_env("input", lambda env: env.input),
)

# ---------------------------------------------------------------------------------------------- names, card, dynamic ones


def _card(name: str) -> Callable[[_World], str]:
    return lambda world: world.card(name)


def _preferred(name: str, switch: str) -> Callable[[_World], str]:
    return lambda world: world.card(name) if getattr(world.env, switch) else ""


_CARD: Final[Mapping[str, Callable[[_World], str]]] = {
    "charPrompt": _preferred("system_prompt", "prefer_card_prompt"),
    "charInstruction": _preferred("post_history", "prefer_card_instruction"),
    "charJailbreak": _preferred("post_history", "prefer_card_instruction"),
    "description": _card("description"),
    "personality": _card("personality"),
    "scenario": _card("scenario"),
    "persona": _card("persona"),
    "mesExamples": lambda world: examples_text(world.card("mes_examples"), world.env, world.nested),
    "mesExamplesRaw": _card("mes_examples"),
    "charVersion": lambda world: world.env.card.version,
    "char_version": lambda world: world.env.card.version,
    "charDepthPrompt": _card("depth_prompt"),
    "creatorNotes": _card("creator_notes"),
}
_NAMES: Final[Mapping[str, Callable[[_World], str]]] = {
    "user": lambda world: world.env.user,
    "char": lambda world: world.env.char,
    "group": lambda world: group_names(world.env),
    "charIfNotGroup": lambda world: group_names(world.env),
    "groupNotMuted": lambda world: active_names(world.env),
    "notChar": lambda world: ", ".join((*(name for name in world.env.group if name != world.env.char), world.env.user)),
    "model": lambda world: world.env.model,
}


def _original(world: _World) -> str:
    text, world.original = world.original or "", ""
    return text


def _environment(world: _World, dynamic: Mapping[str, Any]) -> list[_Pass]:
    """The passes of names, card fields and dynamic macros; a dynamic one replaces the built-in one of its name."""
    if not dynamic and world.original is None:
        return _WITH_CARD if world.with_card else _WITHOUT_CARD
    values: dict[str, Callable[[_World], str]] = {} if world.original is None else {"original": _original}
    values |= {**_CARD, **_NAMES} if world.with_card else _NAMES
    values |= {name: _constant(value) for name, value in dynamic.items()}
    return [_simple(name, value) for name, value in values.items()]


def _constant(value: Any) -> Callable[[_World], str]:
    text = "" if value is None else json_text(value) if isinstance(value, (dict, list, tuple)) else text_of(value)
    return lambda _world: text


_WITHOUT_CARD: Final = [_simple(name, value) for name, value in _NAMES.items()]
_WITH_CARD: Final = [*(_simple(name, value) for name, value in _CARD.items()), *_WITHOUT_CARD]

# ------------------------------------------------------------------------------------------------ chat, time, chance, rest


def _ban(world: _World, hit: TagMatch, _text: str) -> str:
    word = unquoted(hit.groups[0])
    if world.env.ban is not None and word:
        world.env.ban(word)
    return ""


def _items(listed: str) -> tuple[str, ...]:
    if "::" in listed:
        return tuple(listed.split("::"))
    return tuple(strip(part).replace(_COMMA, ",") for part in listed.replace("\\,", _COMMA).split(","))


def _random(world: _World, hit: TagMatch, _text: str) -> str:
    items = _items(hit.groups[0])
    return items[int(world.env.random.random() * len(items))]


def _pick(world: _World, hit: TagMatch, text: str) -> str:
    if world.offsets is None or world.offsets.text is not text:
        world.offsets = Offsets(text)
    if world.hashed is None:
        world.hashed = string_hash(world.text)
    seed = f"{chat_hash(world.env)}-{world.hashed}-{world.offsets.at(hit.start)}"
    return picked(_items(hit.groups[0]), f"{string_hash(seed)}\0")


def _extended(name: str, world: _World, hit: TagMatch, text: str) -> str:
    value = world.env.stock.get(name)
    return text[hit.start : hit.end] if value is None else value()


_LAST: Final = (
    _read_env("isMobile", lambda env: "true" if env.mobile else "false"),
    _read_env("lastGenerationType", lambda env: env.generation),
    *(_Pass(name, exactly("{{" + name + "}}"), partial(_extended, name)) for name in settings.EXTENSION_OF),
    _read_env("authorsNote", lambda env: env.authors_note),
    _read_env("charAuthorsNote", lambda env: env.char_authors_note),
    _read_env("defaultAuthorsNote", lambda env: env.default_authors_note),
    *(
        _read_env(f"{name}{tail}", value)
        for name, value in (
            ("maxPrompt", lambda env: f"{env.max_context - env.max_response}"),
            ("maxContext", lambda env: f"{env.max_context}"),
            ("maxResponse", lambda env: f"{env.max_response}"),
        )
        for tail in ("", "Tokens")
    ),
    _read_env("lastMessage", chat.last_text),
    _read_env("lastMessageId", chat.last_id),
    _read_env("lastUserMessage", lambda env: chat.last_text(env, "user")),
    _read_env("lastCharMessage", lambda env: chat.last_text(env, "char")),
    _read_env("firstIncludedMessageId", lambda env: chat.number(env.first_included_id)),
    _read_env("firstDisplayedMessageId", lambda env: chat.number(env.first_displayed_id)),
    _read_env("lastSwipeId", chat.swipe_count),
    _read_env("currentSwipeId", lambda env: chat.shown_number(env) or "NaN"),
    _read_env("allChatRange", chat.chat_range),
    _Pass("reverse", on_line("{{reverse:"), lambda _world, hit, _text: hit.groups[0][::-1]),
    _Pass("//", to_close("{{//"), lambda _world, _hit, _text: ""),
    _read_env("time", lambda env: chat.formatted(env, "LT")),
    _read_env("date", lambda env: chat.formatted(env, "LL")),
    _read_env("weekday", lambda env: chat.formatted(env, "dddd")),
    _read_env("isotime", lambda env: chat.formatted(env, "HH:mm")),
    _read_env("isodate", lambda env: chat.formatted(env, "YYYY-MM-DD")),
    _Pass(
        "datetimeformat",
        within_braces(r"\{\{datetimeformat +([^}]*)\}\}"),
        lambda world, hit, _text: chat.formatted(world.env, hit.groups[0]),
    ),
    _read_env("idle_duration", chat.idle),
    _Pass(
        "time_UTC",
        within_braces(r"\{\{time_utc([-+][0-9]{1,8})\}\}"),
        lambda world, hit, _text: chat.time_in_zone(world.env, int(hit.groups[0])),
    ),
    _Pass("outlet", on_line("{{outlet::"), lambda world, hit, _text: world.env.outlets.get(strip(hit.groups[0]), "")),
    _Pass(
        "timeDiff",
        on_line("{{timeDiff::", "::"),
        lambda world, hit, _text: chat.time_difference(world.env, *hit.groups),
    ),
    _Pass("banned", quoted('{{banned "', '"}}'), _ban),
    _Pass("random", within_braces(rf"\{{\{{random[{SPACES}]?::?([^}}]+)\}}\}}"), _random),
    _Pass("pick", within_braces(rf"\{{\{{pick[{SPACES}]?::?([^}}]+)\}}\}}"), _pick),
)

_NAME_END: Final = re.compile(f"[{SPACES}:]")
_LEFT: Final = re.compile(r"\{\{([^{}]{1,200})\}\}")


def _report_unknown(text: str, world: _World) -> None:
    if world.env.warn is None or world.depth:
        return
    for match in _LEFT.finditer(text):
        if world.env.spent.reports > MAX_REPORTS:
            return
        name = _NAME_END.split(strip(match[1]))[0]
        report(world.env, settings.unknown_macro(name), text, match.start())


NAMES: Final = frozenset(one.name.lower() for one in (*_FIRST, *_WITH_CARD, *_LAST)) | {"original"}
"""The names this engine knows, in lower case; not those of dynamic macros."""
