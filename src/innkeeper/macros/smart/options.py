"""Options and limits of smart macros: profile, depth, and how much an expansion may take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableSequence, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import msgspec

from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.determinism import EPOCH, Randomness, RandomStream
from innkeeper.prompt.errors import FormatError
from innkeeper.prompt.text import kind_of

if TYPE_CHECKING:
    from innkeeper.macros.smart.environment import SmartEnvironment


MAX_REPLACEMENTS: Final = 10_000
"""Macros replaced in one text where values are scanned again, as SmartTavern has it (a note; the rest stays as text)."""

MAX_MACROS: Final = 200_000
"""Macros replaced in one text where values are not scanned again (a note; the rest stays as text)."""

MAX_RUN_OUTPUT: Final = 32 * 1024 * 1024
"""Characters that the macros of one run may produce, over all its texts (a note; the rest stays as text)."""

MAX_PYTHON_WORK: Final = 20_000_000
"""The work of all ``{{python:…}}`` of one run, as the sandbox counts it, and 10 for each character of code
(`MacroLimitError`; those after it leave nothing)."""

MAX_PYTHON_SECONDS: Final = 1.0
"""Processor seconds of all regular expressions of ``{{python:…}}`` in one run (`AllowanceError`: they end the build)."""

MAX_TABLE: Final = 32 * 1024 * 1024
"""The size of all values of one run: those given, and those written; characters plus 8 for each item (`MacroLimitError`)."""

MAX_DEPTH: Final = 200
"""Containers inside one another in a table of variables (`MacroLimitError`)."""

MAX_PATH_CHARS: Final = 4096
"""Characters of a variable's path (`MacroLimitError`)."""

MAX_PATH_PARTS: Final = 64
"""Keys and indexes of a variable's path (`MacroLimitError`)."""

MAX_FORMAT_CHARS: Final = 1_000
"""The format of ``{{datetimeformat}}`` (`MacroLimitError`)."""

MAX_PARENTHESES: Final = 50
"""Nested parentheses in a keyword expression (no error: deeper ones never match)."""

CACHED_KEYWORDS: Final = 4096
"""Parsed keyword tests in the cache; the least recently used are dropped first."""

CACHED_KEYWORD_CHARS: Final = 4096
"""Longer keyword tests are parsed each time instead of being cached."""


class MacroCompat(msgspec.Struct, frozen=True, kw_only=True):
    """A field is true where SmartTavern's behaviour is preserved."""

    rescan_values: bool = False
    """What a macro produced is scanned again, so a variable's text can run macros (`smarttavern-notes.md` 1), and is put into
    ``{{python:…}}`` as code. Off: it is data; in ``{{python:…}}`` it is a number or a part of a string, never code."""

    shared_initial: bool = False
    """``variables.initial`` shows writes below its top level, as a shallow copy does (`smarttavern-notes.md` 2-5). Off: it is
    what the variables were."""

    search_placeholder: bool = False
    """Without a history, keywords are searched in the placeholder ``[UndefinedVar:chat_history_text]``
    (`smarttavern-notes.md` 2-7). Off: none is found."""

    functions_as_objects: bool = False
    """A function that ``{{python:setvar(…)}}`` stores becomes an empty object, as in the original's replies
    (`smarttavern-notes.md` 1). Off: it is refused, with a note."""


SMARTTAVERN: Final = MacroCompat(
    rescan_values=True, shared_initial=True, search_placeholder=True, functions_as_objects=True
)
"""The original's behaviour, for ``--profile smarttavern`` and parity."""

FIXED: Final = MacroCompat()


class Policy(msgspec.Struct, frozen=True):
    """``undefined_get`` is ``error`` (a placeholder, made from ``error_token``) or anything else (an empty text)."""

    undefined_get: str = "error"
    error_token: str = "[UndefinedVar:{name}]"  # noqa: S105 - a placeholder, no secret

    @classmethod
    def of(cls, fields: Mapping[str, Any] | None) -> Policy:
        """The policy of a request; what is no text counts by its text. Raises `FormatError` when it is no object."""
        if fields is None:
            return cls()
        if not isinstance(fields, Mapping):
            raise FormatError(f"policy must be an object, not {kind_of(fields)}")
        texts = {name: str(fields[name]) for name in cls.__struct_fields__ if name in fields}
        return cls(**texts)

    def undefined(self, name: str) -> str:
        """Return the replacement of an undefined variable."""
        return self.error_token.replace("{name}", name) if self.undefined_get.lower() == "error" else ""


_T = TypeVar("_T")


class Chance(Protocol):
    """The source of randomness for macros. Python's own ``random.Random`` fits."""

    def random(self) -> float:
        """A number in [0, 1)."""
        ...

    def randint(self, a: int, b: int) -> int:
        """A whole number from ``a`` to ``b``, both included. Raises `ValueError` when there is none."""
        ...

    def choice(self, seq: Sequence[_T]) -> _T:
        """One of ``seq``. Raises `IndexError` when it is empty."""
        ...

    def shuffle(self, x: MutableSequence[Any]) -> None:
        """Put ``x`` into another order, in place."""
        ...


class StreamChance:
    """`Chance` over a stream of the house. Ranges beyond 2**32 are drawn with that many different results."""

    __slots__ = ("_stream",)

    def __init__(self, stream: RandomStream) -> None:
        self._stream = stream

    def random(self) -> float:
        """The stream's next number."""
        return self._stream.random()

    def randint(self, a: int, b: int) -> int:
        """A whole number from ``a`` to ``b``, both included. Raises `ValueError` when there is none."""
        width = b - a + 1
        if width < 1:
            msg = f"there is no whole number from {a} to {b}"
            raise ValueError(msg)
        return a + int(self._stream.random() * 2**32) * width // 2**32

    def choice(self, seq: Sequence[_T]) -> _T:
        """One of ``seq``. Raises `IndexError` when it is empty."""
        if not len(seq):
            msg = "there is nothing to choose from"
            raise IndexError(msg)
        return seq[self.randint(0, len(seq) - 1)]

    def shuffle(self, x: MutableSequence[Any]) -> None:
        """Put ``x`` into another order, in place."""
        for last in range(len(x) - 1, 0, -1):
            other = self.randint(0, last)
            x[last], x[other] = x[other], x[last]


def seeded(seed: int) -> StreamChance:
    """The chance of a seed; equal on every platform and in every process."""
    return StreamChance(Randomness(seed).stream("smart-macros"))


CustomMacro = Callable[[str, str, "SmartEnvironment"], Any]
"""A macro of the caller's: called with its name (lower case), what follows the first colon, and the environment; returns the
value whose text it stands for (``None``: nothing). A raised error leaves nothing in its place and a note."""


class MacroOptions(msgspec.Struct, frozen=True, kw_only=True):
    """One run's options.

    ``python`` off leaves every ``{{python:…}}`` without a result, with a note. ``now`` is the moment that time macros tell,
    in the zone they tell it in (1970-01-01 UTC unless given). ``random`` is what is drawn from; ``None``: a stream of
    ``seed``, anew for each run. ``macros`` are further ones by name (compared in lower case); built-in ones win.
    """

    compat: MacroCompat = FIXED
    python: bool = True
    now: datetime = EPOCH
    random: Chance | None = None
    seed: int = 0
    macros: Mapping[str, CustomMacro] = EMPTY

    def chance(self) -> Chance:
        """The source of randomness of a run."""
        return seeded(self.seed) if self.random is None else self.random
