"""Publish: everything that can be wrong with a template, found before a label moves to it, and what changed in it.

Errors stop a publication; warnings do not. All of them are reported at once, with line and column where they have one. `diff`
compares two versions: text, variables, configuration, tokens.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

import msgspec

from innkeeper.library.errors import SAME_KEY, InvalidTemplateError
from innkeeper.library.limits import MAX_VARIABLES
from innkeeper.library.templates.partials import Composed, Lookup, compose, included, no_parts
from innkeeper.library.templates.postprocessing import PostProcessing
from innkeeper.library.templates.template import OPERATOR, PARTIAL, PRODUCTION, Labelled, TemplateVersion, Variable
from innkeeper.macros.engine.errors import MacroError, where_in
from innkeeper.macros.mustache import Included, Node, Section, VariableTag, parse, uses
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import InnkeeperError, LimitError, Where
from innkeeper.prompt.run.state import TokenCounter


class Severity(StrEnum):
    """Whether a problem stops a publication."""

    ERROR = "error"
    WARNING = "warning"


class TemplateProblem(msgspec.Struct, frozen=True):
    """One thing that is wrong. ``code`` is a word for programs: ``syntax``, ``undeclared``, ``unused``, ``ambiguous``."""

    code: str
    message: str
    severity: Severity = Severity.ERROR
    where: Where | None = None
    hint: str | None = None

    def __str__(self) -> str:
        """``place: message (code)``."""
        return f"{self.where.before(self.message) if self.where else self.message} ({self.code})"


class KeyCallers(msgspec.Struct, frozen=True):
    """Who calls a key: in words, with the variables that they are known to send (``sent``).

    What a template requires beyond that is an error, as is what it does not read; with ``force`` a warning.
    """

    sent: Mapping[str, frozenset[str]] = EMPTY
    force: bool = False


class TokenEstimate(msgspec.Struct, frozen=True):
    """The longest that a template can become, in tokens: its own text, and its variables at their caps, each time they occur.

    ``unbounded`` are variables without a cap, which are not part of ``total``.
    """

    text: int
    variables: int
    unbounded: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """Text and variables together."""
        return self.text + self.variables


_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")
_LIQUID_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]*")
_WORD: Final = re.compile(r"[A-Za-z_][\w\-]*")
_FENCE_TOKENS: Final = 16
"""What the two marks around a value that is set off may cost beside its name, twice."""


def problems_of(
    version: TemplateVersion,
    *,
    lookup: Lookup = no_parts,
    holders: Iterable[Labelled] = (),
    label: str = PRODUCTION,
    window: int | None = None,
    counter: TokenCounter | None = None,
    callers: KeyCallers | None = None,
) -> tuple[TemplateProblem, ...]:
    """Everything that is wrong with a version, were it to hold a label.

    Args:
        version: the template.
        lookup: finds its partials and parents.
        holders: the versions that hold labels now; another template with the same key under ``label`` is in the way.
        label: the label that it is to hold.
        window: the context window of the model that reads it, in tokens: with the variables at their caps and the answer at
            its full length it must fit. Not looked at where left out.
        counter: counts tokens; the default counter where left out.
        callers: who calls its key.
    """
    unfit = _unfit(version, callers or KeyCallers())
    problems = [*_facts(version), *_names(version), *unfit, *_ambiguities(version, holders, label)]
    try:
        program = compose(version, lookup)
        problems += _usage(version, program)
        problems += _lengths(version, program, window, counter)
        PostProcessing.of(version.metadata)
    except InnkeeperError as error:
        own = str(error.details.get("code") or error.kind)
        code = "limit" if isinstance(error, LimitError) else "syntax" if isinstance(error, MacroError) else own
        problems.append(TemplateProblem(code, error.message, where=error.where, hint=error.hint))
    return tuple(sorted(problems, key=lambda problem: (problem.severity, problem.code, problem.message)))


def require_publishable(version: TemplateVersion, **inputs: object) -> tuple[TemplateProblem, ...]:
    """The warnings of a version. The arguments are those of `problems_of`.

    Raises `InvalidTemplateError` with all problems where one of them is an error.
    """
    problems = problems_of(version, **inputs)  # type: ignore[arg-type]  # handed on as they came
    errors = [problem for problem in problems if problem.severity is Severity.ERROR]
    if errors:
        more = f" and {len(errors) - 1} more" if len(errors) > 1 else ""
        raise InvalidTemplateError(
            f"{version.name} version {version.version} may not be published: {errors[0]}{more}", problems=problems
        )
    return problems


def validator(**inputs: object) -> Callable[[TemplateVersion], object]:
    """`require_publishable` with its arguments, as `TemplateStore.move_label` takes it."""
    return lambda version: require_publishable(version, **inputs)


# ------------------------------------------------------------------------------------------------------------------ facts


def _facts(version: TemplateVersion) -> Iterator[TemplateProblem]:
    """What is wrong with name, key and budgets."""
    if not version.name.strip():
        yield TemplateProblem("name", "the template has no name")
    if not version.key.use_case.strip():
        yield TemplateProblem("use_case", "the template has no use case")
    if version.token_limit < 1:
        yield TemplateProblem("budget", f"token_limit is {version.token_limit}", hint="a budget is at least one token")
    if version.max_output_tokens is not None and version.max_output_tokens < 1:
        yield TemplateProblem("budget", f"max_output_tokens is {version.max_output_tokens}")
    if not version.system_prompt.strip() and version.extends is None:
        yield TemplateProblem("empty", "the template has no text and extends no other")
    repeated = [name for name, count in Counter(name for name, _ in version.partials).items() if count > 1]
    yield from (TemplateProblem("partials", f"{name!r} is pinned more than once") for name in repeated)


def _names(version: TemplateVersion) -> Iterator[TemplateProblem]:
    """What is wrong with the variables that it declares."""
    if len(version.variables) > MAX_VARIABLES:
        yield TemplateProblem("limit", f"more than {MAX_VARIABLES} variables")
    pattern = _LIQUID_NAME if version.syntax == "liquid" else _NAME
    for name, count in Counter(variable.name for variable in version.variables).items():
        if count > 1:
            yield TemplateProblem("declared_twice", f"{name} is declared more than once")
        if not pattern.fullmatch(name):
            yield TemplateProblem("name", f"{name!r} cannot be a variable's name")
    for variable in version.variables:
        if variable.max_tokens is not None and variable.max_tokens < 1:
            yield TemplateProblem("budget", f"max_tokens of {variable.name} is {variable.max_tokens}")


SUPPLIED: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {"enhancement": frozenset(), "character_suggestions": frozenset({"character_name"})}
)
"""The values that the service's own tasks always give to templates of a use case; for other use cases rows decide."""


