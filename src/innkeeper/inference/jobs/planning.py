"""Planner: what becomes of a media request before it is a job: who makes it, in which tier, with which body, for how much.

All its texts are judged together before anything else is done with them, and go on as they are: nothing is reworded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from innkeeper.inference.jobs.backend import Backend
from innkeeper.inference.jobs.backends.registry import backend_of
from innkeeper.inference.jobs.backends.tiny_seed_picture import MODEL, NAME
from innkeeper.inference.jobs.media import Built, MediaNote, MediaRequest, MediaRequestError, build
from innkeeper.library.models.facts import ModelFacts, ceilings_of, facts_of
from innkeeper.library.tier import Ceilings, Tier
from innkeeper.library.tiers.gate import TextKind
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import ConfigError, UnknownNameError
from innkeeper.prompt.machine import fresh_seed

if TYPE_CHECKING:
    from innkeeper.library.library import Library

__all__ = ["Plan", "Planner", "Target"]


class Target(msgspec.Struct, frozen=True):
    """Who makes it: the rows of a model and its provider, and the name of a backend."""

    model: Mapping[str, Any]
    provider: Mapping[str, Any]
    backend: str

    @property
    def key(self) -> str:
        """The model's key."""
        return str(self.model["model_key"])


class Plan(msgspec.Struct, frozen=True):
    """A request as it will be carried out. ``request`` has the seed that is sent; ``estimate`` is in US dollars."""

    request: MediaRequest
    target: Target
    tier: Tier
    built: Built
    estimate: float | None = None


class Planner:
    """Plans requests over the catalogue and the gate of a library, for backends by name."""

    def __init__(self, library: Library, backends: Mapping[str, Backend]) -> None:
        self.library = library
        self.backends = backends

    def plan(
        self, wanted: MediaRequest, tier: Any, ceilings: Ceilings, *, request_id: str = "", actor: str = ""
    ) -> Plan:
        """The plan of a request that was `MediaRequest.checked`.

        Raises:
            TierBlockedError: the texts do not pass.
            MediaRequestError, UnknownNameError, ConfigError: what is wanted cannot be asked.
        """
        target = self.target(wanted)
        above = ceilings_of(self.library.catalogue, ceilings, (target.key,) if target.provider else ())
        texts = _texts(wanted)
        decision = self.library.judged(texts, tier, above, request_id=request_id, actor=actor).require()
        self._require_fits(target, wanted)
        negative, dropped = self._negative(target, wanted, decision.effective)
        seed = wanted.seed if wanted.seed is not None else _seed(target)
        sent = msgspec.structs.replace(wanted, seed=seed, negative_prompt=negative)
        built = build(sent, target.model, decision.effective)
        more = _workflow(target.model) if target.backend == "comfyui" else {}
        built = Built({**built.body, **more}, (*dropped, *built.notes))
        kept = msgspec.structs.replace(wanted, seed=_sent_seed(built.body, seed))
        return Plan(kept, target, decision.effective, built, _estimate(target.model, wanted))

    def target(self, request: MediaRequest) -> Target:
        """Who makes what is asked for: the model that is named, or the first that does this.

        Raises `UnknownNameError`, `MediaRequestError`, `ConfigError`.
        """
        catalogue = self.library.catalogue
        if request.model is None:
            fits = [self.target_of(row) for row in self._for_mode(request)]
            return next((one for one in fits if one is not None), Target(MODEL, EMPTY, NAME))
        if request.model == NAME:
            return Target(MODEL, EMPTY, NAME)
        rows = {str(row["model_key"]): row for row in catalogue.models}
        by_id = {str(row.get("id")): row for row in catalogue.models}
        row = rows.get(request.model) or by_id.get(request.model)
        if row is None:
            raise UnknownNameError("model", request.model, [*rows, NAME])
        if row.get("tasks") and request.mode.value not in row["tasks"]:
            done = ", ".join(row["tasks"])
            raise MediaRequestError(f"{request.model} does not do {request.mode}", hint=f"it does {done}")
        found = self.target_of(row)
        if found is None:
            raise ConfigError(
                f"the provider of {request.model} makes no pictures or videos that are known here",
                hint=f"backends: {', '.join(sorted(self.backends))}",
            )
        return found

    def _require_fits(self, target: Target, request: MediaRequest) -> None:
        """Refuse a prompt of which a model that reads CLIP's window would not see the end."""
        spec = self._facts(target).measured(None) if target.provider else None
        if spec is None or spec.kind != "clip" or spec.chunking == "compel":
            return
        size, allowed = spec.measure(self.library.counter).count(request.prompt), spec.limit_usable - spec.reserve
        if size > allowed:
            hint = "have it enhanced or compressed for this model first"
            raise MediaRequestError(f"the prompt has {size} tokens, and the model reads {allowed}", hint=hint)

    def _negative(self, target: Target, request: MediaRequest, tier: Tier) -> tuple[str, tuple[MediaNote, ...]]:
        """The negative prompt: the rows of the model's family, then the request's own; and what of these did not fit."""
        if not target.provider or request.mode.modality != "image":
            return request.negative_prompt, ()
        facts = self._facts(target)
        mode = "i2i" if request.mode.takes_picture else "txt2img"
        joined = self.library.negatives(facts.family or "", tier, mode, facts=facts, user_text=request.negative_prompt)
        if joined.skipped:
            return request.negative_prompt, ()
        own = (one for one in joined.dropped if not one.fragment.row)
        return joined.text, tuple(MediaNote("negative_prompt", one.fragment.text, None, one.reason) for one in own)

    def _facts(self, target: Target) -> ModelFacts:
        return facts_of(self.library.catalogue, target.key, job_type="image")

    def _for_mode(self, request: MediaRequest) -> Iterable[Mapping[str, Any]]:
        rows = self.library.catalogue.models
        fits = [row for row in rows if request.mode.value in (row.get("tasks") or ())]
        return sorted(fits, key=lambda row: (row.get("priority") or 0, str(row["model_key"])))

    def target_of(self, row: Mapping[str, Any]) -> Target | None:
        """Who makes what a row of the catalogue names; None where its provider is no backend."""
        owners = (one for one in self.library.catalogue.providers if one.get("id") == row.get("provider_id"))
        provider = next(owners, None)
        name = None if provider is None else backend_of(str(provider["name"]), self.backends)
        return None if name is None else Target(row, provider or EMPTY, name)


