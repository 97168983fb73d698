"""The sandbox: runs ``{{python:…}}``, a small closed part of Python, over our own table of names.

The language is that of smarttavern.md §5. Nothing of the interpreter can be reached from it: code is read into a syntax tree,
each node of which has a function of ours or is refused; names behind dots are looked up by their spelling; there is no
attribute, type or function of Python's among the values. What an operation costs is known before it begins (`SandboxLimits`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from innkeeper.macros.smart.environment import SmartEnvironment, copied
from innkeeper.macros.smart.options import MacroOptions
from innkeeper.macros.smart.python_macro import EnvironmentHost
from innkeeper.macros.smart.sandbox.compiler import program
from innkeeper.macros.smart.sandbox.limits import SANDBOX_LIMITS, SandboxError, SandboxLimits
from innkeeper.macros.smart.sandbox.values import Frame, Host, text_of
from innkeeper.prompt.allowance import allowed
from innkeeper.prompt.errors import FormatError
from innkeeper.prompt.text import kind_of

_DEFAULT = MacroOptions()


def run(code: str, host: Host, *, limits: SandboxLimits = SANDBOX_LIMITS) -> Any:
    """Return the value of an expression, or of ``result`` after statements (``None`` if unset).

    The value is plain data, a moment, or an opaque value with a text. Raises a `SandboxError`; variables that were set before
    the failure stay set.
    """
    return program(code, limits).run(Frame(host, limits))


def run_text(code: str, host: Host, *, limits: SandboxLimits = SANDBOX_LIMITS) -> str:
    """The text of the value that `run` gives; nothing for ``None``. Raises a `SandboxError`."""
    frame = Frame(host, limits)
    value = program(code, limits).run(frame)
    if type(value) is str:
        return value
    return "" if value is None else text_of(frame, value)


def evaluate(
    code: str,
    variables: Mapping[str, Any] | None = None,
    policy: Mapping[str, Any] | None = None,
    *,
    options: MacroOptions = _DEFAULT,
) -> dict[str, Any]:
    """The operation ``python_sandbox.eval``: ``{"success", "result", "error", "variables": {"initial", "final"}}``.

    ``result`` is a text; ``error`` says what is wrong and where, or is ``None``. ``final`` keeps what was set before a failure.
    Raises `FormatError` for code that is no text, or variables that are no object, and `AllowanceError`.
    """
    if not isinstance(code, str):
        raise FormatError(f"code must be a text, not {kind_of(code)}", hint='write {"code": "1 + 1"}')
    with allowed():
        env = SmartEnvironment.of(variables, policy, options)
        initial = dict(env.table) if options.compat.shared_initial else copied(variables)
        result, error = _outcome(code, env)
    return {
        "success": error is None,
        "result": result,
        "error": error,
        "variables": {"initial": initial, "final": env.table},
    }


def _outcome(code: str, env: SmartEnvironment) -> tuple[str, str | None]:
    if not env.options.python:
        return "", "SandboxForbiddenError: Python is switched off (hint: switch it on with the option `python`)"
    try:
        return run_text(code, EnvironmentHost(env)), None
    except SandboxError as error:
        hint = f" (hint: {error.hint})" if error.hint else ""
        return "", f"{type(error).__name__}: {error}{hint}"
