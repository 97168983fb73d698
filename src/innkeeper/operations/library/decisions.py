"""``tier.evaluate``, ``templates.resolve`` and ``templates.render``: what the library would decide, without asking a model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, Final, TypedDict, cast

import msgspec
from msgspec import Meta

from innkeeper.gate.gate import TextKind
from innkeeper.gate.judgement import Judgement
from innkeeper.library.prepare.request import PrepareRequest, tier_facts
from innkeeper.operations.operation import Operation, StoredText
from innkeeper.operations.scope import Scope
from innkeeper.prompt.errors import UsageError, Where

_KINDS: Final = frozenset(TextKind)
_KEYS: Final = {"propertyNames": {"pattern": f"^({'|'.join(TextKind)})(:.*)?$"}}


class EvaluateTier(msgspec.Struct, frozen=True, kw_only=True):
    """Texts to evaluate: one, or several by the way in which they enter a prompt."""

    text: str = ""
    texts: Annotated[dict[str, str], Meta(extra_json_schema=_KEYS)] | None = None
    content_mode: Any = None


class ResolveTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """What a template is asked for, such as ``enhancement`` or ``chat``, and the values that it is filled with."""

    use_case: Annotated[StoredText, Meta(min_length=1)]
    job_type: StoredText = ""
    target_model: StoredText = ""
    target_family: StoredText = ""
    enhancer_model: StoredText = ""
    enhancer_family: StoredText = ""
    label: StoredText = ""
    text: str = ""
    negative: str = ""
    generation_mode: StoredText = ""
    content_mode: Any = None
    values: dict[str, Any] | None = None
    strict: bool = False


class EvaluatedTier(TypedDict):
    """The decision about texts; its further fields say why."""

    requested: str
    effective: str
    decision: str
    passed: bool


async def evaluate(request: EvaluateTier, scope: Scope) -> EvaluatedTier:
    """Evaluate the tier of texts.

    A block is a reply and not an error.
    """
    texts = request.texts
    if texts is None:
        texts = {TextKind.USER_TEXT.value: request.text} if request.text else {}
    wrong = next((name for name in texts if name.partition(":")[0] not in _KINDS), None)
    if wrong is not None:
        hint = f"names: {', '.join(sorted(_KINDS))}"
        raise UsageError(f"no text enters at {wrong!r:.60}", where=Where(path="texts"), hint=hint)
    check = (await scope.tasks()).library.tier_check
    decision = await asyncio.to_thread(check, texts, request.content_mode, scope.ceilings, actor=scope.owner.user)
    return cast("EvaluatedTier", tier_facts(decision))


async def resolve(request: ResolveTemplate, scope: Scope) -> Mapping[str, Any]:
    """Resolve which template answers a request."""
    library = (await scope.tasks()).library
    resolved = await asyncio.to_thread(library.resolve, _prepare(request, scope), strict=request.strict)
    return resolved.to_dict()


async def render(request: ResolveTemplate, scope: Scope) -> Mapping[str, Any]:
    """Render the template that answers a request."""
    library = (await scope.tasks()).library
    rendered = await asyncio.to_thread(library.render, _prepare(request, scope), strict=request.strict)
    return rendered.to_dict()


def _prepare(request: ResolveTemplate, scope: Scope) -> PrepareRequest:
    # Texts that were not given keep the defaults of `PrepareRequest`, which are not empty for each of them.
    fields = {name: value for name, value in msgspec.structs.asdict(request).items() if value not in ("", None)}
    del fields["strict"]
    return PrepareRequest(**fields, ceilings=scope.ceilings, user_id=scope.owner.user)


EVALUATE: Final = Operation("tier.evaluate", evaluate, {"text": ("prompt",)}, judged=Judgement.NONE)
RESOLVE: Final = Operation("templates.resolve", resolve, judged=Judgement.NONE)
RENDER: Final = Operation("templates.render", render, judged=Judgement.TASK)
