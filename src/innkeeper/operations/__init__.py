"""Operations: what can be asked of the product, each declared once; the service, the commands and clients are made from them."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.operations.library.decisions import EVALUATE as EVALUATE
    from innkeeper.operations.library.decisions import RENDER as RENDER
    from innkeeper.operations.library.decisions import RESOLVE as RESOLVE
    from innkeeper.operations.library.decisions import EvaluateTier as EvaluateTier
    from innkeeper.operations.library.decisions import ResolveTemplate as ResolveTemplate
    from innkeeper.operations.operation import Operation as Operation
    from innkeeper.operations.scope import Scope as Scope
    from innkeeper.operations.tasks.character import SUGGEST as SUGGEST
    from innkeeper.operations.tasks.character import SuggestCharacter as SuggestCharacter
    from innkeeper.operations.tasks.prompts import ENHANCE as ENHANCE
    from innkeeper.operations.tasks.prompts import EnhancePrompt as EnhancePrompt
    from innkeeper.operations.turns import CHAT as CHAT
    from innkeeper.operations.turns import ROLEPLAY as ROLEPLAY
    from innkeeper.operations.turns import TakeTurn as TakeTurn

_HOMES: Final = {
    "library.decisions": ("EVALUATE", "EvaluateTier", "RENDER", "RESOLVE", "ResolveTemplate"),
    "operation": ("Operation",),
    "scope": ("Scope",),
    "tasks.character": ("SUGGEST", "SuggestCharacter"),
    "tasks.prompts": ("ENHANCE", "EnhancePrompt"),
    "turns": ("CHAT", "ROLEPLAY", "TakeTurn"),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
