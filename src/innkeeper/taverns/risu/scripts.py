"""Texts: CBS as one build expands it, and the regex scripts for what is typed, answered, sent and shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import msgspec

from innkeeper.macros.cbs import CbsScope, Expanded, expand
from innkeeper.macros.cbs.scope import data_of
from innkeeper.macros.engine.errors import MacroLimitError
from innkeeper.prompt.errors import Where
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.text.javascript.substitution import side_of, substituted
from innkeeper.text.javascript.values import parse_int
from innkeeper.text.jsreplace import JsMatch, ReplaceRunner, joined


class CbsExpander:
    """Expands texts in one scope. Variables that a text writes are there for the next one; ``report`` gets notes, each once."""

    def __init__(self, scope: CbsScope, variables: MutableMapping[str, Any], report: Callable[[str], None]) -> None:
        self.scope = msgspec.structs.replace(scope, variables=variables)
        self.variables = variables
        self._report = report
        self._reported: set[str] = set()

    def __call__(self, text: str, **changes: Any) -> str:
        """The text with its macros expanded; ``changes`` are fields of the scope that are other ones here.

        One that takes more than the limits allow stays as it is, and is reported.
        """
        if "{" not in text and "<" not in text:
            return text
        scope = msgspec.structs.replace(self.scope, **changes) if changes else self.scope
        try:
            expanded = expand(text, scope)
        except MacroLimitError as error:
            expanded = Expanded(text, {}, (error.message,))
        for name, value in expanded.variables.items():
            if value is None:
                self.variables.pop(name, None)
            else:
                self.variables[name] = value
        for note in expanded.notes:
            if note not in self._reported:
                self._reported.add(note)
                self._report(note)
        return expanded.text


MAX_RISU_SCRIPTS: Final = 2_000
"""Scripts of one build (a note; further ones are left out)."""

MAX_SCRIPT_OUTPUT: Final = 8 * 1024 * 1024
"""Characters that the scripts of one build may write (a note; a replacement that writes more is left out)."""

_ATTRIBUTES: Final = re.compile(r"<([^<>\n]+)>")
_FLAGS: Final = "dgimsuvy"
_NUMBER: Final = re.compile(r"(?<!\$)\$([0-9]+)")
_MOVES: Final = ("move_top", "move_bottom")


class RisuScript(msgspec.Struct, frozen=True, kw_only=True):
    """A script: ``actions`` are what its flags name in ``<…>``, but for the order."""

    pattern: str
    replacement: str
    mode: str
    """When it runs: ``editinput``, ``editoutput``, ``editprocess`` (when a prompt is made), ``editdisplay``."""
    flags: str = "g"
    actions: tuple[str, ...] = ()
    order: float = 0
    title: str = ""

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> RisuScript:
        """Read a script as RisuAI stores it."""
        flags = str(stored.get("flag") or "g") if stored.get("ableFlag") else "g"
        names = [name.strip() for group in _ATTRIBUTES.findall(flags) for name in group.split(",")]
        orders = [parse_int(name.removeprefix("order ")) for name in names if name.startswith("order ")]
        letters = dict.fromkeys(letter for letter in _ATTRIBUTES.sub("", flags) if letter in _FLAGS)
        actions = tuple(name for name in names if not name.startswith("order "))
        replacement = str(stored.get("out") or "").replace("$n", "\n")
        return cls(
            pattern=str(stored.get("in") or ""),
            replacement=replacement + "\n" * (replacement.endswith(">") and "no_end_nl" not in actions),
            mode=str(stored.get("type") or ""),
            flags="".join(letters) or "u",
            actions=actions,
            order=orders[-1] if orders and orders[-1] == orders[-1] else 0,
            title=str(stored.get("comment") or ""),
        )

    def does(self, *actions: str) -> bool:
        """Whether it is one of these actions, by its flags or by its replacement."""
        return any(action in self.actions or self.replacement.startswith(f"@@{action}") for action in actions)


def read_scripts(*sources: Iterable[Mapping[str, Any]]) -> tuple[RisuScript, ...]:
    """The scripts of preset, character and modules, in this order; where one has an order, the greatest comes first."""
    scripts = (RisuScript.of(stored) for source in sources for stored in source if isinstance(stored, Mapping))
    return tuple(sorted((script for script in scripts if script.pattern), key=lambda script: -script.order))


class ScriptPattern(msgspec.Struct, frozen=True):
    """A pattern with its flags (`innkeeper.text.jsregex.JsPattern`)."""

    pattern: str
    flags: str


class RewrittenText(msgspec.Struct, frozen=True):
    """A text after scripts. ``stored`` is what its message is to hold in the chat, where a script says so."""

    text: str
    stored: str | None = None
    emotion: str | None = None


class _OutputError(Exception):
    """A script writes more than the scripts of a build may."""


@dataclass
class ScriptRunner:
    """Runs the scripts of one build. ``report`` gets each limit that was reached, once."""

    scripts: Sequence[RisuScript]
    report: Callable[[Note], None] = lambda _: None
    _room: int = MAX_SCRIPT_OUTPUT
    _title: str = ""
    _runner: ReplaceRunner = field(init=False)

    def __post_init__(self) -> None:
        self._runner = ReplaceRunner(lambda what, why: self._note(f"{what}: {why}"))
        if len(self.scripts) > MAX_RISU_SCRIPTS:
            self.report(
                Note(NoteKind.LIMIT, f"{len(self.scripts):,} regex scripts, of which {MAX_RISU_SCRIPTS:,} are run")
            )

    def run(self, text: str, mode: str, scope: CbsScope) -> RewrittenText:
        """Expand a text and run the scripts of a mode on it. Raises `MacroLimitError`."""
        result = RewrittenText(expand(text, scope).text)
        for script in self.scripts[:MAX_RISU_SCRIPTS]:
            if script.mode == mode:
                self._title = script.title
                result = self._after(script, result, scope)
        return result

    def _after(self, script: RisuScript, result: RewrittenText, scope: CbsScope) -> RewrittenText:
        source = expand(script.pattern, scope).text if "cbs" in script.actions else script.pattern
        moves = script.does(*_MOVES)
        pattern = ScriptPattern(source, script.flags.replace("g", "") if moves else script.flags)
        if not self._runner.accepts(pattern):
            return result
        try:
            if script.actions or script.replacement.startswith("@@"):
                return self._acted(script, pattern, result, scope)
            return msgspec.structs.replace(
                result, text=expand(self._replaced(pattern, result.text, script.replacement), scope).text
            )
        except _OutputError:
            self._note(f"the scripts of a build write more than {MAX_SCRIPT_OUTPUT:,} characters")
            return result

    def _acted(
        self, script: RisuScript, pattern: ScriptPattern, result: RewrittenText, scope: CbsScope
    ) -> RewrittenText:
        text, change = result.text, partial(msgspec.structs.replace, result)
        split = self._runner.split(pattern, text)
        is_message = scope.chat_index != -1
        if split is None:
            back = script.does("repeat_back") and is_message
            return change(text=self._repeated(script, pattern, text, scope)) if back else result
        if script.replacement.startswith("@@emo "):
            emotion = script.replacement[len("@@emo ") :].strip()
            return change(emotion=emotion) if emotion in scope.emotions else result
        if script.does("inject") and is_message:
            return change(text="".join(split[0]), stored=text)
        if script.does(*_MOVES):
            return change(text=self._moved(script, split[1][0], "".join(split[0])))
        return change(text=expand(self._replaced(pattern, text, script.replacement), scope).text)

    def _replaced(self, pattern: ScriptPattern, text: str, template: str) -> str:
        """``text.replace(pattern, template)``."""
        split = self._runner.split(pattern, text)
        if split is None:
            return text
        texts, matches = split
        parts, end = [texts[0]], len(texts[0])
        for match, after in zip(matches, texts[1:], strict=True):
            start, end = end, end + len(match.groups[0] or "")
            side = partial(side_of, text, start, end)
            parts += [substituted(template, match.groups, side, self._spend, match.named or None), after]
            end += len(after)
        return joined(parts)

    def _moved(self, script: RisuScript, match: JsMatch, rest: str) -> str:
        """A text whose match has gone to its top or bottom; of the signs of replacements ``$1`` and ``$&`` are read."""
        template = script.replacement
        for move in _MOVES:
            template = template.removeprefix(f"@@{move} ")
        groups = match.groups

        def numbered(reference: re.Match[str]) -> str:
            index = int(reference[1][:9])
            group = groups[index] if index < len(groups) else reference[0]
            self._spend(len(group or ""))
            return "undefined" if group is None else group

        out = _NUMBER.sub(numbered, template)
        self._spend(out.count("$&") * len(groups[0] or ""))
        out = out.replace("$&", groups[0] or "")
        return joined([out, "\n", rest] if script.does("move_top") else [rest, "\n", out])

    def _repeated(self, script: RisuScript, pattern: ScriptPattern, text: str, scope: CbsScope) -> str:
        """A text with the match of the last message of its role, or of the greeting, put at its end or start."""
        message = scope.message(scope.chat_index)
        if message is None:
            return text
        before = reversed(scope.messages[: scope.chat_index])
        source = next((data_of(item) for item in before if item.get("role") == message.get("role")), scope.greeting)
        split = self._runner.split(pattern, source)
        write = _POSITIONS.get([*script.replacement.split(" "), ""][1] or "end")
        if split is None or write is None:
            return text
        return joined([*write(text, split[1][0].groups[0] or "")])

    def _spend(self, characters: int) -> None:
        self._room -= characters
        if self._room < 0:
            raise _OutputError

    def _note(self, why: str) -> None:
        where = Where(asset="regex scripts", path=self._title[:60] or None)
        self.report(
            Note(NoteKind.LIMIT, f"the regex script {self._title[:60]!r} left texts as they were: {why}", where=where)
        )


_POSITIONS: Final[Mapping[str, Callable[[str, str], tuple[str, ...]]]] = {
    "end": lambda text, match: (text, match),
    "start": lambda text, match: (match, text),
    "end_nl": lambda text, match: (text, "\n", match),
    "start_nl": lambda text, match: (match, "\n", text),
}
"""Where ``repeat_back`` puts what it repeats."""
