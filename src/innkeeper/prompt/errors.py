"""Every error Innkeeper raises on purpose, as one tree.

::

    InnkeeperError                      exit code 1, HTTP 500
    ├── UsageError                      a caller's mistake: wrong type, unknown name (2, 400)
    │   ├── UnknownNameError            a registry has no such name; lists near ones
    │   └── ConfigError                 a step or runner configuration does not fit its schema
    ├── InputError                      outside data that cannot be read (65, 422)
    │   ├── FormatError                 not the format it claims to be: bad JSON, bad PNG, wrong shape
    │   ├── UnsupportedError            well-formed, but a version or feature we do not read
    │   └── LimitError                  larger or deeper than a named limit allows (65, 413);
    │                                   `AllowanceError` where a whole build is (innkeeper.prompt.allowance)
    ├── PipelineError                   a step failed; ``step`` names it, ``__cause__`` is the reason (70, 500)
    │   ├── StrictModeError             a warning, raised because ``strict`` is on (65, 422)
    │   └── MaxTokensExceededError      the prompt does not fit the window (65, 422)
    ├── ReplayError                     a replay bundle did not give the bytes it recorded (65, 409)
    ├── UnavailableError                something outside is missing: a file, model, server, library (69, 503)
    └── ProviderError                   a model provider answered with an error (69, 502)

Packages add subclasses for their own rules and draw them in their own docstrings. Every error knows *where*
(`Where`: asset, path inside it, line, column) and carries a *hint*: how to mend it. `InnkeeperError.render` is the
text for people, `InnkeeperError.to_dict` the same facts for JSON, HTTP and gRPC, ``exit_code`` and ``http_status`` the
numbers for shells and servers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import msgspec

from innkeeper.prompt.near import did_you_mean
from innkeeper.prompt.text import caret, escaped, plain, printable, redact, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable


class Where(msgspec.Struct, frozen=True, omit_defaults=True):
    """A place in something a user can open: all parts optional.

    ``asset`` is a name or file, ``path`` a JSON path such as ``data.tags[3]``, ``line`` and ``column`` count from 1,
    ``excerpt`` is the offending line (shortened by whoever makes it), ``cut`` how many characters of it are left out in front.
    """

    asset: str | None = None
    path: str | None = None
    line: int | None = None
    column: int | None = None
    excerpt: str | None = None
    cut: int = 0

    def __str__(self) -> str:
        """``asset:line:column: path``, without the parts that are not known."""
        location = ":".join(str(part) for part in (self.asset, self.line, self.column) if part is not None)
        return ": ".join(part for part in (location, self.path or "") if part)

    def before(self, message: str) -> str:
        """``message`` with the place in front, without a path that the message itself begins with."""
        path = self.path or ""
        again = path and message.startswith(path) and not message[len(path) : len(path) + 1].isidentifier()
        location = str(Where(self.asset, None, self.line, self.column) if again else self)
        return f"{location}: {message}" if location else message

    def pointer(self) -> str:
        """The excerpt's first line with a caret under the column, both as wide as a terminal shows them, or an empty text."""
        if self.excerpt is None:
            return ""
        line = redact(printable(self.excerpt.split("\n", 1)[0].rstrip("\r")))
        column = None if self.column is None else self.column - self.cut
        return line if column is None or not 0 < column <= len(line) + 1 else f"{line}\n{caret(line, column)}"


