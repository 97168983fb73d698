"""Composed: a template with its partials and the template that it extends put in, so that nothing is left to look up.

Both are pinned by name and version. A template that extends another is that other one, with the blocks (``{{$name}}``) that it
brings in place of the other's; besides blocks it holds no text. Without any text it takes the other's as it is, and only has its
own key, variables and budgets. What a template takes in may not be of a higher tier than itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from innkeeper.library.errors import InvalidTemplateError
from innkeeper.library.limits import MAX_PART_DEPTH, MAX_PARTS
from innkeeper.library.templates.template import PartRef, TemplateVersion, Variable
from innkeeper.macros.engine.errors import MacroLimitError, MacroSyntaxError, where_in
from innkeeper.macros.mustache import (
    MAX_SECTION_DEPTH,
    MAX_TAGS,
    MAX_TEMPLATE_CHARS,
    BlockTag,
    Included,
    Node,
    PartialTag,
    Section,
    check_size,
    parse,
    uses,
)
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import Where

Lookup = Callable[[str, int], TemplateVersion | None]
"""Finds a version by name and number, `Catalogue.version` for one."""

_LIQUID_PART: Final = re.compile(r"\{\{>\s*([^\s{}<>]+)\s*\}\}")


def no_parts(_name: str, _version: int) -> TemplateVersion | None:
    """A lookup that finds nothing."""
    return None


@dataclass(frozen=True, slots=True)
class Composed:
    """A template ready to render: its tree (mustache) or its text (Liquid), all variables, and all it took in."""

    version: TemplateVersion
    nodes: tuple[Node, ...]
    liquid: str
    variables: tuple[Variable, ...]
    parts: tuple[TemplateVersion, ...]
    undeclared: tuple[str, ...] = ()
    """Names that its tree uses and that no part declares."""


@dataclass(slots=True)
class _Composition:
    """One composition: the parts met so far, and how much of the limits is used up."""

    lookup: Lookup
    parts: dict[PartRef, TemplateVersion] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    trees: dict[PartRef, tuple[Node, ...]] = field(default_factory=dict)
    inclusions: int = 0
    tags: int = 0
    chars: int = 0

    def take(self, version: TemplateVersion) -> None:
        """Note a template that is part of the result; variables of those met first count."""
        for variable in version.variables:
            self.variables.setdefault(variable.name, variable)

    def tree(self, version: TemplateVersion) -> tuple[Node, ...]:
        """The tree of a version, read once."""
        if version.ref not in self.trees:
            self.trees[version.ref] = parse(version.system_prompt, asset=version.name)
        return self.trees[version.ref]

    def charge(self, node: Node) -> None:
        """Count what one node adds."""
        if isinstance(node, str):
            self.chars += len(node)
            _within("the text of a template with its parts", "MAX_TEMPLATE_CHARS", MAX_TEMPLATE_CHARS, self.chars)
        else:
            self.tags += 1
            _within("the tags of a template with its parts", "MAX_TAGS", MAX_TAGS, self.tags)


def compose(version: TemplateVersion, lookup: Lookup = no_parts) -> Composed:
    """A template with everything it includes and extends put in.

    Raises:
        InvalidTemplateError: a part that is not pinned, not there, of another syntax, or of a higher tier; parts in a circle.
        MacroSyntaxError: a part that cannot be read, or text outside of blocks in one that extends another.
        MacroLimitError: too long, too deep, or too many parts.
    """
    work = _Composition(lookup)
    if version.syntax == "liquid":
        text = _liquid(version, work, (version,))
        nodes: tuple[Node, ...] = ()
    else:
        text, nodes = "", tuple(_merged(_body(version, work, (version,))))
    unknown = dict.fromkeys(use.name for use in uses(nodes) if use.name not in work.variables)
    return Composed(version, nodes, text, tuple(work.variables.values()), tuple(work.parts.values()), tuple(unknown))


# ---------------------------------------------------------------------------------------------------------------- finding

_Chain = tuple[TemplateVersion, ...]
"""The templates that lead to a part, outermost first."""


def _part(name: str, number: int, work: _Composition, chain: _Chain) -> TemplateVersion:
    by = chain[-1]
    if any(above.ref == (name, number) for above in chain):
        way = [*(above.name for above in chain), name]
        circle = way[way.index(name) :]
        message, hint = f"templates in a circle: {' → '.join(circle)}", "take one of them out of the circle"
        raise InvalidTemplateError(message, hint=hint, code="partial_cycle", chain=circle).at(asset=by.name)
    _within("the parts inside one another", "MAX_PART_DEPTH", MAX_PART_DEPTH, len(chain))
    version = work.lookup(name, number)
    if version is None:
        hint = "partials and parents are pinned by name and version; check both"
        raise _unknown(f"there is no template {name!r} version {number}", hint).at(asset=by.name)
    if version.key.content_mode.rank > by.key.content_mode.rank:
        hint = "a template takes in only templates of its own tier or a lower one"
        raise _unknown(f"{name!r} is of a higher tier", hint).at(asset=by.name)
    if version.syntax != by.syntax:
        hint = "write both in the same syntax"
        raise _unknown(f"{name!r} is written in {version.syntax}", hint).at(asset=by.name)
    work.parts[version.ref] = version
    return version


def _included(name: str, index: int, work: _Composition, chain: _Chain) -> TemplateVersion:
    """The partial of a ``{{>name}}`` in the last template of the chain."""
    by = chain[-1]
    work.inclusions += 1
    _within("the parts of a template", "MAX_PARTS", MAX_PARTS, work.inclusions)
    pinned = dict(by.partials)
    where = where_in(by.system_prompt, index)
    if name not in pinned:
        hint = f"add it to the partials of {by.name}, with its version"
        raise _unknown(f"{name!r} is not pinned", hint, where).at(asset=by.name)
    return _part(name, pinned[name], work, chain)


def _unknown(message: str, hint: str, where: Where | None = None) -> InvalidTemplateError:
    return InvalidTemplateError(message, where=where, hint=hint, code="unknown_partial")


def _within(what: str, limit: str, allowed: int, size: int) -> None:
    if size > allowed:
        raise MacroLimitError(what, limit=limit, allowed=allowed, found=size)


# --------------------------------------------------------------------------------------------------------------- mustache

_Blocks = Mapping[str, tuple[BlockTag, _Chain]]
"""Blocks that replace others, with the chain of the template that brings them."""


def _body(
    version: TemplateVersion, work: _Composition, chain: _Chain, blocks: _Blocks = EMPTY, depth: int = 0
) -> list[Node]:
    """The tree of a version with ``blocks`` put in, or that of the one it extends with its own blocks."""
    work.take(version)
    nodes = work.tree(version)
    if version.extends is None:
        return _placed(nodes, work, chain, blocks, depth)
    own = {block.name: (block, chain) for block in _only_blocks(nodes, version)}
    parent = _part(*version.extends, work, chain)
    return _text_of(parent, _body(parent, work, (*chain, parent), {**own, **blocks}, depth))


def _text_of(version: TemplateVersion, nodes: Iterable[Node]) -> list[Node]:
    """A tree that is another template's, as one node that says so; nothing where it is empty."""
    merged = tuple(_merged(nodes))
    return [Included(version.name, version.version, merged)] if merged else []


