"""Regex rules: patterns that rewrite the messages of a prompt for one view, before and after macros.

SmartTavern's ``regex_replace``, and `postprocess_apply`, its ``prompt_postprocess``: rules, then macros, then rules.
Rules come from presets and cards, so a pattern that is malformed, that takes too long or that writes too much is left
out, whole, with a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from innkeeper.content.json.values import copied, text_of, wrong_type
from innkeeper.macros.engine.errors import MAX_OUTPUT
from innkeeper.prompt.allowance import AllowanceError, allowed, charge
from innkeeper.prompt.errors import InnkeeperError, InputError, Where
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.taverns.smart.compat import SmartOptions
from innkeeper.text.pyregex import MAX_PATTERN_SECONDS, Deadline, PatternLimitError, PyPattern, compile_pattern

MAX_RULES_SECONDS: Final = 3.0
"""Processor seconds of the regex rules of one call together (`PatternLimitError`); one rule has ``MAX_PATTERN_SECONDS``."""

PLACEMENTS: Final = ("before_macro", "after_macro")
"""When rules run."""

VIEWS: Final = ("user_view", "assistant_view")
"""The reader of the result: the user, or the model."""

_REACHING_STEPS: Final = 10
"""The steps charged for checking whether a rule applies to a message."""
_FAMILIES: Final = frozenset({"preset", "world_book", "history", "char", "persona"})
_ANCHORS: Final = frozenset({"user", "assistant"})
_REFERENCE: Final = re.compile(r"\$(\d+)")


@allowed()
def apply_messages(
    regex_rules: Any,
    placement: Any,
    view: Any,
    messages: Any,
    variables: Mapping[str, Any] | None = None,
    *,
    options: SmartOptions | None = None,
    notes: list[Note] | None = None,
) -> dict[str, Any]:
    """``{"message": […]}``: new messages with the rules of one view and placement applied to their contents.

    Args:
        regex_rules: a list of rules, or ``{"regex_rules": […]}``.
        placement: ``before_macro`` or ``after_macro``, in any case; under another name no rule runs.
        view: ``user_view`` or ``assistant_view``; under another name no rule runs.
        messages: objects with ``role``, ``content`` and ``source``; what is not a list gives no messages.
        variables: what conditions of rules see.
        options: time, chance and limits of the macros in conditions.
        notes: where the rules that were left out are told.

    Raises:
        ShapeError: a message is not an object.
        PatternLimitError: the rules together take longer than ``MAX_RULES_SECONDS``.
        AllowanceError: there are more rules and messages than one build may go through.
    """
    if not isinstance(messages, list):
        return {"message": []}
    for index, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise wrong_type(f"messages[{index}]", "an object", message)
    written = [dict(message) for message in messages]
    run = _RuleRun([] if notes is None else notes)
    depths = _depths(written)
    for rule in _chosen(regex_rules, placement, view, variables, options, run):
        charge("rules", len(written) * _REACHING_STEPS)
        indices = [index for index, message in enumerate(written) if rule.reaches(message, depths[index])]
        contents = [text_of(written[index].get("content"), f"messages[{index}].content") for index in indices]
        for index, old, new in zip(indices, contents, run.replaced(rule, contents), strict=True):
            if new != old:
                written[index]["content"] = new
    return {"message": written}


@allowed()
def apply_text(
    regex_rules: Any,
    placement: Any,
    view: Any,
    text: Any,
    variables: Mapping[str, Any] | None = None,
    *,
    options: SmartOptions | None = None,
    notes: list[Note] | None = None,
) -> dict[str, str]:
    """``{"text": …}``: the text with the rules applied; their depths and targets do not count. See `apply_messages`."""
    written = text_of(text, "text")
    run = _RuleRun([] if notes is None else notes)
    for rule in _chosen(regex_rules, placement, view, variables, options, run):
        (written,) = run.replaced(rule, [written])
    return {"text": written}


# --- one rule ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule that runs. ``targets``: source types in lower case, ``None`` for every message."""

    pattern: PyPattern
    replacement: str
    where: Where
    lowest: int
    highest: int | None
    targets: frozenset[str] | None

    def reaches(self, message: Mapping[str, Any], depth: int) -> bool:
        source = message.get("source")
        if depth < self.lowest or (self.highest is not None and depth > self.highest):
            return False
        if source and not isinstance(source, Mapping):
            return False
        if self.targets is None:
            return True
        kind = _source_text(message, "type")
        return kind in self.targets or kind.partition(".")[0] in _FAMILIES & self.targets


