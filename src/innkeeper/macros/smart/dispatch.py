"""Dispatch: which macro a span between two marks is, told by its first word alone, in SmartTavern's order (`smarttavern.md` 4.2).

A comment, Python, ``setvar``, ``getvar``, a built-in macro, a macro of the caller's; any other span stays text. A macro's value
becomes text as Python writes it, and nothing for ``None``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from innkeeper.macros.engine.errors import MacroArgumentError, MacroError
from innkeeper.macros.smart.builtin_macros import BUILTINS, TIME_UTC
from innkeeper.macros.smart.environment import SmartEnvironment
from innkeeper.macros.smart.options import CustomMacro
from innkeeper.macros.smart.pieces import Inner
from innkeeper.macros.smart.python_macro import run_python
from innkeeper.prompt.errors import InnkeeperError, Where

__all__ = ["Handler", "handler_of", "longest_name", "macro_name", "text_of"]


def text_of(value: Any) -> str:
    """The text of a value. Raises `ValueError` for a whole number of more digits than Python writes."""
    return value if isinstance(value, str) else "" if value is None else str(value)


Place = Callable[[], Where | None]

Handler = Callable[[SmartEnvironment, Inner, Place], str]
"""What a macro does: its text, from the environment, what stands between its marks, and a way to ask where that is."""

FAILURES: Final = (InnkeeperError, ArithmeticError, LookupError, TypeError, ValueError)
"""What a built-in macro may fail with; it then leaves nothing."""

_PYTHON: Final = "python"
_SET: Final = "setvar"
_GET: Final = "getvar"
_LONGEST: Final = max(map(len, BUILTINS))


def longest_name(env: SmartEnvironment) -> int:
    """How many characters of a first word tell what it is."""
    return max((_LONGEST, *map(len, env.macros)))


def handler_of(word: str, follows: str, env: SmartEnvironment) -> Handler | None:
    """What a span does that begins with this word, or ``None`` when it is no macro. ``follows``: see `first_word`."""
    name = word.lower()
    if name == _PYTHON and follows == ":":
        return _python
    for prefix, handler in _PREFIXES:
        if name.startswith(prefix):
            return handler
    if follows == "?" or not name:
        return None
    found = _BUILTINS.get(name)
    return found or (_custom(name, env.macros[name]) if name in env.macros else None)


def macro_name(word: str) -> str:
    """What the macro is called whose span begins with this word."""
    name = word.lower()
    return next((prefix for prefix, _ in _PREFIXES if name.startswith(prefix)), name)


def _comment(env: SmartEnvironment, inner: Inner, place: Place) -> str:
    return ""


def _python(env: SmartEnvironment, inner: Inner, place: Place) -> str:
    return _attempt("python", env, place, lambda: run_python(env, inner))


def _set(env: SmartEnvironment, inner: Inner, place: Place) -> str:
    """``setvar``: what it cannot write is an error of the text, not an empty result."""
    rest = _behind_keyword(inner)
    name, value = rest.cut("::") or rest.cut(":") or (rest, None)
    env.write(name.text.strip(), "" if value is None else value.text, index_keys=True)
    return ""


def _get(env: SmartEnvironment, inner: Inner, place: Place) -> str:
    return _attempt("getvar", env, place, lambda: env.read(_behind_keyword(inner).text.strip()))


def _behind_keyword(inner: Inner) -> Inner:
    """What stands behind ``setvar`` or ``getvar``, without one colon or two."""
    rest = inner.behind(len(_SET)).stripped()
    return rest.behind(2 if rest.plain.startswith("::") else 1 if rest.plain.startswith(":") else 0)


def _builtin(name: str) -> Handler:
    run = BUILTINS[name]

    def handler(env: SmartEnvironment, inner: Inner, place: Place) -> str:
        return _attempt(name, env, place, lambda: run(env, inner))

    return handler


def _custom(name: str, run: CustomMacro) -> Handler:
    def handler(env: SmartEnvironment, inner: Inner, place: Place) -> str:
        return _attempt(name, env, place, lambda: _called(run, name, env, inner))

    return handler


def _called(run: CustomMacro, name: str, env: SmartEnvironment, inner: Inner) -> Any:
    """The text of a caller's macro, which may give a new table along with it: ``{"text": …, "variables": …}``."""
    try:
        result = run(name, inner.text.partition(":")[2], env)
    except Exception as error:
        msg = f"the macro {name!r} failed: {type(error).__name__}"
        raise MacroError(msg, macro=name) from error
    if not isinstance(result, Mapping):
        return result
    if isinstance(result.get("variables"), Mapping):
        env.replaced(result["variables"])
    return result.get("text")


def _attempt(name: str, env: SmartEnvironment, place: Place, run: Callable[[], Any]) -> str:
    """The text of what ``run`` gives; nothing, and a note, when it fails. What it did before stays done."""
    try:
        return text_of(run())
    except FAILURES as error:
        told = error if isinstance(error, InnkeeperError) else MacroArgumentError(f"{name}: {error}", macro=name)
        env.report(told, place)
        return ""


_BUILTINS: Final = {name: _builtin(name) for name in BUILTINS}
_PREFIXES: Final = (("//", _comment), (_SET, _set), (_GET, _get), (TIME_UTC, _BUILTINS[TIME_UTC]))
"""Macros that any word is which begins like this, in the order they are tried in."""