def _texts(request: MediaRequest) -> dict[str, str]:
    """Every text of a request that people wrote, by where it enters."""
    found = {
        TextKind.USER_TEXT.value: request.prompt,
        f"{TextKind.USER_TEXT}:negative": request.negative_prompt,
        **{f"{TextKind.USER_TEXT}:{name}": text for name, text in _strings("extra", request.extra)},
    }
    return {name: text for name, text in found.items() if text}


def _strings(path: str, value: Any) -> Iterable[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _strings(f"{path}.{name}", inner)
    elif isinstance(value, (list, tuple)):
        for place, inner in enumerate(value):
            yield from _strings(f"{path}[{place}]", inner)


def _seed(target: Target) -> int | None:
    """A fresh seed for a model that takes one, so that what was made can be made again."""
    schema = (target.model.get("capabilities") or EMPTY).get("input_schema")
    return fresh_seed() % 2**31 if not isinstance(schema, Mapping) or "seed" in schema else None


def _workflow(model: Mapping[str, Any]) -> dict[str, Any]:
    """The workflow of a model's row, and where in it values go: kept with the job, so that changes are for the next."""
    capabilities = model.get("capabilities") or EMPTY
    return {name: capabilities[name] for name in ("workflow", "inputs") if name in capabilities}


def _sent_seed(body: Mapping[str, Any], asked: int | None) -> int | None:
    sent = body.get("seed")
    return sent if isinstance(sent, int) else asked


def _estimate(model: Mapping[str, Any], request: MediaRequest) -> float | None:
    """What a request will cost by the catalogue, in US dollars; None where nobody knows."""
    if model.get("model_key") == NAME:
        return 0.0
    pricing = model.get("pricing") or EMPTY
    for name, times in (("per_image", request.count), ("per_second", request.duration or 0)):
        if isinstance(pricing.get(name), (int, float)) and times:
            return float(pricing[name]) * times
    each = next((pricing[name] for name in ("per_generation", "cost_per_use") if name in pricing), None)
    return float(each) if isinstance(each, (int, float)) else None