def required(version: TemplateVersion) -> frozenset[str]:
    """The variables that a caller has to send."""
    needed = (var for var in version.variables if var.required and var.default is None and var.source != OPERATOR)
    return frozenset(variable.name for variable in needed)


def _unfit(version: TemplateVersion, callers: KeyCallers) -> Iterator[TemplateProblem]:
    """What those who call this key do not send and would fail by, and what they would send in vain."""
    severity = Severity.WARNING if callers.force else Severity.ERROR
    use_case, declared = version.key.use_case, {variable.name for variable in version.variables}
    own = {f"the task {use_case}": SUPPLIED[use_case]} if use_case in SUPPLIED else {}
    for who, sent in {**own, **callers.sent}.items():
        for name in sorted(required(version) - sent):
            message = f"{who} gives {name} no value, and would fail with this template"
            hint = "give it a default, do not require it, choose a use case of your own, or publish with --force"
            yield TemplateProblem("unsupplied", message, severity, hint=hint)
    for who, sent in callers.sent.items():
        for name in sorted(sent - declared):
            message = f"{who} gives {name} a value, which this template does not read"
            yield TemplateProblem("unread", message, severity, hint="declare it, or publish with --force")


def _ambiguities(version: TemplateVersion, holders: Iterable[Labelled], label: str) -> Iterator[TemplateProblem]:
    if version.key.use_case == PARTIAL:
        return
    for row in holders:
        other = row.version
        if row.label == label and other.template_id != version.template_id and other.key == version.key:
            message = f"{other.name!r} has the same key ({version.key}) under the label {label!r}"
            yield TemplateProblem("ambiguous", message, hint=SAME_KEY)