def _only_blocks(nodes: Iterable[Node], version: TemplateVersion) -> list[BlockTag]:
    blocks = []
    for node in nodes:
        if isinstance(node, BlockTag):
            blocks.append(node)
        elif not isinstance(node, str) or node.strip():
            index = version.system_prompt.find(node.strip()) if isinstance(node, str) else getattr(node, "index", 0)
            hint = "a template that extends another holds blocks only: {{$name}}…{{/name}}"
            where = where_in(version.system_prompt, index, version.name)
            raise MacroSyntaxError("text outside of a block", where=where, hint=hint)
    return blocks


def _placed(nodes: Iterable[Node], work: _Composition, chain: _Chain, blocks: _Blocks, depth: int) -> list[Node]:
    """A tree without partials and blocks."""
    _within("the nesting of a template with its parts", "MAX_SECTION_DEPTH", MAX_SECTION_DEPTH, depth)
    done: list[Node] = []
    for node in nodes:
        work.charge(node)
        if isinstance(node, PartialTag):
            included = _included(node.name, node.index, work, chain)
            done += _text_of(included, _body(included, work, (*chain, included), depth=depth))
        elif isinstance(node, BlockTag):
            block, by = blocks.get(node.name, (node, chain))
            others = {name: placed for name, placed in blocks.items() if name != node.name}
            body = _placed(block.nodes, work, by, others, depth + 1)
            done += body if by is chain else _text_of(by[-1], body)
        elif isinstance(node, Section):
            below = _placed(node.nodes, work, chain, blocks, depth + 1)
            done.append(Section(node.name, node.negated, tuple(_merged(below)), node.index))
        else:
            done.append(node)
    return done


