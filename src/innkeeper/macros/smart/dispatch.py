"""Dispatch: which macro a name means, built in, registered or a variable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from innkeeper.macros.engine.errors import MacroArgumentError, MacroError, MacroLimitError
from innkeeper.macros.smart import helpers, keywords
from innkeeper.macros.smart.environment import SmartEnvironment, plain_text
from innkeeper.macros.smart.options import MAX_FORMAT_CHARS, CustomMacro
from innkeeper.macros.smart.pieces import Inner
from innkeeper.macros.smart.python_macro import run_python
from innkeeper.prompt.allowance import AllowanceError, charge
from innkeeper.prompt.errors import InnkeeperError, Where

Builtin = Callable[[SmartEnvironment, Inner], Any]
"""A macro: its value, from the environment and all that stands between its marks."""

TIME_UTC: Final = "time_utc"
"""The macro whose name goes on: ``{{time_UTC+8}}``."""

_DEFAULT_DICE: Final = "1d6"
_DEFAULT_FORMAT: Final = "%Y-%m-%d %H:%M:%S"
_VARIABLES: Final = {
    "user": "user_name",
    "char": "character_name",
    "description": "character_description",
    "personality": "character_personality",
    "scenario": "scenario_description",
    "persona": "persona_description",
    "input": "user_input_text",
    "lastmessage": "chat_last_message",
    "lastusermessage": "chat_last_user_message",
    "lastcharmessage": "chat_last_assistant_message",
    "messagecount": "chat_message_count",
    "usermessagecount": "chat_user_message_count",
    "conversationlength": "chat_conversation_length",
}


def _params(inner: Inner) -> Inner:
    """Return the text after the first colon, leading blank space included."""
    parts = inner.cut(":")
    return Inner("", "") if parts is None else parts[1]


def _split(text: str) -> list[str]:
    """Split a list as macros write them: at ``::`` if there is one, else at commas."""
    charge("macros", len(text))
    return [part.strip() for part in text.split("::" if "::" in text else ",")]


def _pair(params: Inner, missing: str) -> tuple[str, str]:
    """The first two parts of a list; a separator in a value does not count."""
    separator = "::" if "::" in params.plain else ","
    parts = params.cut(separator)
    if parts is None:
        return params.text.strip(), missing
    second = parts[1].cut(separator)
    return parts[0].text.strip(), (parts[1] if second is None else second[0]).text.strip()


def _fixed(text: str) -> Builtin:
    return lambda _env, _inner: text


def _variable(path: str) -> Builtin:
    return lambda env, _inner: env.read(path)


def _on_text(run: Callable[[str], Any]) -> Builtin:
    return lambda _env, inner: run(_params(inner).text)


def _on_numbers(run: Callable[[float, float], float]) -> Builtin:
    def macro(_env: SmartEnvironment, inner: Inner) -> float:
        first, second = (*_split(_params(inner).text), "")[:2]
        return run(helpers.num(first), helpers.num(second))

    return macro


def _moment(pattern: str) -> Builtin:
    return lambda env, _inner: helpers.moment_text(env.options.now, pattern)


def _formatted(env: SmartEnvironment, inner: Inner) -> str:
    pattern = _params(inner).text or _DEFAULT_FORMAT
    if len(pattern) > MAX_FORMAT_CHARS:
        raise MacroLimitError("a format", limit="MAX_FORMAT_CHARS", allowed=MAX_FORMAT_CHARS, found=len(pattern))
    charge("macros", len(pattern) * helpers.FORMAT_STEPS)
    return helpers.moment_text(env.options.now, pattern)


def _shifted(env: SmartEnvironment, inner: Inner) -> str:
    """The local time, some hours later: what follows the name is not taken from UTC."""
    name = inner.text.partition(":")[0]
    return helpers.shifted_time(env.options.now, helpers.utc_offset(name[len(TIME_UTC) :]))


def _chosen(env: SmartEnvironment, inner: Inner) -> str:
    return env.chance.choice(_split(_params(inner).text))


def _thrown(env: SmartEnvironment, inner: Inner) -> str:
    charge("macros", helpers.DICE_STEPS)
    return helpers.roll(_params(inner).text.strip() or _DEFAULT_DICE, env.chance)


def _set(env: SmartEnvironment, inner: Inner) -> None:
    params = _params(inner)
    parts = params.cut("::" if "::" in params.plain else ":")
    name, value = (params.text, "") if parts is None else (parts[0].text, parts[1].text)
    env.write(name.strip(), value)


def _added(env: SmartEnvironment, inner: Inner) -> None:
    name, value = _pair(_params(inner), "0")
    env.write(name, helpers.added(env.read(name), value))


def _stepped(step: int) -> Builtin:
    def macro(env: SmartEnvironment, inner: Inner) -> None:
        name = _params(inner).text.strip()
        env.write(name, helpers.stepped(env.read(name), step))

    return macro


BUILTINS: Final[Mapping[str, Builtin]] = MappingProxyType(
    {
        "newline": _fixed("\n"),
        "noop": _fixed(""),
        "trim": _fixed(""),
        "enable": _fixed("True"),
        "timediff": _fixed(""),
        **{name: _variable(path) for name, path in _VARIABLES.items()},
        "random": _chosen,
        "pick": _chosen,
        "roll": _thrown,
        "add": _on_numbers(lambda a, b: a + b),
        "sub": _on_numbers(lambda a, b: a - b),
        "mul": _on_numbers(lambda a, b: a * b),
        "div": _on_numbers(lambda a, b: a / b if b else 0.0),
        "max": _on_numbers(max),
        "min": _on_numbers(min),
        "upper": _on_text(str.upper),
        "lower": _on_text(str.lower),
        "length": _on_text(len),
        "reverse": _on_text(lambda text: text[::-1]),
        "time": _moment("%H:%M:%S"),
        "isotime": _moment("%H:%M:%S"),
        "date": _moment("%Y-%m-%d"),
        "isodate": _moment("%Y-%m-%d"),
        "weekday": lambda env, _inner: helpers.weekday_cn(env.options.now),
        "datetimeformat": _formatted,
        TIME_UTC: _shifted,
        "keywords": lambda env, inner: "true" if keywords.parse(_params(inner).text).matches(env.has) else "false",
        "getglobalvar": lambda env, inner: env.read(_params(inner).text.strip()),
        "setglobalvar": _set,
        "addvar": _added,
        "addglobalvar": _added,
        "incvar": _stepped(1),
        "incglobalvar": _stepped(1),
        "decvar": _stepped(-1),
        "decglobalvar": _stepped(-1),
    }
)
"""Every built-in macro by name."""


def text_of(value: Any) -> str:
    """The text of a value. Raises `ValueError` for a whole number of more digits than Python writes."""
    return value if isinstance(value, str) else "" if value is None else plain_text(value)


Locate = Callable[[], Where | None]

Handler = Callable[[SmartEnvironment, Inner, Locate], str]
"""The function of a macro: returns its text from the environment, the text between its marks, and a way to ask its position."""

FAILURES: Final = (InnkeeperError, ArithmeticError, LookupError, TypeError, ValueError)
"""Errors with which a built-in macro may fail; it then leaves nothing."""

_PYTHON: Final = "python"
_SET: Final = "setvar"
_GET: Final = "getvar"
_LONGEST: Final = max(map(len, BUILTINS))


def longest_name(env: SmartEnvironment) -> int:
    """The length of the longest first word that identifies a macro."""
    return max((_LONGEST, *map(len, env.macros)))


def handler_of(word: str, follows: str, env: SmartEnvironment) -> Handler | None:
    """Return the handler of a span that begins with this word, or ``None`` if it is no macro. ``follows``: see `first_word`."""
    name = word.lower()
    if name == _PYTHON and follows == ":":
        return _python
    for prefix, handler in _PREFIXES:
        if name.startswith(prefix):
            return handler
    if follows == "?" or not name:
        return None
    builtin = _BUILTINS.get(name)
    return builtin or (_custom(name, env.macros[name]) if name in env.macros else None)


def macro_name(word: str) -> str:
    """Return the name of the macro whose span begins with this word."""
    name = word.lower()
    return next((prefix for prefix, _ in _PREFIXES if name.startswith(prefix)), name)


def _python(env: SmartEnvironment, inner: Inner, locate: Locate) -> str:
    return _attempt("python", env, locate, lambda: run_python(env, inner))


def _dispatch_set(env: SmartEnvironment, inner: Inner, locate: Locate) -> str:
    """``setvar``: what it cannot write is an error of the text, not an empty result."""
    rest = _behind_keyword(inner)
    name, value = rest.cut("::") or rest.cut(":") or (rest, None)
    env.write(name.text.strip(), "" if value is None else value.text, index_keys=True)
    return ""


def _dispatch_get(env: SmartEnvironment, inner: Inner, locate: Locate) -> str:
    return _attempt("getvar", env, locate, lambda: env.read(_behind_keyword(inner).text.strip()))


def _behind_keyword(inner: Inner) -> Inner:
    """Return the text after ``setvar`` or ``getvar``, without one colon or two."""
    rest = inner.behind(len(_SET)).stripped()
    return rest.behind(2 if rest.plain.startswith("::") else 1 if rest.plain.startswith(":") else 0)


def _builtin(name: str) -> Handler:
    run = BUILTINS[name]

    def handler(env: SmartEnvironment, inner: Inner, locate: Locate) -> str:
        return _attempt(name, env, locate, lambda: run(env, inner))

    return handler


def _custom(name: str, run: CustomMacro) -> Handler:
    def handler(env: SmartEnvironment, inner: Inner, locate: Locate) -> str:
        return _attempt(name, env, locate, lambda: _called(run, name, env, inner))

    return handler


def _called(run: CustomMacro, name: str, env: SmartEnvironment, inner: Inner) -> Any:
    """The text of a caller's macro, which may give a new table along with it: ``{"text": …, "variables": …}``."""
    env.settle()
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


def _attempt(name: str, env: SmartEnvironment, locate: Locate, run: Callable[[], Any]) -> str:
    """Return the text of the result of ``run``; nothing, and a note, if it fails. Its side effects stay."""
    try:
        return text_of(run())
    except AllowanceError:
        raise
    except FAILURES as error:
        reported = error if isinstance(error, InnkeeperError) else MacroArgumentError(f"{name}: {error}", macro=name)
        env.report(reported, locate)
        return ""


_BUILTINS: Final = {name: _builtin(name) for name in BUILTINS}
_PREFIXES: Final = (
    ("//", lambda _env, _inner, _locate: ""),
    (_SET, _dispatch_set),
    (_GET, _dispatch_get),
    (TIME_UTC, _BUILTINS[TIME_UTC]),
)
"""Macros that any word is which begins like this, in the order they are tried in."""
