"""The sandbox of ``{{python:…}}``: a small closed part of Python, over our own table of names."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.macros.smart.sandbox.execution import evaluate as evaluate
    from innkeeper.macros.smart.sandbox.execution import run as run
    from innkeeper.macros.smart.sandbox.execution import run_text as run_text
    from innkeeper.macros.smart.sandbox.limits import SANDBOX_LIMITS as SANDBOX_LIMITS
    from innkeeper.macros.smart.sandbox.limits import SandboxError as SandboxError
    from innkeeper.macros.smart.sandbox.limits import SandboxForbiddenError as SandboxForbiddenError
    from innkeeper.macros.smart.sandbox.limits import SandboxLimitError as SandboxLimitError
    from innkeeper.macros.smart.sandbox.limits import SandboxLimits as SandboxLimits
    from innkeeper.macros.smart.sandbox.limits import SandboxRuntimeError as SandboxRuntimeError
    from innkeeper.macros.smart.sandbox.limits import SandboxSyntaxError as SandboxSyntaxError
    from innkeeper.macros.smart.sandbox.values import Host as Host

_HOMES: Final = {
    "execution": ("evaluate", "run", "run_text"),
    "limits": (
        "SANDBOX_LIMITS",
        "SandboxError",
        "SandboxForbiddenError",
        "SandboxLimitError",
        "SandboxLimits",
        "SandboxRuntimeError",
        "SandboxSyntaxError",
    ),
    "values": ("Host",),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
