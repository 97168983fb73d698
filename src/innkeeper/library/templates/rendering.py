"""Render: a template version and values in; the text out, with a report on every variable.

Values are put in once, as they are: one that holds ``{{name}}``, ``$1`` or a backslash stays text. The same version, parts and
values always give the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from innkeeper.library.errors import MissingVariablesError
from innkeeper.library.limits import MAX_RENDERED_CHARS
from innkeeper.library.templates.partials import Composed, Lookup, compose, no_parts
from innkeeper.library.templates.template import PartRef, TemplateVersion
from innkeeper.library.templates.values import Filled, VariableReport, fill
from innkeeper.macros.engine.errors import MacroLimitError
from innkeeper.macros.mustache import Included, Node, Section, VariableTag
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.determinism import EPOCH, Clock
from innkeeper.prompt.errors import InputError
from innkeeper.prompt.run.state import TokenCounter

RENDERER_VERSION: Final = 1
"""Counted up when the same template and values give another text; part of the key of cached texts."""

_PROGRAMS: Final = 512


class Range(NamedTuple):
    """A run of a rendered text up to ``end``: of which template (``name@version``), and the variable whose value it is."""

    end: int
    template: str
    variable: str | None = None


class RenderedTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """A rendered template. ``tokens`` is None where no counter was given; ``ignored`` are values that nothing declares.

    ``ranges``, where they were asked for, say where the text is from, without a gap; of a Liquid template only which it is.
    """

    text: str
    version_id: str
    ranges: tuple[Range, ...] = ()
    variables: tuple[VariableReport, ...] = ()
    parts: tuple[PartRef, ...] = ()
    ignored: tuple[str, ...] = ()
    tokens: int | None = None


class Programs:
    """Composed templates, kept by content, within `BoundedCache`'s bounds. Safe to share between threads."""

    def __init__(self, entries: int = _PROGRAMS) -> None:
        self._programs: BoundedCache[tuple[str, str], Composed] = BoundedCache(items=entries)

    def get(self, version: TemplateVersion, lookup: Lookup) -> Composed:
        """The composed template. One that is kept counts only if version and parts are still what they were."""
        key = (version.version_id, version.content_sha256)
        cached = self._programs.get(key)
        if (
            cached is not None
            and _same(cached.version, version)
            and all(_same(lookup(*p.ref), p) for p in cached.parts)
        ):
            return cached
        made = compose(version, lookup)
        return self._programs.put(key, made, sum(len(part.system_prompt) for part in (made.version, *made.parts)))


def _same(one: TemplateVersion | None, other: TemplateVersion) -> bool:
    return one is other or one == other


PROGRAMS: Final = Programs()
"""Those that are kept unless others are given."""


def render(  # noqa: PLR0913 - what a rendering depends on
    version: TemplateVersion,
    values: Mapping[str, Any],
    *,
    lookup: Lookup = no_parts,
    counter: TokenCounter | None = None,
    model: str | None = None,
    clock: Clock | None = None,
    programs: Programs = PROGRAMS,
    ranges: bool = False,
) -> RenderedTemplate:
    """Render a template.

    Args:
        version: the template.
        values: a value for each variable; None is none. Names that are not declared are ignored, and reported.
        lookup: finds its partials and parents, `Catalogue.version` for one.
        counter: counts each value and the text, in tokens of ``model``.
        model: who reads the text; the enhancer, or else the target, of the template's key where left out.
        clock: what ``now`` means in Liquid; 1970 where left out, so that a text depends on nothing but what is given.
        programs: where composed templates are kept.
        ranges: whether to say where each run of the text is from, which takes as long again.

    Raises:
        MissingVariablesError: required variables without a value.
        FieldError: a value that its variable does not take.
        MacroSyntaxError, InvalidTemplateError, MacroError: the template cannot be read or run.
        MacroLimitError: something is too long or too deep.
    """
    program = programs.get(version, lookup)
    reader = model or version.key.reader
    try:
        if program.undeclared:
            raise MissingVariablesError(program.undeclared, hint="declare the variables that the template uses")
        filled = fill(program.variables, values, counter, reader)
        if version.syntax == "liquid":
            text, runs = _liquid(program, filled, clock)
        elif ranges:
            output = _Output(filled)
            output.emit(program.nodes, _named(version))
            text, runs = "".join(output.texts), tuple(output.ranges)
        else:
            text, runs = _mustache(program, filled), ()
    except InputError as error:
        raise error.at(asset=version.name) from error.__cause__
    return RenderedTemplate(
        text=text,
        version_id=version.version_id,
        ranges=runs if ranges else (),
        variables=filled.reports,
        parts=tuple([part.ref for part in program.parts]),
        ignored=filled.ignored,
        tokens=None if counter is None else counter.count(text, reader),
    )


def _mustache(program: Composed, filled: Filled) -> str:
    out: list[str] = []
    _emit(program.nodes, filled, out.append)
    if sum(map(len, out)) > MAX_RENDERED_CHARS:
        raise MacroLimitError("the rendered text", limit="MAX_RENDERED_CHARS", allowed=MAX_RENDERED_CHARS)
    return "".join(out)


def _emit(nodes: tuple[Node, ...], filled: Filled, put: Callable[[str], None]) -> None:
    """Put out a tree without partials and blocks."""
    texts, present = filled.texts, filled.present
    for node in nodes:
        if type(node) is str:
            put(node)
        elif type(node) is VariableTag:
            put(texts.get(node.name, ""))
        elif type(node) is Included or (type(node) is Section and (node.name in present) is not node.negated):
            _emit(node.nodes, filled, put)


class _Output:
    """A text while it is put together, with its ranges; neighbours from the same place are one range."""

    __slots__ = ("end", "filled", "ranges", "texts")

    def __init__(self, filled: Filled) -> None:
        self.filled, self.texts, self.ranges, self.end = filled, list[str](), list[Range](), 0

    def emit(self, nodes: tuple[Node, ...], template: str) -> None:
        """Put out a tree without partials and blocks."""
        texts, present = self.filled.texts, self.filled.present
        for node in nodes:
            if type(node) is str:
                self._put(node, template, None)
            elif type(node) is VariableTag:
                self._put(texts.get(node.name, ""), template, node.name)
            elif type(node) is Included:
                self.emit(node.nodes, f"{node.name}@{node.version}")
            elif type(node) is Section and (node.name in present) is not node.negated:
                self.emit(node.nodes, template)

    def _put(self, text: str, template: str, variable: str | None) -> None:
        if not text:
            return
        self.texts.append(text)
        self.end += len(text)
        if self.end > MAX_RENDERED_CHARS:
            raise MacroLimitError("the rendered text", limit="MAX_RENDERED_CHARS", allowed=MAX_RENDERED_CHARS)
        if self.ranges and self.ranges[-1][1:] == (template, variable):
            self.ranges.pop()
        self.ranges.append(Range(self.end, template, variable))


def _named(version: TemplateVersion) -> str:
    return f"{version.name}@{version.version}"


def _liquid(program: Composed, filled: Filled, clock: Clock | None) -> tuple[str, tuple[Range, ...]]:
    from innkeeper.macros.liquid.engine import run
    from innkeeper.macros.liquid.session import LiquidSession

    session = LiquidSession(filled.data, None, True, clock=clock or Clock.at(EPOCH))  # noqa: FBT003 - strict
    text = run(program.liquid, session)
    return text, (Range(len(text), _named(program.version)),) if text else ()