class InnkeeperError(Exception):
    """The root of the tree. ``message`` is one sentence; ``hint`` says how to mend it."""

    exit_code: int = 1
    http_status: int = 500
    HINT: ClassVar[str | None] = None
    """The default hint for errors of a class."""

    def __init__(self, message: str, *, where: Where | None = None, hint: str | None = None, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = self.HINT if hint is None else hint
        self.details: dict[str, Any] = details

    @property
    def kind(self) -> str:
        """The class name without ``Error`` in snake case: ``max_tokens_exceeded``."""
        name = type(self).__name__.removesuffix("Error")
        return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")

    def at(self, **fields: Any) -> Self:
        """Fill in parts of `Where` that are not known yet; returns the same error, for ``raise err.at(...)``.

        ``excerpt`` and ``cut`` belong together: they are taken only when neither is known.
        """
        known = {} if self.where is None else _known(self.where)
        if known.keys() & _EXCERPT_PARTS:
            fields = {name: value for name, value in fields.items() if name not in _EXCERPT_PARTS}
        self.where = Where(**{**fields, **known})
        return self

    def render(self) -> str:
        """The error as people read it: place, message, source line with a caret, hint.

        Safe to print: what does not print is shown as escapes, and secrets as asterisks.
        """
        lines = [str(self)]
        if self.where:
            lines += ["    " + line for line in self.where.pointer().split("\n") if line]
        if self.hint:
            lines.append(f"hint: {_shown(self.hint)}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The same facts as JSON-ready data: ``kind``, ``message``, and ``where``, ``hint``, ``details``, ``cause`` when known.

        ``cause`` is the `to_dict` of the error of this tree that led to this one. Any JSON writer takes the result.
        """
        facts = _facts(self)
        if isinstance(self.__cause__, InnkeeperError):
            facts["cause"] = _facts(self.__cause__)
        return facts

    def __str__(self) -> str:
        """The first part of `render`: place and message."""
        return _shown(self.where.before(self.message) if self.where else self.message)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy without calling ``__init__``, whose parameters differ from class to class."""
        return _restored, (type(self), self.args), self.__dict__


_EXCERPT_PARTS: Final = frozenset({"excerpt", "cut"})


def _known(where: Where) -> dict[str, Any]:
    facts = msgspec.structs.asdict(where)
    return {name: value for name, value in facts.items() if value is not None and (name != "cut" or value)}


def _facts(error: InnkeeperError) -> dict[str, Any]:
    facts: dict[str, Any] = {"kind": error.kind, "message": plain(error.message)}
    if error.where:
        facts["where"] = plain(_known(error.where))
    if error.hint:
        facts["hint"] = plain(error.hint)
    if error.details:
        facts["details"] = plain(error.details)
    return facts


def _shown(text: str) -> str:
    return redact(escaped(text))


def _restored(kind: type[InnkeeperError], args: tuple[Any, ...]) -> InnkeeperError:
    return kind.__new__(kind, *args)


class UsageError(InnkeeperError):
    """A caller's mistake: a wrong type, an argument that does not exist, a builder used twice."""

    exit_code = 2
    http_status = 400


_NAME_SHOWN: Final = 80
_NAMES_LISTED: Final = 40


class UnknownNameError(UsageError):
    """A name that no registry entry has. ``known`` lists what there is; the hint offers the nearest."""

    http_status = 404

    def __init__(self, what: str, name: str, known: Iterable[str] = (), **kwargs: Any) -> None:
        names, text = sorted(map(str, known)), shorten(str(name), _NAME_SHOWN)
        listed = ", ".join(names[:_NAMES_LISTED]) + (" …" if len(names) > _NAMES_LISTED else "")
        options = did_you_mean(text, names, f"known: {listed}" if names else None)
        super().__init__(f"unknown {what} {text!r}", hint=kwargs.pop("hint", options), **kwargs)
        self.name = name
        self.known = tuple(names)


class ConfigError(UsageError):
    """A configuration that does not fit its schema: an unknown key, a wrong type, a value out of range."""


class InputError(InnkeeperError):
    """Outside data (a file, a request, a reply) that cannot be used as it is."""

    exit_code = 65
    http_status = 422


class FormatError(InputError):
    """Data that is not in the format it claims: broken JSON, a truncated PNG, a list where an object must be."""


class UnsupportedError(InputError):
    """Well-formed data of a version or kind that Innkeeper does not read."""


class LimitError(InputError):
    """Data larger or deeper than a named limit. ``limit`` is its name, ``allowed`` and ``found`` its numbers.

    The sentence is made of them, with ``{allowed}`` in ``what`` it is that.
    """

    http_status = 413

    def __init__(self, what: str, *, limit: str, allowed: float, found: float | None = None, **kwargs: Any) -> None:
        size = f" of {allowed:,}" if found is None else f" ({found:,} > {allowed:,})"
        sentence = f"{what} exceeds the limit {limit}{size}"
        if "{allowed}" in what:
            sentence = what.replace("{allowed}", f"{allowed:,g}")
        super().__init__(sentence, limit=limit, allowed=allowed, found=found, **kwargs)
        self.limit = limit
        self.allowed = allowed
        self.found = found


class PipelineError(InnkeeperError):
    """A step failed. ``step`` is its name; ``__cause__`` the error it failed with."""

    exit_code = 70

    def __init__(self, message: str, *, step: str | None = None, **kwargs: Any) -> None:
        super().__init__(f"{message} (step: {step})" if step else message, **kwargs)
        self.step = step
        if step:
            self.details["step"] = step

    def render(self) -> str:
        """Render the cause: users need no names of steps and classes."""
        cause = self.__cause__
        return cause.render() if isinstance(cause, InnkeeperError) else super().render()


class StrictModeError(PipelineError):
    """A warning raised as an error because the build runs with ``strict=True``. Outside of a build it has no step."""

    exit_code = 65
    http_status = 422


class MaxTokensExceededError(PipelineError):
    """The blocks that may not be dropped do not fit: ``estimated_tokens`` > ``max_tokens`` - ``reserve_tokens``.

    ``max_tokens`` is the context window, ``reserve_tokens`` what is kept for the reply
    (2-wave4-contracts, *Failure mode*; the same parameters for trimming and for the guard step).
    """

    exit_code = 65
    http_status = 422

    def __init__(
        self, *, estimated_tokens: int, max_tokens: int, reserve_tokens: int = 0, step: str | None = None, **kwargs: Any
    ) -> None:
        limit = max(max_tokens - reserve_tokens, 0)
        kwargs.setdefault("hint", "shorten the protected blocks, raise the context window or lower the reserve")
        super().__init__(
            f"Prompt estimated tokens {estimated_tokens} exceeded limit {limit} "
            f"(max_tokens: {max_tokens}, reserve_tokens: {reserve_tokens})",
            step=step,
            estimated_tokens=estimated_tokens,
            max_tokens=max_tokens,
            reserve_tokens=reserve_tokens,
            limit_tokens=limit,
            **kwargs,
        )
        self.estimated_tokens = estimated_tokens
        self.max_tokens = max_tokens
        self.reserve_tokens = reserve_tokens
        self.limit_tokens = limit


class ReplayError(InnkeeperError):
    """A replay bundle cannot be rebuilt, or its rebuilt plan has other bytes than the recorded ones."""

    exit_code = 65
    http_status = 409


class UnavailableError(InnkeeperError):
    """Something outside is missing: an optional library, a model file, a server. The hint says how to get it."""

    exit_code = 69
    http_status = 503


class ProviderError(InnkeeperError):
    """A provider answered with an error or not at all. ``status`` is its HTTP status when there was one.

    ``origin`` is for the operator's log alone: the address, and what the connection said.
    """

    exit_code = 69
    http_status = 502
    origin: str = ""

    def __init__(self, message: str, *, status: int | None = None, **kwargs: Any) -> None:
        super().__init__(message, **kwargs)
        self.status = status
        if status is not None:
            self.details["status"] = status
