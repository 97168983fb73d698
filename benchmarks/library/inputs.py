"""Libraries of any size for the benchmarks, and a template of 2 kB with 20 variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sqlalchemy import insert

from innkeeper.gate.tier import Tier
from innkeeper.library.catalogue.catalogue import Catalogue
from innkeeper.library.catalogue.resolver import ResolveRequest
from innkeeper.library.db.engine import Database
from innkeeper.library.db.rows import checked
from innkeeper.library.db.tables.templates import template_labels, template_versions, templates
from innkeeper.library.templates.rows import label_row, version_values
from innkeeper.library.templates.template import (
    PRODUCTION,
    Labelled,
    TemplateDraft,
    TemplateKey,
    TemplateVersion,
    Variable,
)

__all__ = ["REQUESTS", "VALUES", "catalogue", "drafts", "filled", "page"]

BATCH: Final = 500

USES = ("enhancement", "chat", "character_roleplay", "roleplay", "scene_generation", "admin")
NAMES = tuple(f"variable_{number}" for number in range(20))
VALUES = dict.fromkeys(NAMES, "A few words about her, as a card has them; {{nothing}} special.")

REQUESTS = {
    "exact": ResolveRequest(
        use_case="enhancement", job_type="image", target_model="vendor/model-0", enhancer_model="q0"
    ),
    "any_enhancer": ResolveRequest(
        use_case="enhancement", job_type="image", target_model="vendor/model-0", enhancer_model="nobody"
    ),
    "family": ResolveRequest(
        use_case="enhancement", job_type="image", target_model="other", target_family="family-1", enhancer_model="q1"
    ),
    "universal": ResolveRequest(use_case="enhancement", job_type="image", target_model="other", enhancer_model="q9"),
    "lower tier": ResolveRequest(
        use_case="enhancement", job_type="image", target_model="other", content_mode=Tier.NSFW, enhancer_model="q9"
    ),
    "builtin": ResolveRequest(use_case="scene_narrative_generation", job_type="chat", target_model="other"),
    "nothing": ResolveRequest(use_case="scoring", target_model="other"),
}


def page(syntax: str = "mustache") -> TemplateVersion:
    """A template of about 2 kB that uses 20 variables."""
    lines = (
        f"Line about {name}: {{{{{name}}}}} and some more words that stay the same in it, as they always do."
        for name in NAMES
    )
    return TemplateVersion(
        template_id="page",
        name="page",
        version=1,
        key=TemplateKey(use_case="chat"),
        system_prompt="\n".join(lines),
        syntax="liquid" if syntax == "liquid" else "mustache",
        variables=tuple(Variable(name=name) for name in NAMES),
    )


def drafts(size: int) -> Iterator[TemplateDraft]:
    """So many templates, each with another key: universal ones, families and models, for three enhancers and every use case."""
    made = 0
    for number in range(size):
        target = None if number == 0 else f"family-{number}" if number < 10 else f"vendor/model-{number - 10}"
        for use in USES:
            for enhancer in ("q0", "q1", None):
                if made == size:
                    return
                made += 1
                key = TemplateKey(use_case=use, job_type="image", target_model=target, enhancer_model=enhancer)
                yield TemplateDraft(name=f"t{made}", key=key, system_prompt=f"Template {made}. " + "Some text. " * 20)


def catalogue(size: int) -> Catalogue:
    """A catalogue of so many templates."""
    rows = (Labelled(PRODUCTION, draft.numbered(draft.name, 1, "")) for draft in drafts(size))
    return Catalogue.build(rows, ceiling=Tier.NSFW)


def filled(db: Database, size: int) -> None:
    """Put so many templates into an empty database, in production; past the stores, which look at each one."""
    rows = [draft.numbered(draft.name, 1, db.now()) for draft in drafts(size)]
    with db.publishing() as connection:
        for start in range(0, size, BATCH):
            batch = rows[start : start + BATCH]
            connection.execute(insert(templates), [_template(row) for row in batch])
            connection.execute(insert(template_versions), [version_values(row) for row in batch])
            held = [label_row(row, PRODUCTION, at=row.created_at).to_dict() for row in batch]
            connection.execute(insert(template_labels), held)


def _template(version: TemplateVersion) -> dict[str, Any]:
    row = {"id": version.template_id, "name": version.name, "latest_version": 1, "created_at": version.created_at}
    return checked(templates, row)
