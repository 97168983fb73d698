"""Render: a template version and values in; the text out, with a report on every variable.

Values are put in once, as they are: one that holds ``{{name}}``, ``$1`` or a backslash stays text. The same version, parts and
values always give the same text.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from innkeeper.library.errors import MissingVariablesError, TemplateLimitError
from innkeeper.library.limits import MAX_RENDERED_CHARS
from innkeeper.library.mustache import Node, Section, Use
from innkeeper.library.templates.partials import Composed, Lookup, compose, no_parts
from innkeeper.library.templates.template import PartRef, TemplateVersion
from innkeeper.library.templates.values import Filled, VariableReport, fill
from innkeeper.prompt.clock import EPOCH, Clock
from innkeeper.prompt.errors import InputError
from innkeeper.prompt.ports import TokenCounter

__all__ = ["RENDERER_VERSION", "Programs", "RenderedTemplate", "render"]

RENDERER_VERSION: Final = 1
"""Counted up when the same template and values give another text; part of the key of cached texts."""

_KEPT: Final = 512


class RenderedTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """A rendered template. ``tokens`` is None where no counter was given; ``ignored`` are values that nothing declares."""

    text: str
    version_id: str
    variables: tuple[VariableReport, ...] = ()
    parts: tuple[PartRef, ...] = ()
    ignored: tuple[str, ...] = ()
    tokens: int | None = None


class Programs:
    """Composed templates, kept by content; the least recently used goes first. Safe to share between threads."""

    def __init__(self, entries: int = _KEPT) -> None:
        self._entries = entries
        self._kept: OrderedDict[tuple[str, str], Composed] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, version: TemplateVersion, lookup: Lookup) -> Composed:
        """The composed template. One that is kept counts only if version and parts are still what they were."""
        place = (version.version_id, version.content_sha256)
        with self._lock:
            kept = self._kept.get(place)
            if kept is not None:
                self._kept.move_to_end(place)
        if kept is not None and _same(kept.version, version) and all(_same(lookup(*p.ref), p) for p in kept.parts):
            return kept
        made = compose(version, lookup)
        with self._lock:
            self._kept[place] = made
            while len(self._kept) > self._entries:
                self._kept.popitem(last=False)
        return made


def _same(one: TemplateVersion | None, other: TemplateVersion) -> bool:
    return one is other or one == other


PROGRAMS: Final = Programs()


def render(
    version: TemplateVersion,
    values: Mapping[str, Any],
    *,
    lookup: Lookup = no_parts,
    counter: TokenCounter | None = None,
    model: str | None = None,
    clock: Clock | None = None,
    programs: Programs = PROGRAMS,
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

    Raises:
        MissingVariablesError: required variables without a value.
        VariableTypeError: a value that its variable does not take.
        TemplateSyntaxError, UnknownPartialError, PartialCycleError, MacroError: the template cannot be read or run.
        TemplateLimitError, MacroLimitError: something is too long or too deep.
    """
    program = programs.get(version, lookup)
    reader = model or version.key.enhancer_model or version.key.target_model
    try:
        if program.undeclared:
            raise MissingVariablesError(program.undeclared, hint="declare the variables that the template uses")
        filled = fill(program.variables, values, counter, reader)
        text = _liquid(program, filled, clock) if version.syntax == "liquid" else _mustache(program, filled)
    except InputError as error:
        raise error.at(asset=version.name) from error.__cause__
    return RenderedTemplate(
        text=text,
        version_id=version.version_id,
        variables=filled.reports,
        parts=tuple([part.ref for part in program.parts]),
        ignored=filled.ignored,
        tokens=None if counter is None else counter.count(text, reader),
    )


def _mustache(program: Composed, filled: Filled) -> str:
    out: list[str] = []
    _emit(program.nodes, filled, out.append)
    return _bounded("".join(out) if sum(map(len, out)) <= MAX_RENDERED_CHARS else None)


def _emit(nodes: tuple[Node, ...], filled: Filled, put: Callable[[str], None]) -> None:
    """Put out a tree without partials and blocks."""
    texts, present = filled.texts, filled.present
    for node in nodes:
        if type(node) is str:
            put(node)
        elif type(node) is Use:
            put(texts.get(node.name, ""))
        elif type(node) is Section and (node.name in present) is not node.negated:
            _emit(node.nodes, filled, put)


def _bounded(text: str | None) -> str:
    if text is None:
        raise TemplateLimitError("the rendered text", limit="MAX_RENDERED_CHARS", allowed=MAX_RENDERED_CHARS)
    return text


def _liquid(program: Composed, filled: Filled, clock: Clock | None) -> str:
    from innkeeper.macros.liquid.engine import run
    from innkeeper.macros.liquid.session import LiquidSession

    session = LiquidSession(filled.data, None, True, clock=clock or Clock.at(EPOCH))  # noqa: FBT003 - strict
    return run(program.liquid, session)