# ------------------------------------------------------------------------------------------------------------------ usage


def _usage(version: TemplateVersion, program: Composed) -> Iterator[TemplateProblem]:
    """Undeclared and unused variables and partials."""
    declared = {variable.name for variable in program.variables}
    used = _used(program)
    positions = _first_uses(version) if used.keys() - declared else {}
    for name in used:
        if name not in declared:
            where = where_in(version.system_prompt, positions[name], version.name) if name in positions else None
            hint = "declare it, or correct the name"
            yield TemplateProblem("undeclared", f"{name} is used and not declared", where=where, hint=hint)
    for variable in version.variables:
        if variable.name not in used:
            yield TemplateProblem("unused", f"{variable.name} is declared and not used", hint="take it out, or use it")
    for name in sorted(dict(version.partials).keys() - included(version)):
        yield TemplateProblem("unused", f"the partial {name!r} is pinned and not included")


def _used(program: Composed) -> dict[str, None]:
    """The names that a template uses, in the order of its text."""
    if program.version.syntax == "mustache":
        return dict.fromkeys(use.name for use in uses(program.nodes))
    from innkeeper.macros.liquid.templates import check, variables_used

    errors = check(program.liquid)
    if errors:
        raise errors[0]
    return dict.fromkeys(path.partition(".")[0] for path in variables_used(program.liquid))


def _first_uses(version: TemplateVersion) -> dict[str, int]:
    """Where each name is used first in a version's own text."""
    positions: dict[str, int] = {}
    if version.syntax == "mustache":
        for use in uses(parse(version.system_prompt, asset=version.name)):
            positions.setdefault(use.name, use.index)
    else:
        for word in _WORD.finditer(version.system_prompt):
            positions.setdefault(word[0], word.start())
    return positions


# ---------------------------------------------------------------------------------------------------------------- lengths


def worst_case(program: Composed, counter: TokenCounter | None = None, model: str | None = None) -> TokenEstimate:
    """The longest that a template can become, in tokens of ``model``."""
    if counter is None:
        from innkeeper.tokens import default_counter

        counter = default_counter()
    texts = [program.liquid] if program.version.syntax == "liquid" else list(_texts(program.nodes))
    uses_of = (use.name for use in uses(program.nodes) if isinstance(use, VariableTag))
    occurrences = Counter(_WORD.findall(program.liquid) if program.version.syntax == "liquid" else uses_of)
    declared = {variable.name: variable for variable in program.variables if occurrences.get(variable.name)}
    tokens = sum(occurrences[name] * _most(var, counter, model) for name, var in declared.items())
    unbounded = tuple(name for name, var in declared.items() if var.max_tokens is None and var.type == "text")
    return TokenEstimate(sum(counter.count(text, model) for text in texts), tokens, unbounded)


def _texts(nodes: tuple[Node, ...]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, str):
            yield node
        elif isinstance(node, (Section, Included)):
            yield from _texts(node.nodes)


def _most(variable: Variable, counter: TokenCounter, model: str | None) -> int:
    """The most tokens that one occurrence of a variable takes, as far as it is bounded."""
    fence = 2 * counter.count(variable.name, model) + _FENCE_TOKENS if variable.fence else 0
    return (variable.max_tokens or 0) + fence


