"""The library: what prompts exist, which one is chosen, what fills it, how long it may be and in which content tier.

`Library` is all of it behind one object. The rooms below hold the parts: `db`, `models`, `templates`, `tiers`, `catalogue`,
`prepare`, `transfer`, `vault` and `log`; what can go wrong is drawn in `innkeeper.library.errors`.
"""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.gate.classifier import Classifier as Classifier
    from innkeeper.gate.detector import Detector as Detector
    from innkeeper.gate.gate import AgeVerification as AgeVerification
    from innkeeper.gate.gate import TextKind as TextKind
    from innkeeper.gate.gate import Thresholds as Thresholds
    from innkeeper.gate.gate import TierGate as TierGate
    from innkeeper.gate.gate import TierPolicy as TierPolicy
    from innkeeper.gate.gate import account_ceiling as account_ceiling
    from innkeeper.gate.gate import character_ceiling as character_ceiling
    from innkeeper.gate.tier import Ceilings as Ceilings
    from innkeeper.gate.tier import Decision as Decision
    from innkeeper.gate.tier import ScanFindings as ScanFindings
    from innkeeper.gate.tier import Span as Span
    from innkeeper.gate.tier import Tier as Tier
    from innkeeper.gate.tier import TierDecision as TierDecision
    from innkeeper.gate.tier import effective_tier as effective_tier
    from innkeeper.library.authoring import Authoring as Authoring
    from innkeeper.library.catalogue.catalogue import AnswerSource as AnswerSource
    from innkeeper.library.catalogue.catalogue import Catalogue as Catalogue
    from innkeeper.library.catalogue.resolver import Resolution as Resolution
    from innkeeper.library.catalogue.resolver import ResolveRequest as ResolveRequest
    from innkeeper.library.catalogue.resolver import resolve as resolve
    from innkeeper.library.db.engine import Database as Database
    from innkeeper.library.db.owner import Owner as Owner
    from innkeeper.library.db.queries import query as query
    from innkeeper.library.library import Library as Library
    from innkeeper.library.memory import NewMemory as NewMemory
    from innkeeper.library.models.facts import CLIP as CLIP
    from innkeeper.library.models.facts import Measure as Measure
    from innkeeper.library.models.facts import TokenizerSpec as TokenizerSpec
    from innkeeper.library.options import Options as Options
    from innkeeper.library.prepare.budget import Budget as Budget
    from innkeeper.library.prepare.budget import budget_of as budget_of
    from innkeeper.library.prepare.conversation import template_values as template_values
    from innkeeper.library.prepare.conversation import use_case_for as use_case_for
    from innkeeper.library.prepare.request import PreparedPrompt as PreparedPrompt
    from innkeeper.library.prepare.request import PrepareRequest as PrepareRequest
    from innkeeper.library.prepare.request import RenderedAnswer as RenderedAnswer
    from innkeeper.library.prepare.request import Resolved as Resolved
    from innkeeper.library.prepare.segments import Role as Role
    from innkeeper.library.prepare.segments import Segment as Segment
    from innkeeper.library.prepare.segments import compress as compress
    from innkeeper.library.prompts.prompt_service import AsyncPromptService as AsyncPromptService
    from innkeeper.library.prompts.prompt_service import PromptService as PromptService
    from innkeeper.library.prompts.tool_config import Secrets as Secrets
    from innkeeper.library.prompts.tool_config import ToolConfig as ToolConfig
    from innkeeper.library.prompts.tool_config import Tools as Tools
    from innkeeper.library.templates.partials import compose as compose
    from innkeeper.library.templates.partials import impact as impact
    from innkeeper.library.templates.publish import problems_of as problems_of
    from innkeeper.library.templates.publish import require_publishable as require_publishable
    from innkeeper.library.templates.rendering import RenderedTemplate as RenderedTemplate
    from innkeeper.library.templates.rendering import render as render
    from innkeeper.library.templates.store import TemplateStore as TemplateStore
    from innkeeper.library.templates.template import DRAFT as DRAFT
    from innkeeper.library.templates.template import PARTIAL as PARTIAL
    from innkeeper.library.templates.template import PRODUCTION as PRODUCTION
    from innkeeper.library.templates.template import STAGING as STAGING
    from innkeeper.library.templates.template import Labelled as Labelled
    from innkeeper.library.templates.template import MatchLevel as MatchLevel
    from innkeeper.library.templates.template import PartRef as PartRef
    from innkeeper.library.templates.template import Syntax as Syntax
    from innkeeper.library.templates.template import TemplateDraft as TemplateDraft
    from innkeeper.library.templates.template import TemplateKey as TemplateKey
    from innkeeper.library.templates.template import TemplateVersion as TemplateVersion
    from innkeeper.library.templates.template import Variable as Variable
    from innkeeper.library.templates.template import model_key as model_key
    from innkeeper.library.templates.template import sealed as sealed
    from innkeeper.library.templates.values import fenced as fenced
    from innkeeper.library.vault.keys import EnvironmentKeys as EnvironmentKeys
    from innkeeper.library.vault.keys import FileKeys as FileKeys
    from innkeeper.library.vault.keys import SystemKeys as SystemKeys
    from innkeeper.library.vault.vault import Vault as Vault

_HOMES: Final = {
    "authoring": ("Authoring",),
    "catalogue.catalogue": ("AnswerSource", "Catalogue"),
    "catalogue.resolver": ("Resolution", "ResolveRequest", "resolve"),
    "db.engine": ("Database",),
    "db.owner": ("Owner",),
    "db.queries": ("query",),
    "library": ("Library",),
    "memory": ("NewMemory",),
    "models.facts": ("CLIP", "Measure", "TokenizerSpec"),
    "options": ("Options",),
    "prepare.budget": ("Budget", "budget_of"),
    "prepare.conversation": ("template_values", "use_case_for"),
    "prepare.request": ("PrepareRequest", "PreparedPrompt", "RenderedAnswer", "Resolved"),
    "prepare.segments": ("Role", "Segment", "compress"),
    "prompts.prompt_service": ("AsyncPromptService", "PromptService"),
    "prompts.tool_config": ("Secrets", "ToolConfig", "Tools"),
    "templates.partials": ("compose", "impact"),
    "templates.publish": ("problems_of", "require_publishable"),
    "templates.rendering": ("RenderedTemplate", "render"),
    "templates.store": ("TemplateStore",),
    "templates.template": (
        "DRAFT",
        "Labelled",
        "MatchLevel",
        "PARTIAL",
        "PRODUCTION",
        "PartRef",
        "STAGING",
        "Syntax",
        "TemplateDraft",
        "TemplateKey",
        "TemplateVersion",
        "Variable",
        "model_key",
        "sealed",
    ),
    "templates.values": ("fenced",),
    "innkeeper.gate.tier": ("Ceilings", "Decision", "ScanFindings", "Span", "Tier", "TierDecision", "effective_tier"),
    "innkeeper.gate.classifier": ("Classifier",),
    "innkeeper.gate.detector": ("Detector",),
    "innkeeper.gate.gate": (
        "AgeVerification",
        "TextKind",
        "Thresholds",
        "TierGate",
        "TierPolicy",
        "account_ceiling",
        "character_ceiling",
    ),
    "vault.keys": ("EnvironmentKeys", "FileKeys", "SystemKeys"),
    "vault.vault": ("Vault",),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