def _source_text(message: Mapping[str, Any], key: str) -> str:
    source = message.get("source")
    return _written(source.get(key, ""), f"source.{key}") if isinstance(source, Mapping) else ""


def _written(value: Any, path: str) -> str:
    """Any value as Python writes it, in lower case: the original compares types and targets so."""
    return "none" if value is None else text_of(value, path).lower()


def _depths(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """The number of messages of user or assistant from a message to the end; relative presets do not count."""
    depths, anchors = [0] * len(messages), 0
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if _word(message.get("role")) in _ANCHORS:
            kind = _source_text(message, "type")
            named = kind.startswith("preset") and _source_text(message, "position") == "relative"
            anchors += not (kind == "preset.relative" or named)
        depths[index] = anchors
    return depths


# --- choosing ----------------------------------------------------------------------------------------------------------


def _chosen(
    regex_rules: Any,
    placement: Any,
    view: Any,
    variables: Mapping[str, Any] | None,
    options: SmartOptions | None,
    run: _RuleRun,
) -> list[_Rule]:
    """The rules that run, in their order. Conditions are evaluated before any rule runs, each on its own."""
    when = _word(placement)
    if when not in PLACEMENTS or view not in VIEWS:
        return []
    named = [(index, rule) for index, rule in _listed(regex_rules) if _runs(rule, when, view)]
    holds = _conditions(named, variables, options or SmartOptions(), run)
    chosen = []
    for index, rule in named:
        if not run.over and holds.get(index, True) and (read := _read(rule, index, run)) is not None:
            chosen.append(read)
    return chosen


def _listed(rules: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    rule_list = rules.get("regex_rules") if isinstance(rules, Mapping) else rules
    for index, rule in enumerate(rule_list if isinstance(rule_list, list) else ()):
        if isinstance(rule, Mapping):
            yield index, rule


def _runs(rule: Mapping[str, Any], placement: str, view: str) -> bool:
    views = rule.get("views")
    return (
        rule.get("enabled") is True
        and _word(rule.get("placement")) == placement
        and bool(rule.get("find_regex"))
        and isinstance(views, list)
        and view in views
        and _mode(rule) in {"always", "conditional"}
    )


def _word(value: Any) -> str:
    """A text in lower case; anything else is not a word of ours."""
    return value.lower() if isinstance(value, str) else ""


def _mode(rule: Mapping[str, Any]) -> str:
    return _word(rule.get("mode", "always"))


def _conditions(
    rules: list[tuple[int, Mapping[str, Any]]],
    variables: Mapping[str, Any] | None,
    options: SmartOptions,
    run: _RuleRun,
) -> dict[int, bool]:
    conditional = [(index, rule) for index, rule in rules if _mode(rule) == "conditional"]
    if not conditional:
        return {}
    from innkeeper.macros.smart import SmartEnvironment, condition_holds

    env = SmartEnvironment.of(variables, options=options.macros)
    verdicts = {index: condition_holds(rule.get("condition"), env) for index, rule in conditional}
    run.notes.extend(env.notes)
    return verdicts


def _read(rule: Mapping[str, Any], index: int, run: _RuleRun) -> _Rule | None:
    where = Where(asset=_name(rule), path=f"regex_rules[{index}].find_regex")
    targets = rule.get("targets")
    try:
        return _Rule(
            pattern=compile_pattern(text_of(rule["find_regex"], str(where.path))),
            replacement=_REFERENCE.sub(r"\\g<\1>", text_of(rule.get("replace_regex"), "replace_regex")),
            where=where,
            lowest=_depth(rule.get("min_depth"), 0) or 0,
            highest=_depth(rule.get("max_depth"), None),
            targets=frozenset(_written(item, "targets") for item in targets if item is not None)
            if isinstance(targets, list) and targets
            else None,
        )
    except InputError as error:
        run.left_out(where, error)
        return None


def _name(rule: Mapping[str, Any]) -> str:
    names = (rule.get(key) for key in ("name", "id"))
    return "regex rule " + next((name[:80] for name in names if isinstance(name, str) and name), "without a name")


def _depth(value: Any, default: int | None) -> int | None:
    try:
        return default if value is None else int(value)
    except (TypeError, ValueError, OverflowError):
        return default


# --- running -----------------------------------------------------------------------------------------------------------


class _RuleRun:
    """The remaining allowance of the rules of one call, and their reports."""

    def __init__(self, notes: list[Note]) -> None:
        self.notes = notes
        self.over = False
        self._seconds = MAX_RULES_SECONDS
        self._room = MAX_OUTPUT

    def replaced(self, rule: _Rule, texts: list[str]) -> list[str]:
        """The texts after a rule; as they are, with a note, where it cannot run on all of them."""
        if self.over:
            return texts
        allowed = min(MAX_PATTERN_SECONDS, self._seconds)
        deadline, room, written = Deadline(allowed), self._room, []
        try:
            for text in texts:
                new = rule.pattern.sub(rule.replacement, text, deadline=deadline, limit=room)
                room -= max(len(new) - len(text), 0)
                written.append(new)
        except InputError as error:
            self.left_out(rule.where, error)
            written = texts
        else:
            self._room = room
        self._spend(allowed - max(deadline.left, 0.0))
        return written

    def _spend(self, seconds: float) -> None:
        self._seconds -= seconds
        if self._seconds <= 0:
            raise PatternLimitError(
                "the regex rules together, in seconds,", limit="MAX_RULES_SECONDS", allowed=MAX_RULES_SECONDS
            )

    def left_out(self, where: Where, error: InnkeeperError) -> None:
        """Report a rule that cannot run; for one beyond the allowance also that no other runs."""
        self.over = isinstance(error, AllowanceError)
        self.notes.append(
            Note(NoteKind.WARNING, f"the rule is left out: {error.message}", where=where, hint=error.hint)
        )


@allowed()
def postprocess_apply(
    messages: Any,
    regex_rules: Any,
    view: Any,
    variables: Mapping[str, Any] | None = None,
    *,
    options: SmartOptions | None = None,
    notes: list[Note] | None = None,
) -> dict[str, Any]:
    """``{"message": […], "variables": {"initial": …, "final": …}}``: new messages, and the variables around the macros.

    Rules of ``before_macro`` run, then the macros of every message in their order, sharing one table, then rules of
    ``after_macro``. Conditions of rules see ``variables`` as they came in, both times. ``{{python:…}}`` does not run in what
    users and models wrote: messages whose source is the history, and messages of no source that are not the system's (with
    `Compat.chat_python` it does). What is not a message is left out with a note. The arguments are not changed. Raises as
    `apply_messages`.
    """
    chosen, collected = options or SmartOptions(), [] if notes is None else notes
    own = _objects(copied(messages, "messages"), collected)
    before = apply_messages(regex_rules, "before_macro", view, own, variables, options=chosen, notes=collected)
    expanded, around = _expanded(before["message"], variables, chosen, collected)
    after = apply_messages(regex_rules, "after_macro", view, expanded, variables, options=chosen, notes=collected)
    return {"message": after["message"], "variables": around}


def _objects(messages: Any, notes: list[Note]) -> list[dict[str, Any]]:
    listed = messages if isinstance(messages, list) else []
    for index, message in enumerate(listed):
        if not isinstance(message, dict):
            error = wrong_type(f"messages[{index}]", "an object", message)
            notes.append(Note(NoteKind.WARNING, f"a message is left out: {error.message}", where=error.where))
    return [message for message in listed if isinstance(message, dict)]


def _expanded(
    messages: list[dict[str, Any]], variables: Mapping[str, Any] | None, options: SmartOptions, notes: list[Note]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The messages with their macros replaced, and the variables before and after."""
    from innkeeper.macros.smart import SmartEnvironment, expand, process

    if options.compat.chat_python:
        done = process(messages, variables, options=options.macros, notes=notes)
        return done["messages"], done["variables"]
    initial = process([], variables, options=options.macros)["variables"]["initial"]
    env = SmartEnvironment.of(variables, options=options.macros)
    env.notes = notes
    quiet = msgspec.structs.replace(options.macros, python=False)
    expanded = []
    for index, message in enumerate(messages):
        env.options = quiet if _is_written_in_chat(message) else options.macros
        content = message.get("content")
        try:
            content = expand(content, env)
        except InnkeeperError as error:
            env.report(error.at(path=f"messages[{index}].content"))
        expanded.append({**message, "content": content})
    return expanded, {"initial": initial, "final": env.table}


_CHAT_ROLES: Final = frozenset({"user", "assistant", "thinking"})


def _is_written_in_chat(message: Mapping[str, Any]) -> bool:
    source = message.get("source")
    kind = source.get("type") if isinstance(source, Mapping) else None
    if isinstance(kind, str):
        return kind.lower().partition(".")[0] == "history"
    return str(message.get("role", "")).lower() in _CHAT_ROLES
