"""Catalogue: every labelled template of one revision, indexed so that a resolution costs the same among ten or ten thousand.

It never changes: a new revision is a new catalogue. Templates are kept apart by label, use case and tier, so that a request
cannot come upon one of a higher tier: it never looks there. What lies above ``ceiling`` is not loaded at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from innkeeper.gate.tier import Tier
from innkeeper.library.catalogue.rows import CatalogueModel, CatalogueNegative, CatalogueProvider
from innkeeper.library.templates.template import PARTIAL, Labelled, PartRef, TemplateKey, TemplateVersion


class AnswerSource(StrEnum):
    """Where an answer was read from."""

    MEMORY = "memory"
    SNAPSHOT = "snapshot"
    DATABASE = "database"
    BUILTIN = "builtin"


_Jobs = dict[str | None, TemplateVersion]
"""Templates by job type, in their order."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """The templates of one label, use case, tier and target."""

    by_enhancer: Mapping[str | None, _Jobs]
    others: _Jobs
    """By job type the one that comes first among other enhancers: by ``priority`` in its metadata, then by enhancer."""

    @classmethod
    def of(cls, versions: Iterable[TemplateVersion]) -> Bucket:
        """Sort versions in. Of several with the same key, which a store refuses, the first by name and version counts."""
        enhancers: dict[str | None, _Jobs] = {}
        others: _Jobs = {}
        for version in sorted(versions, key=_order):
            enhancers.setdefault(version.key.enhancer_model, {}).setdefault(version.key.job_type, version)
            others.setdefault(version.key.job_type, version)
        return cls(enhancers, others)

    def pick(self, enhancer: str | None, job_type: str | None) -> TemplateVersion | None:
        """The template for exactly this enhancer (None: for any), best job type first."""
        jobs = self.by_enhancer.get(enhancer)
        return None if jobs is None else _pick(jobs, job_type)

    def pick_other(self, job_type: str | None) -> TemplateVersion | None:
        """The first template whatever its enhancer."""
        return _pick(self.others, job_type)


def _pick(jobs: _Jobs, job_type: str | None) -> TemplateVersion | None:
    version = jobs.get(job_type)
    if version is None and job_type is not None:
        version = jobs.get(None)
    elif version is None:  # none was asked for, and none is for any: the first in order
        version = next(iter(jobs.values()))
    return version


_PRIORITY: Final = 100
"""Where a template names none. Lower comes first, as everywhere."""


def _order(version: TemplateVersion) -> tuple[float, str, str, str, int]:
    key, priority = version.key, version.metadata.get("priority")
    rank = priority if isinstance(priority, (int, float)) else _PRIORITY
    return (rank, key.enhancer_model or "", key.job_type or "", version.name, version.version)


_BucketKey = tuple[str, str, Tier]
"""Label, use case and tier."""

_NO_BUCKETS: Final[Mapping[str | None, Bucket]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """The rows of one revision, ready to be asked.

    ``labelled`` are the labelled versions up to ``ceiling``; ``pinned`` further versions, which others include or extend.
    ``negatives``, ``models`` and ``providers`` are the rows of those tables, with the document's column names.
    """

    revision: int = 0
    source: AnswerSource = AnswerSource.MEMORY
    ceiling: Tier = Tier.SFW
    labelled: tuple[Labelled, ...] = ()
    pinned: tuple[TemplateVersion, ...] = ()
    negatives: tuple[CatalogueNegative, ...] = ()
    models: tuple[CatalogueModel, ...] = ()
    providers: tuple[CatalogueProvider, ...] = ()
    retired: tuple[str, ...] = ()
    """The keys of models that are in the table and not active."""
    degraded: tuple[str, ...] = ()
    """Why this catalogue is a makeshift; empty where it is not."""
    _buckets: Mapping[_BucketKey, Mapping[str | None, Bucket]] = field(default_factory=dict, repr=False, compare=False)
    _versions: Mapping[PartRef, TemplateVersion] = field(default_factory=dict, repr=False, compare=False)
    _families: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def build(
        cls,
        labelled: Iterable[Labelled] = (),
        *,
        pinned: Iterable[TemplateVersion] = (),
        ceiling: Tier = Tier.SFW,
        models: Iterable[CatalogueModel] = (),
        **fields: Any,
    ) -> Catalogue:
        """A catalogue of labelled versions, and of versions that others pin; what lies above ``ceiling`` is left out.

        ``fields`` are its other fields.
        """
        held = {
            (row.label, row.version.name, row.version.version): row
            for row in labelled
            if _allowed(row.version, ceiling)
        }
        others = {part.ref: part for part in pinned if _allowed(part, ceiling)}
        allowed = tuple(held[key] for key in sorted(held))
        parts = tuple(others[key] for key in sorted(others))
        models = tuple(models)
        return cls(
            labelled=allowed,
            pinned=parts,
            ceiling=ceiling,
            models=models,
            **fields,
            _buckets=_bucketed(allowed),
            _versions={version.ref: version for version in (*parts, *(row.version for row in allowed))},
            _families={model.model_key: model.model_family for model in models if model.model_family},
        )

    def candidates(self, label: str, use_case: str, tier: Tier) -> Mapping[str | None, Bucket]:
        """The templates of one label, use case and tier, by target."""
        return self._buckets.get((label, use_case, tier), _NO_BUCKETS)

    def version(self, name: str, version: int) -> TemplateVersion | None:
        """A version by name and number, where it is labelled or pinned by one that is."""
        return self._versions.get((name, version))

    def held(self, name: str, label: str) -> TemplateVersion | None:
        """The version of a template that holds a label."""
        versions = (row.version for row in self.labelled if row.label == label and row.version.name == name)
        return next(versions, None)

    def family_of(self, model: str | None) -> str | None:
        """The family of a model of the table ``models``."""
        return None if model is None else self._families.get(model)

    def __len__(self) -> int:
        """How many labelled versions there are."""
        return len(self.labelled)


def _allowed(version: TemplateVersion, ceiling: Tier) -> bool:
    return version.key.content_mode.rank <= ceiling.rank


def _bucketed(rows: Iterable[Labelled]) -> dict[_BucketKey, dict[str | None, Bucket]]:
    by_key: dict[_BucketKey, dict[str | None, list[TemplateVersion]]] = {}
    for row in rows:
        key: TemplateKey = row.version.key
        if key.use_case != PARTIAL:
            targets = by_key.setdefault((row.label, key.use_case, key.content_mode), {})
            targets.setdefault(key.target_model, []).append(row.version)
    return {
        key: {target: Bucket.of(versions) for target, versions in targets.items()} for key, targets in by_key.items()
    }