def _lengths(
    version: TemplateVersion, program: Composed, window: int | None, counter: TokenCounter | None
) -> Iterator[TemplateProblem]:
    """Whether the longest it can become fits the window together with the answer."""
    if window is None:
        return
    model = version.key.reader
    estimate = worst_case(program, counter, model)
    answer = version.max_output_tokens or version.token_limit
    if estimate.total + answer > window:
        message = f"{estimate.total} tokens at most and {answer} for the answer do not fit a window of {window}"
        yield TemplateProblem("too_long", message, hint="shorten the text, or give variables a smaller max_tokens")
    for name in estimate.unbounded:
        message = f"{name} has no max_tokens, so nothing says that the text fits a window of {window}"
        yield TemplateProblem("unbounded", message, Severity.WARNING)


_CONFIG: Final = ("key", "syntax", "token_limit", "max_output_tokens", "provider", "partials", "extends", "metadata")
_LINES: Final = 5_000
"""Of longer texts only the beginnings are compared line by line."""


class Change(msgspec.Struct, frozen=True):
    """One field that differs. None is: not there."""

    path: str
    before: Any
    after: Any


class VersionDiff(msgspec.Struct, frozen=True, kw_only=True):
    """What changed from one version to another. ``text`` is a unified diff, one line an item; empty where texts are equal."""

    before: str
    after: str
    text: tuple[str, ...] = ()
    variables: tuple[Change, ...] = ()
    config: tuple[Change, ...] = ()
    tokens_before: int = 0
    tokens_after: int = 0

    @property
    def tokens(self) -> int:
        """How many tokens longer the text became; below 0 where it is shorter."""
        return self.tokens_after - self.tokens_before

    @property
    def same(self) -> bool:
        """Whether both render to the same from the same values."""
        return not (self.text or self.variables or self.config)


def diff(
    before: TemplateVersion, after: TemplateVersion, *, counter: TokenCounter | None = None, model: str | None = None
) -> VersionDiff:
    """Compare two versions. Tokens are counted for ``model``, or else for the enhancer of the later version."""
    if counter is None:
        from innkeeper.tokens import default_counter

        counter = default_counter()
    reader = model or after.key.reader
    return VersionDiff(
        before=before.version_id,
        after=after.version_id,
        text=_lines(before, after),
        variables=tuple(_variable_changes(before.variables, after.variables)),
        config=tuple(_config_changes(before, after)),
        tokens_before=counter.count(before.system_prompt, reader),
        tokens_after=counter.count(after.system_prompt, reader),
    )


def _lines(before: TemplateVersion, after: TemplateVersion) -> tuple[str, ...]:
    one, other = (version.system_prompt.split("\n") for version in (before, after))
    names = [f"{version.name}@{version.version}" for version in (before, after)]
    lines = tuple(difflib.unified_diff(one[:_LINES], other[:_LINES], names[0], names[1], lineterm="", n=2))
    if not lines and one != other:
        return (f"beyond line {_LINES}: different",)
    return lines


def _variable_changes(before: tuple[Variable, ...], after: tuple[Variable, ...]) -> list[Change]:
    one, other = ({variable.name: msgspec.to_builtins(variable) for variable in side} for side in (before, after))
    return [
        Change(name, one.get(name), other.get(name))
        for name in sorted(one.keys() | other.keys())
        if one.get(name) != other.get(name)
    ]


def _config_changes(before: TemplateVersion, after: TemplateVersion) -> list[Change]:
    one, other = (_flat(version) for version in (before, after))
    return [
        Change(path, one.get(path), other.get(path))
        for path in sorted(one.keys() | other.keys())
        if one.get(path) != other.get(path)
    ]


def _flat(version: TemplateVersion) -> dict[str, Any]:
    """The configuration with a path for each field; objects are taken apart once."""
    flat: dict[str, Any] = {}
    for name in _CONFIG:
        value = msgspec.to_builtins(getattr(version, name))
        flat |= {f"{name}.{key}": item for key, item in value.items()} if isinstance(value, dict) else {name: value}
    return flat
