"""Templates and catalogues for tests, in few words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from innkeeper.gate.tier import Tier
from innkeeper.library.catalogue.catalogue import Catalogue
from innkeeper.library.templates.partials import Lookup
from innkeeper.library.templates.template import PRODUCTION, Labelled, TemplateKey, TemplateVersion, Variable, sealed
from innkeeper.prompt.data import freeze


def made(name: str = "t", text: str = "Hello.", version: int = 1, **facts: Any) -> TemplateVersion:
    """A template version; variables may be given as one text of names, ``?`` after a name for one not required."""
    key = TemplateKey.of(
        facts.pop("use_case", "enhancement"),
        facts.pop("content_mode", "sfw"),
        facts.pop("target_model", None),
        facts.pop("enhancer_model", None),
        facts.pop("job_type", None),
    )
    if isinstance(given := facts.get("variables"), str):
        names = given.split()
        facts["variables"] = tuple(Variable(name=n.rstrip("?"), required=not n.endswith("?")) for n in names)
    facts["metadata"] = freeze(facts.pop("metadata", {}))
    facts.setdefault("template_id", f"id-{name}")
    return sealed(TemplateVersion(name=name, version=version, key=key, system_prompt=text, **facts))


def lookup_of(*versions: TemplateVersion) -> Lookup:
    """A lookup among these versions."""
    known = {version.ref: version for version in versions}
    return lambda name, number: known.get((name, number))


def labelled(*versions: TemplateVersion, label: str = PRODUCTION) -> tuple[Labelled, ...]:
    """Versions under a label."""
    return tuple(Labelled(label, version) for version in versions)


def rows_of(rows: Iterable[Mapping[str, Any]]) -> list[Labelled]:
    """The rows of a vector group, as labelled versions."""
    return [
        Labelled(row["label"], made(**{name: value for name, value in row.items() if name != "label"})) for row in rows
    ]


def catalogue(*versions: TemplateVersion, ceiling: Tier = Tier.NSFW, **facts: Any) -> Catalogue:
    """A catalogue of versions in production."""
    return Catalogue.build(labelled(*versions), ceiling=ceiling, **facts)
