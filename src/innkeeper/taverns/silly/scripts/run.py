"""Scripts: the regex scripts of a build at work: which of them apply to a text, one after the other.

What they make of a text is kept for the next builds, unless a macro had a say in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from innkeeper.content.regex_script import RegexScript, ScriptPlacement
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.errors import Where
from innkeeper.prompt.note import NoteKind
from innkeeper.taverns.silly.lines.line import Line
from innkeeper.taverns.silly.scripts.rules import Find, Part, ScriptExpander, ScriptRule, read_find, rule_of
from innkeeper.taverns.silly.scripts.sources import ScriptSource, allowed_scripts
from innkeeper.text.jsreplace import JsMatch, ReplaceRunner, joined

if TYPE_CHECKING:
    from innkeeper.prompt.run.state import State
    from innkeeper.taverns.silly.expansion import Expander
    from innkeeper.taverns.silly.inputs import SillyInputs


MAX_SCRIPTS: Final = 2_000
"""Scripts of one build (a note; further ones are left out)."""

MAX_GROWTH: Final = 8 * 1024 * 1024
"""Characters that all scripts of one build may add (a note; a replacement that adds more is left out)."""


class ScriptUse(StrEnum):
    """The purpose of a rewritten text."""

    STORED = "stored"
    """To be stored in the chat."""
    PROMPT = "prompt"
    """To be sent."""
    DISPLAY = "display"
    """To be shown."""


class _Trial(NamedTuple):
    """A rule, and the one text without which it cannot match, if any; ``folded``: in lower case."""

    rule: ScriptRule
    need: str
    folded: bool


Selection = tuple[_Trial, ...]


class _Program:
    """The rules of a build, compiled; cached by the content of the scripts and the names in them."""

    __slots__ = ("_chosen", "_trials", "deepest", "rules")

    def __init__(self, rules: tuple[ScriptRule, ...]) -> None:
        self.rules = rules
        self._trials = [_Trial(rule, rule.needs[0] if len(rule.needs) == 1 else "", rule.fold) for rule in rules]
        limits = [limit for rule in rules for limit in (rule.script.min_depth, rule.script.max_depth) if limit]
        self.deepest = int(max([*limits, 0])) + 2
        self._chosen: dict[tuple[ScriptUse, int, float | None, bool], Selection] = {}

    def selection(self, use: ScriptUse, placement: int, depth: float | None, *, edited: bool = False) -> Selection:
        """The rules for one kind of text at a depth; the same tuple for the same ones."""
        key = (use, placement, None if depth is None else min(depth, self.deepest), edited)
        chosen = self._chosen.get(key)
        if chosen is None:
            chosen = tuple(trial for trial in self._trials if _runs(trial.rule.script, *key))
            chosen = next((other for other in self._chosen.values() if other == chosen), chosen)
            self._chosen[key] = chosen
        return chosen


def _runs(script: RegexScript, use: ScriptUse, placement: int, depth: float | None, edited: bool) -> bool:  # noqa: FBT001
    """Whether a script is for a text (`sillytavern.md` A5, A6)."""
    if script.disabled or not script.find or placement not in script.placement or (edited and not script.run_on_edit):
        return False
    if use is ScriptUse.STORED:
        is_for = not (script.prompt_only or script.markdown_only)
    else:
        is_for = script.prompt_only if use is ScriptUse.PROMPT else script.markdown_only
    return is_for and script.reaches(depth)


_PROGRAMS: Final[BoundedCache[Any, _Program]] = BoundedCache(items=64)
_LINES: Final[BoundedCache[tuple[int, int], Line]] = BoundedCache()
"""Lines as scripts leave them, by their identity and that of the selection."""
_TEXTS: Final[BoundedCache[tuple[str, int], tuple[str, tuple[str, ...]]]] = BoundedCache()
"""The same for texts, for lines that are read anew each time; with the titles of the scripts that changed them."""
_CHATS: Final[BoundedCache[tuple[int, str, str], tuple[tuple[Line, ...], tuple[Line, ...]]]] = BoundedCache(items=256)
"""The beginnings of chats, and what scripts make of them: a chat that grows is not looked through line by line."""
_NO_CHAT: Final[tuple[tuple[Line, ...], tuple[Line, ...]]] = ((), ())
_GROWN: Final = 16
"""The number of lines by which a chat grows before more of its beginning is cached."""
_RULE_BYTES: Final = 2_048
_CHARACTERS_A_STEP: Final = 16


class Scripts:
    """The scripts of one build at work."""

    def __init__(
        self, state: State, program: _Program, expander: ScriptExpander, *, groups_run_on: bool = True
    ) -> None:
        self._state = state
        self._program = program
        self._expander = expander
        self._groups_run_on = groups_run_on
        self._room = MAX_GROWTH
        self._running: ScriptRule | None = None
        self._runner = ReplaceRunner(self._report)
        self._is_pure = True
        self._changed_by: list[str] = []
        self._unchanged = True
        self._reported: set[tuple[str, int]] = set()

    def text(
        self,
        text: str,
        placement: ScriptPlacement,
        use: ScriptUse = ScriptUse.PROMPT,
        *,
        depth: float | None = None,
        edited: bool = False,
    ) -> str:
        """A text as the scripts for it leave it. An empty one stays empty."""
        selection = self._program.selection(use, placement, depth, edited=edited)
        return self._run(selection, text) if selection and text else text

    def typed(self, line: Line) -> Line:
        """The stored form of the user's message; its macros are replaced afterwards."""
        self._changed_by = []
        text = self.text(line.text, ScriptPlacement.USER_INPUT, ScriptUse.STORED)
        return _changed(line, text, self._changed_by)

    def show(self, line: Line, expand: Expander) -> None:
        """Run the macros of display scripts on the user's message for their effects: it is shown before it is sent."""
        self._expander = _expander(expand)
        self.text(line.text, ScriptPlacement.USER_INPUT, ScriptUse.DISPLAY, depth=0)

    def of_chat(self, lines: tuple[Line, ...], inputs: SillyInputs, expand: Expander) -> tuple[Line, ...]:
        """The visible lines as they are sent, oldest first; the depth of the newest is 0, of one that is continued -1 (A6)."""
        self._expander = _expander(expand)
        key = (id(self._program), inputs.chat_id, lines[0].text if lines else "")
        early, written = _CHATS.get(key) or _NO_CHAT
        count = len(early)
        # What is cached holds while it is the beginning of this chat, and all of it lies deeper than any script's limit.
        if (
            lines[:count] != early
            or next((depth for depth, _ in self._deep(lines[count:], inputs)), 0) < self._program.deepest
        ):
            (early, written), count = _NO_CHAT, 0
        later, alike = self._later(lines[count:], inputs)
        if alike > _GROWN:
            made = (lines[: count + alike], (*written, *later[:alike]))
            _CHATS.put(key, made, sum([len(line.text) for line in made[1]]), alive=self._program)
        return (*written, *later)

    def _later(self, lines: tuple[Line, ...], inputs: SillyInputs) -> tuple[list[Line], int]:
        """The newest lines rewritten, and how many of them at their beginning any build rewrites alike while the chat grows."""
        choose, known, written, alike = self._program.selection, _LINES.get, list[Line](), 0
        user, other, deepest = ScriptPlacement.USER_INPUT, ScriptPlacement.AI_OUTPUT, self._program.deepest
        far = [choose(ScriptUse.PROMPT, placement, deepest) for placement in (other, user)]
        self._unchanged = True
        for depth, line in self._deep(lines, inputs):
            if line.tool_calls:
                selection: Selection = ()
            elif depth >= deepest:
                selection = far[line.is_user]
                alike = len(written) + 1 if depth > deepest + _GROWN else alike
            else:
                selection = choose(ScriptUse.PROMPT, user if line.is_user else other, depth)
            written.append((known((id(line), id(selection))) or self._line(line, selection)) if selection else line)
        return written, alike if self._unchanged else 0

    def of_reasoning(self, lines: tuple[Line, ...], inputs: SillyInputs) -> tuple[Line, ...]:
        """The lines with what was thought as it is sent, newest first as far as it is added (A7).

        The newest line's is rewritten even where none is added; in a group only what the speaker thought.
        """
        rule, added, written = inputs.power.reasoning, 0, list(lines)
        for index, depth in self._newest_first(lines, inputs):
            line = lines[index]
            if inputs.group is None or line.name == inputs.char:
                text = self.text(line.reasoning, ScriptPlacement.REASONING, depth=depth)
                if text is not line.reasoning:
                    written[index] = msgspec.structs.replace(line, reasoning=text)
                added += bool(text)
            if not rule.add_to_prompts or added >= rule.max_additions:
                break
        return tuple(written)

    @classmethod
    def _deep(cls, lines: tuple[Line, ...], inputs: SillyInputs) -> Iterator[tuple[int, Line]]:
        """The lines with their depths, oldest first."""
        depths = [depth for _, depth in cls._newest_first(lines, inputs)]
        return zip(reversed(depths), lines, strict=True)

    @staticmethod
    def _newest_first(lines: tuple[Line, ...], inputs: SillyInputs) -> Iterator[tuple[int, int]]:
        """The places of the lines with their depths. Tool calls count where they are sent."""
        every, depth = inputs.calls_tools, -2 if inputs.type == "continue" else -1
        for index in range(len(lines) - 1, -1, -1):
            depth += every or not lines[index].tool_calls
            yield index, depth

    def _line(self, line: Line, selection: Selection) -> Line:
        key = (line.text, id(selection))
        known = _TEXTS.get(key)
        if known is None:
            self._is_pure, trips, self._changed_by = True, self._runner.trips, []
            text = self._run(selection, line.text)
            known = text, tuple(self._changed_by)
            if not self._is_pure or trips != self._runner.trips:
                self._unchanged = False
                return _changed(line, *known)
            _TEXTS.put(key, known, len(text) + len(line.text), alive=selection)
        return _LINES.put((id(line), id(selection)), _changed(line, *known), len(known[0]), alive=(line, selection))

    def _run(self, trials: Selection, text: str) -> str:
        """The text after all of them; those that cannot match are not tried."""
        lower = text.lower()
        for rule, need, folded in trials:
            if need:
                if need not in (lower if folded else text):
                    continue
            elif rule.needs:
                within = lower if folded else text
                if not any([need in within for need in rule.needs]):  # noqa: C419 - quicker for so few
                    continue
            new = self._rewritten(rule, text)
            if new is not text:
                self._changed_by.append(rule.script.title)
                if not new:
                    return new
                text, lower = new, new.lower()
        return text

    def _rewritten(self, rule: ScriptRule, text: str) -> str:
        """The text after one script."""
        self._running, find = rule, rule.find
        if find is None:
            self._is_pure = False
            find = read_find(self._expander.pattern(rule.script)) or Find("")
        if rule.constant is not None and find.pattern and self._expander.names_are_fixed:
            made = self._runner.replaced(find, text, rule.constant, self._room)
            if made is not None:
                self._room -= max(len(made) - len(text), 0)
                return text if made == text else made
        split = self._runner.split(find, text) if find.pattern else None
        if split is None:
            return text
        texts, matches = split
        parts, room = [texts[0]], self._room + len(text)
        charge("scripts", len(matches) * (1 + len(rule.template)))
        for match, after in zip(matches, texts[1:], strict=True):
            made = self._put_in(rule, match, text)
            room -= len(made) + len(after)
            if room < 0:
                return self._stopped(rule, text, f"it adds more than {MAX_GROWTH:,} characters")
            parts += [made, after]
        new = joined(parts)
        self._room -= max(len(new) - len(text), 0)
        return text if new == text else new

    def _put_in(self, rule: ScriptRule, match: JsMatch, text: str) -> str:
        """Return the replacement of a match: its parts, then their macros."""
        if not rule.template:
            return ""
        parts = [part if isinstance(part, str) else self._group(rule, part, match, text) for part in rule.template]
        return self._expanded("".join(parts))

    def _group(self, rule: ScriptRule, part: Part, match: JsMatch, text: str) -> str:
        """Return the text of a reference: a group, or, past the last one, the match's offset and the whole text (A13)."""
        groups = match.groups
        if isinstance(part, tuple):
            value = (match.named or {}).get(part[0])
        elif isinstance(part, int) and part < len(groups):
            value = groups[part]
        else:
            beyond = (str(match.offset) if match.offset else None, text) if self._groups_run_on else ()
            value = dict(enumerate(beyond, len(groups))).get(part)  # type: ignore[arg-type]
        return self._trimmed(rule, value) if value else ""

    def _trimmed(self, rule: ScriptRule, value: str) -> str:
        """Return a group's text without the parts that the script trims (A14)."""
        for cut in map(self._expanded, rule.script.trim) if rule.trim is None else rule.trim:
            charge("scripts", 1 + len(value) // _CHARACTERS_A_STEP)
            value = value.replace(cut, "") if cut else value
        return value

    def _expanded(self, text: str) -> str:
        self._is_pure = self._is_pure and self._expander.is_fixed(text)
        return self._expander.text(text)

    def _stopped(self, rule: ScriptRule, text: str, why: str) -> str:
        """Return the text unchanged, with a note."""
        self._runner.trips += 1
        self._warn(rule, why)
        return text

    def _report(self, what: str, why: str) -> None:
        if self._running is not None:
            self._warn(self._running, f"{what}: {why}")

    def _warn(self, rule: ScriptRule, why: str) -> None:
        script, source = rule.script, rule.source
        if (source, script.index) in self._reported:
            return
        self._reported.add((source, script.index))
        where = Where(asset=f"{source} regex scripts", path=f"[{script.index}]")
        message = f"the regex script {script.title!r} left texts as they were: {why}"
        self._state.warn(message, kind=NoteKind.LIMIT, where=where)


def _changed(line: Line, text: str, scripts: Iterable[str]) -> Line:
    """The line with another text, which these scripts have made."""
    if text == line.text:
        return line
    by = tuple(dict.fromkeys((*line.scripts, *scripts)))
    return msgspec.structs.replace(line, text=text, pieces=(), scripts=by)


def scripts_of(state: State, inputs: SillyInputs, expand: Expander) -> Scripts | None:
    """The scripts of a build; ``None`` if none may run."""
    sources = allowed_scripts(state, inputs)
    if not sources:
        return None
    env = expand.env
    expander = _expander(expand)
    names = (
        env.user,
        env.char,
        tuple(env.group),
        tuple(env.group_active),
        expand.pack,
        bool(env.dynamic),
        expand.card_effects,
    )
    runs_on = inputs.compat.groups_run_on
    key = (tuple((source.name, source.scripts.key) for source in sources), names, runs_on)
    program = _PROGRAMS.get(key)
    if program is None:
        rules = tuple(_rules(state, sources, expander))
        program = _PROGRAMS.put(key, _Program(rules), _RULE_BYTES * len(rules))
    return Scripts(state, program, expander, groups_run_on=runs_on)


def _expander(expand: Expander) -> ScriptExpander:
    fixed = not (expand.env.dynamic or expand.card_effects)
    return ScriptExpander(expand, expand.ranged, names_are_fixed=fixed)


def _rules(state: State, sources: Iterable[ScriptSource], expander: ScriptExpander) -> Iterator[ScriptRule]:
    listed = [(script, source.name) for source in sources for script in source.scripts.scripts if not script.disabled]
    if len(listed) > MAX_SCRIPTS:
        state.warn(f"{len(listed):,} regex scripts, of which {MAX_SCRIPTS:,} are run", kind=NoteKind.LIMIT)
    return (rule_of(script, source, expander) for script, source in listed[:MAX_SCRIPTS])
