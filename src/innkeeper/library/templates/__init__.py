"""Templates: their keys and versions, how they are composed, filled and rendered, checked, compared and stored."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.library.templates.cache import RenderedCache as RenderedCache
    from innkeeper.library.templates.cache import content_digest as content_digest
    from innkeeper.library.templates.partials import Composed as Composed
    from innkeeper.library.templates.partials import Lookup as Lookup
    from innkeeper.library.templates.partials import compose as compose
    from innkeeper.library.templates.partials import impact as impact
    from innkeeper.library.templates.publish import Change as Change
    from innkeeper.library.templates.publish import Severity as Severity
    from innkeeper.library.templates.publish import TemplateProblem as TemplateProblem
    from innkeeper.library.templates.publish import VersionDiff as VersionDiff
    from innkeeper.library.templates.publish import diff as diff
    from innkeeper.library.templates.publish import problems_of as problems_of
    from innkeeper.library.templates.publish import require_publishable as require_publishable
    from innkeeper.library.templates.publish import validator as validator
    from innkeeper.library.templates.rendering import RenderedTemplate as RenderedTemplate
    from innkeeper.library.templates.rendering import render as render
    from innkeeper.library.templates.store import LabelEvent as LabelEvent
    from innkeeper.library.templates.store import TemplateEntry as TemplateEntry
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
    from innkeeper.library.templates.template import content_hash as content_hash
    from innkeeper.library.templates.template import model_key as model_key
    from innkeeper.library.templates.template import read_version as read_version
    from innkeeper.library.templates.template import sealed as sealed
    from innkeeper.library.templates.template import write_version as write_version
    from innkeeper.library.templates.values import Filled as Filled
    from innkeeper.library.templates.values import fenced as fenced
    from innkeeper.library.templates.values import fill as fill

_HOMES: Final = {
    "Change": "publish",
    "Composed": "partials",
    "DRAFT": "template",
    "Filled": "values",
    "LabelEvent": "store",
    "Labelled": "template",
    "Lookup": "partials",
    "MatchLevel": "template",
    "PARTIAL": "template",
    "PRODUCTION": "template",
    "PartRef": "template",
    "RenderedCache": "cache",
    "RenderedTemplate": "rendering",
    "STAGING": "template",
    "Severity": "publish",
    "Syntax": "template",
    "TemplateDraft": "template",
    "TemplateEntry": "store",
    "TemplateKey": "template",
    "TemplateProblem": "publish",
    "TemplateStore": "store",
    "TemplateVersion": "template",
    "Variable": "template",
    "VersionDiff": "publish",
    "compose": "partials",
    "content_digest": "cache",
    "content_hash": "template",
    "diff": "publish",
    "fenced": "values",
    "fill": "values",
    "impact": "partials",
    "model_key": "template",
    "problems_of": "publish",
    "read_version": "template",
    "render": "rendering",
    "require_publishable": "publish",
    "sealed": "template",
    "validator": "publish",
    "write_version": "template",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
