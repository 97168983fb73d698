"""Operations: what can be asked of the product, each declared once; the service and the commands are made from them."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.operations.operation import Operation as Operation
    from innkeeper.operations.scope import Scope as Scope

_HOMES: Final = {
    "operation": ("Operation",),
    "scope": ("Scope",),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
