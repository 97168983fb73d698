"""Models, providers and negative prompts: their rows, what is known of a model, and how it measures a text."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.library.models.facts import CLIP_FAMILIES as CLIP_FAMILIES
    from innkeeper.library.models.facts import ModelFacts as ModelFacts
    from innkeeper.library.models.facts import ceilings_of as ceilings_of
    from innkeeper.library.models.facts import facts_of as facts_of
    from innkeeper.library.models.facts import require_known as require_known
    from innkeeper.library.models.measure import CLIP as CLIP
    from innkeeper.library.models.measure import Measure as Measure
    from innkeeper.library.models.measure import TokenizerSpec as TokenizerSpec
    from innkeeper.library.models.negatives import DroppedFragment as DroppedFragment
    from innkeeper.library.models.negatives import NegativeFragment as NegativeFragment
    from innkeeper.library.models.negatives import NegativePrompt as NegativePrompt
    from innkeeper.library.models.negatives import NegativeRow as NegativeRow
    from innkeeper.library.models.negatives import join_negatives as join_negatives
    from innkeeper.library.models.stores import ModelStore as ModelStore
    from innkeeper.library.models.stores import NegativeStore as NegativeStore
    from innkeeper.library.models.stores import ProviderStore as ProviderStore
    from innkeeper.library.models.stores import SecretStore as SecretStore
    from innkeeper.library.models.stores import SettingsStore as SettingsStore
    from innkeeper.library.models.stores import ToolStore as ToolStore

_HOMES: Final = {
    "CLIP": "measure",
    "CLIP_FAMILIES": "facts",
    "DroppedFragment": "negatives",
    "Measure": "measure",
    "ModelFacts": "facts",
    "ModelStore": "stores",
    "NegativeFragment": "negatives",
    "NegativePrompt": "negatives",
    "NegativeRow": "negatives",
    "NegativeStore": "stores",
    "ProviderStore": "stores",
    "SecretStore": "stores",
    "SettingsStore": "stores",
    "TokenizerSpec": "measure",
    "ToolStore": "stores",
    "ceilings_of": "facts",
    "facts_of": "facts",
    "join_negatives": "negatives",
    "require_known": "facts",
}

__all__ = [
    "CLIP",
    "CLIP_FAMILIES",
    "DroppedFragment",
    "Measure",
    "ModelFacts",
    "ModelStore",
    "NegativeFragment",
    "NegativePrompt",
    "NegativeRow",
    "NegativeStore",
    "ProviderStore",
    "SecretStore",
    "SettingsStore",
    "TokenizerSpec",
    "ToolStore",
    "ceilings_of",
    "facts_of",
    "join_negatives",
    "require_known",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
