"""Operations that merge assets: arguments handed on to the smart tavern's normaliser."""

from __future__ import annotations

from typing import Any

from innkeeper.service.gateway.state import Call

__all__ = [
    "extract_character_regex",
    "extract_character_world_book",
    "extract_preset_regex",
    "merge_regex",
    "merge_world_books",
    "normalize",
]


def normalize(call: Call, **arguments: Any) -> Any:
    """``assets_normalizer/normalize``."""
    from innkeeper.taverns.smart import assets_normalizer

    return assets_normalizer.normalize(**arguments, options=call.options())


def extract_preset_regex(call: Call, preset: Any) -> Any:
    """``assets_normalizer/extract_preset_regex``."""
    from innkeeper.taverns.smart import assets_normalizer

    return assets_normalizer.extract_preset_regex(preset)


def extract_character_world_book(call: Call, character: Any) -> Any:
    """``assets_normalizer/extract_character_world_book``."""
    from innkeeper.taverns.smart import assets_normalizer

    return assets_normalizer.extract_character_world_book(character)


def extract_character_regex(call: Call, character: Any) -> Any:
    """``assets_normalizer/extract_character_regex``."""
    from innkeeper.taverns.smart import assets_normalizer

    return assets_normalizer.extract_character_regex(character)


def merge_world_books(call: Call, **arguments: Any) -> Any:
    """``assets_normalizer/merge_world_books``."""
    from innkeeper.taverns.smart import assets_normalizer

    return assets_normalizer.merge_world_books(**arguments, options=call.options())


def merge_regex(call: Call, **arguments: Any) -> Any:
    """``assets_normalizer/merge_regex``."""
    from innkeeper.taverns.smart import assets_normalizer

    return assets_normalizer.merge_regex(**arguments)
