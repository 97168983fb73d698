"""Models, providers and negative prompts: their rows, what is known of a model, and how it measures a text."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.library.models.facts import CLIP as CLIP
    from innkeeper.library.models.facts import Measure as Measure
    from innkeeper.library.models.facts import ModelFacts as ModelFacts
    from innkeeper.library.models.facts import NegativePrompt as NegativePrompt
    from innkeeper.library.models.facts import TokenizerSpec as TokenizerSpec
    from innkeeper.library.models.facts import join_negatives as join_negatives
    from innkeeper.library.models.stores import ModelStore as ModelStore
    from innkeeper.library.models.stores import NegativeStore as NegativeStore
    from innkeeper.library.models.stores import ProviderStore as ProviderStore
    from innkeeper.library.models.stores import SecretStore as SecretStore
    from innkeeper.library.models.stores import SettingsStore as SettingsStore
    from innkeeper.library.models.stores import ToolStore as ToolStore

_HOMES: Final = {
    "CLIP": "facts",
    "Measure": "facts",
    "ModelFacts": "facts",
    "ModelStore": "stores",
    "NegativePrompt": "facts",
    "NegativeStore": "stores",
    "ProviderStore": "stores",
    "SecretStore": "stores",
    "SettingsStore": "stores",
    "TokenizerSpec": "facts",
    "ToolStore": "stores",
    "join_negatives": "facts",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