def _merged(nodes: Iterable[Node]) -> list[Node]:
    """Neighbouring texts as one."""
    done: list[Node] = []
    for node in nodes:
        if isinstance(node, str) and done and isinstance(done[-1], str):
            done[-1] += node
        else:
            done.append(node)
    return done


# ----------------------------------------------------------------------------------------------------------------- Liquid


def _liquid(version: TemplateVersion, work: _Composition, chain: _Chain) -> str:
    """The text of a Liquid template with its partials; one that extends another is that other."""
    check_size(version.system_prompt, version.name)
    work.take(version)
    if version.extends is not None:
        if version.system_prompt.strip():
            hint = "a Liquid template that extends another has no text of its own; share a partial instead"
            where = where_in(version.system_prompt, 0, version.name)
            raise MacroSyntaxError("text beside that of the extended template", where=where, hint=hint)
        parent = _part(*version.extends, work, chain)
        return _liquid(parent, work, (*chain, parent))
    done, position = [], 0
    for match in _LIQUID_PART.finditer(version.system_prompt):
        partial = _included(match[1], match.start(), work, chain)
        done += [version.system_prompt[position : match.start()], _liquid(partial, work, (*chain, partial))]
        position = match.end()
    text = "".join([*done, version.system_prompt[position:]])
    work.charge(text)
    return text


# ----------------------------------------------------------------------------------------------------------------- impact


def included(version: TemplateVersion) -> frozenset[str]:
    """The names that a version's own text includes. Raises what `parse` raises."""
    if version.syntax == "liquid":
        return frozenset(match[1] for match in _LIQUID_PART.finditer(version.system_prompt))
    names, waiting = set(), list(parse(version.system_prompt, asset=version.name))
    while waiting:
        node = waiting.pop()
        if isinstance(node, PartialTag):
            names.add(node.name)
        elif isinstance(node, (Section, BlockTag)):
            waiting += node.nodes
    return frozenset(names)


def impact(name: str, versions: Iterable[TemplateVersion], number: int | None = None) -> tuple[TemplateVersion, ...]:
    """The versions that take in a template (one version of it, where ``number`` is given), themselves or by others.

    In the order of their names: who changes a partial sees here what else will want a new version.
    """
    known = {version.ref: version for version in versions}
    users: dict[PartRef, list[PartRef]] = {}
    for version in known.values():
        for ref in version.pins:
            users.setdefault(ref, []).append(version.ref)
    references: set[PartRef] = set()
    waiting = [ref for ref in users if ref[0] == name and number in (None, ref[1])]
    while waiting:
        for user in users.get(waiting.pop(), ()):
            if user not in references:
                references.add(user)
                waiting.append(user)
    return tuple(known[ref] for ref in sorted(references))
