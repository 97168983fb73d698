"""Reasoning effort and verbosity: the words of a preset as each source takes them.

(sillytavern-bodies.md 4.)
"""

from __future__ import annotations

import re
from typing import Any, Final

from innkeeper.dialects.sillytavern.request import ProviderRequest

_LISTED: Final = re.compile(
    r"(o1|o3|o3-mini|o4-mini|gpt-5(-mini|-nano)?|gpt-5\.[12]|gpt-5\.4(-mini|-nano)?|gpt-5\.5)(-\d{4}-\d{2}-\d{2})?"
    r"|gpt-5\.[123]-chat-latest|gpt-5\.6(-sol|-terra|-luna)?|gpt-6-astra"
)
"""The models of OpenAI's that take an effort, by their whole names."""
_UNDATED: Final = re.compile(r"o1-\d")
_ONE_EFFORT: Final = "gpt-5.3-chat-latest"
_KOBOLD: Final = "koboldcpp/"
"""The beginnings of the names of models that a KoboldCpp server has loaded."""
_SAYS_LESS: Final = re.compile(r"gpt-5|gpt-6-astra")


def effort(request: ProviderRequest) -> dict[str, Any]:
    """The effort as the page sends it."""
    return request.fields("reasoning_effort")


def listed_effort(request: ProviderRequest) -> dict[str, Any]:
    """The effort for models that are known to take one."""
    if request.source == "custom" and request.model.startswith(_KOBOLD):
        return effort(request)
    if not _LISTED.fullmatch(request.model) or _UNDATED.match(request.model):
        return {}
    if request.model == _ONE_EFFORT and (request.effort or request.source == "azure_openai"):
        return {"reasoning_effort": "medium"}
    least = {"min": "minimal"}.get(request.effort or "", request.effort)
    return {"reasoning_effort": least} if least else {}


def listed_verbosity(request: ProviderRequest) -> dict[str, Any]:
    """The verbosity for models that are known to take one."""
    return request.fields("verbosity") if _SAYS_LESS.match(request.model) else {}


def grok_effort(request: ProviderRequest) -> dict[str, Any]:
    """The effort as xAI has it: low or high."""
    return {"reasoning_effort": "high" if request.effort == "high" else "low"} if request.effort else {}


_NANOGPT: Final = {"min": "none", "low": "minimal", "medium": "low", "high": "medium", "max": "high"}


def nanogpt_effort(request: ProviderRequest) -> dict[str, Any]:
    """The effort one step lower; an empty object for an unknown word."""
    word = _NANOGPT.get(request.effort or "")
    return {"reasoning": {"effort": word} if word else {}} if request.effort else {}


def switch(request: ProviderRequest) -> dict[str, Any]:
    """Thinking on or off."""
    return {"thinking": {"type": "enabled" if request.shows_thoughts else "disabled"}}
