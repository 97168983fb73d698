"""Libraries for tests: opened on a database, with a policy of the adult tier where one is wanted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from innkeeper.gate.gate import AgeVerification
from innkeeper.gate.tier import Ceilings, Tier
from innkeeper.library.library import Library
from innkeeper.library.log.logs import LogStore
from innkeeper.library.prepare.request import PrepareRequest
from innkeeper.library.rows import EnhancementRow
from innkeeper.library.templates.template import TemplateDraft
from innkeeper.library.tiers.documents import PolicyStore
from innkeeper.library.tiers.rules import POLICY_NAME
from tests.library.drafts import draft

ADULT = Ceilings(account=Tier.NSFW)
RECORD = AgeVerification(verified=True, method="document", expiry=datetime(2099, 1, 1, tzinfo=UTC), verifier="desk")


def opened(url: str, **options: Any) -> Library:
    """A library that follows nothing by itself."""
    return Library.open(url, **{"watch": False, **options})


def ask(**given: Any) -> PrepareRequest:
    """A request for an image prompt."""
    return PrepareRequest(**{"use_case": "enhancement", "job_type": "image", "target_model": "sdxl", **given})


def published(library: Library, made: TemplateDraft | None = None, **fields: Any) -> TemplateDraft:
    """A draft, made and put into production, whatever the service's own tasks send."""
    found = made or draft(**fields)
    library.authoring.create(found)
    library.authoring.publish(found.name, force=True)
    return found


def logged(library: Library, limit: int = 100) -> tuple[EnhancementRow, ...]:
    """The newest rows of the log, after all that wait are written."""
    assert library.flush()
    return LogStore(library.db).newest(limit)


def enable_adults(library: Library) -> None:
    """The operator's policy enables the adult tier."""
    PolicyStore(library.db).add(POLICY_NAME, {"adult_enabled": True}, activate=True)
    library.refresh()
