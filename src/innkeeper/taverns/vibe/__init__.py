"""Vibe: the small tavern. System text, history, post-history text, user input; a language policy; a token guard.

Behaviour is that of *VibeTavern Prompt Pipeline* (1-vibetavern-pipeline). No lore, no injections, no trimming, and no
side effects but the chat's variables, which a build writes once it has succeeded.
"""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.taverns.vibe.language_policy import LANGUAGE_POLICY as LANGUAGE_POLICY
    from innkeeper.taverns.vibe.language_policy import LanguagePolicyConfig as LanguagePolicyConfig
    from innkeeper.taverns.vibe.plan_assembly import PLAN_ASSEMBLY as PLAN_ASSEMBLY
    from innkeeper.taverns.vibe.plan_assembly import PlanAssemblyConfig as PlanAssemblyConfig
    from innkeeper.taverns.vibe.prepare import PREPARE as PREPARE
    from innkeeper.taverns.vibe.prepare import Prepared as Prepared
    from innkeeper.taverns.vibe.prepare import preprocess_user_input as preprocess_user_input
    from innkeeper.taverns.vibe.tavern import PIPELINE as PIPELINE
    from innkeeper.taverns.vibe.tavern import TAVERN as TAVERN
    from innkeeper.taverns.vibe.tavern import build as build
    from innkeeper.taverns.vibe.tavern import builder as builder
    from innkeeper.taverns.vibe.tavern import to_messages as to_messages

_HOMES: Final = {
    "language_policy": ("LANGUAGE_POLICY", "LanguagePolicyConfig"),
    "plan_assembly": ("PLAN_ASSEMBLY", "PlanAssemblyConfig"),
    "prepare": ("PREPARE", "Prepared", "preprocess_user_input"),
    "tavern": ("PIPELINE", "TAVERN", "build", "builder", "to_messages"),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
