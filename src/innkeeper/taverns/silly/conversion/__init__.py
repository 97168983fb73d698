"""Conversions: what SillyTavern's server makes of a prompt's messages for each family of providers.

One module a family; each takes a `Talk` and tells its report of every change. `convert` runs one by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from innkeeper.dialects.post_processing import MODES, post_process
from innkeeper.dialects.speakers import Speakers
from innkeeper.prompt.errors import UnknownNameError
from innkeeper.taverns.silly.conversion.ai21 import convert_ai21
from innkeeper.taverns.silly.conversion.assistant_prefix import mark_prefix
from innkeeper.taverns.silly.conversion.claude import convert_claude
from innkeeper.taverns.silly.conversion.cohere import convert_cohere
from innkeeper.taverns.silly.conversion.flat_text import convert_text
from innkeeper.taverns.silly.conversion.google import convert_google
from innkeeper.taverns.silly.conversion.mistral import convert_mistral
from innkeeper.taverns.silly.conversion.talk import Talk, Texts
from innkeeper.taverns.silly.conversion.xai import convert_xai

__all__ = [
    "CONVERSIONS",
    "Talk",
    "Texts",
    "convert",
    "convert_ai21",
    "convert_claude",
    "convert_cohere",
    "convert_google",
    "convert_mistral",
    "convert_text",
    "convert_xai",
    "mark_prefix",
    "post_processed",
]

_DEFAULT_GOOGLE: Final = "gemini-2.5-pro"


def post_processed(talk: Talk, mode: str) -> list[dict[str, Any]]:
    """The messages by a mode of `MODES`; as they are for a name that is none, as SillyTavern leaves them."""
    if mode not in MODES:
        return talk.messages
    return post_process(
        talk.messages, MODES[mode], talk.speakers, placeholder=talk.texts.placeholder, report=talk.report
    )


def _claude(talk: Talk, given: Mapping[str, Any]) -> dict[str, Any]:
    return convert_claude(
        talk,
        prefill=str(given.get("prefill") or ""),
        use_sysprompt=bool(given.get("use_sysprompt")),
        use_tools=bool(given.get("use_tools")),
    )


def _google(talk: Talk, given: Mapping[str, Any]) -> dict[str, Any]:
    model = str(given.get("model") or _DEFAULT_GOOGLE)
    return convert_google(talk, model=model, use_sysprompt=bool(given.get("use_sysprompt")))


def _prefixed(talk: Talk, given: Mapping[str, Any]) -> dict[str, Any]:
    field = str(given.get("property") or "prefix")
    return {"messages": mark_prefix(talk.messages, given.get("tools") or (), field)}


CONVERSIONS: Final[Mapping[str, Callable[[Talk, Mapping[str, Any]], dict[str, Any]]]] = MappingProxyType(
    {
        "postProcess": lambda talk, given: {"messages": post_processed(talk, str(given.get("type") or ""))},
        "claude": _claude,
        "google": _google,
        "cohere": lambda talk, _: convert_cohere(talk),
        "ai21": lambda talk, _: convert_ai21(talk),
        "mistral": lambda talk, _: convert_mistral(talk),
        "xai": lambda talk, _: convert_xai(talk),
        "text": lambda talk, _: convert_text(talk),
        "assistant_prefix": _prefixed,
    }
)
"""The conversions by the names of the vectors."""


def convert(given: Mapping[str, Any], texts: Texts | None = None) -> dict[str, Any]:
    """Run one conversion: ``{fn, messages, names: {charName, userName, groupNames}, …}`` as the vectors have it.

    Raises `FormatError` for messages that cannot be converted, `UnknownNameError` for a conversion there is not.
    """
    name = str(given.get("fn"))
    if name not in CONVERSIONS:
        what = "conversion"
        raise UnknownNameError(what, name, CONVERSIONS)
    return CONVERSIONS[name](Talk.of(given.get("messages"), _speakers(given.get("names")), texts), given)


def _speakers(names: Any) -> Speakers:
    found = names if isinstance(names, Mapping) else {}
    return Speakers(
        char=str(found.get("charName") or ""),
        user=str(found.get("userName") or ""),
        group=tuple(name for name in found.get("groupNames") or () if isinstance(name, str)),
    )
