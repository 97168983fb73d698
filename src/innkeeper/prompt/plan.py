"""Plan: what every tavern produces: ordered blocks, and everything there is to report about them."""

from __future__ import annotations

import hashlib
from copy import copy
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.prompt.allowance import charge
from innkeeper.prompt.block import Block, InsertionPoint, Origin, OriginAsset, join_pieces, strip_pieces
from innkeeper.prompt.data import EMPTY, FrozenDict, plain_data, to_json
from innkeeper.prompt.errors import UsageError
from innkeeper.prompt.message import Message
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.prompt.payload.dialect import (
    REPLY_LIMITS,
    Dialects,
    Payload,
    Tool,
    known_options,
    needed_limit,
    reply_limit,
)
from innkeeper.prompt.request import BuildRequest, ReplayBundle
from innkeeper.prompt.text import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from innkeeper.prompt.note import Trace
    from innkeeper.prompt.payload.source_map import SourceMap
    from innkeeper.prompt.run.state import ExplainedPlan, PlanDifference, PlannedCache, TokenCounter


FINGERPRINT_VERSION: Final = "innkeeper-plan-1"
"""Part of every fingerprint; changes when the same plan would hash differently."""


_ID: Final = attrgetter("id")
_ENABLED: Final = attrgetter("enabled")

_STEPS_A_MESSAGE: Final = 60


class Plan(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a model will get, and why. Frozen: nothing rewrites a prompt after its plan.

    ``blocks`` are in prompt order, disabled ones included. ``warnings`` say what was wrong with the data, ``notes`` what was
    ignored, lost, repaired or estimated. ``options`` are request options for the model, ``stop`` its stop strings,
    ``variables`` the chat's variables after the build, ``carry`` what the next build of this chat wants as ``lore_state``.
    ``stored`` is what the tavern's original would keep in the chat's file after this build, for `ChatLog.with_`:
    ``chat_metadata``, ``messages`` by index, and ``message``, the user's words as they are kept, with ``message_bias``, how they
    ask a reply to begin (``extra.bias``), and ``message_hidden`` where they do nothing else; ``None`` where nobody knows.
    ``dialect_options`` are what a dialect is always given, by its name. ``unreplayable`` names inputs that were not data,
    ``counted_by`` the counter that a replay asks for, where it is not the usual one.
    ``dialects`` (the registry it is rendered by), ``explainer``, ``comparer`` and ``cache_planner`` (what `explain`, `diff` and
    `cache_plan` ask) and ``guard`` (what refuses a rendering that is larger than the window) are filled in by the tavern; a plan
    made by hand wants ``dialects=innkeeper.dialects.DIALECTS`` and is explained by ``innkeeper.budget.explain(plan)``.
    """

    blocks: tuple[Block, ...] = ()
    tavern: str = ""
    profile: str | None = None
    model: str | None = None
    dialect: str | None = None
    warnings: tuple[Note, ...] = ()
    notes: tuple[Note, ...] = ()
    options: FrozenDict = EMPTY
    stop: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    outlets: FrozenDict = EMPTY
    greeting: str | None = None
    greeting_index: int | None = None
    lore: Any = None
    carry: Any = None
    stored: FrozenDict | None = None
    trim_report: Any = None
    trace: Trace | None = None
    variables: FrozenDict = EMPTY
    request: BuildRequest | None = None
    unreplayable: tuple[str, ...] = ()
    counted_by: str = ""
    dialects: Dialects | None = None
    dialect_options: FrozenDict = EMPTY
    explainer: Any = None
    comparer: Any = None
    cache_planner: Any = None
    guard: Any = None

    def __post_init__(self) -> None:
        """Give blocks without an id one made of their slot and position, so that equal plans have equal ids."""
        if not all(map(_ID, self.blocks)):
            msgspec.structs.force_setattr(self, "blocks", _named(self.blocks))

    def with_(self, **fields: Any) -> Plan:
        """A copy with other fields. Raises `UsageError` for an unknown one."""
        copied = copy(self)  # which does not look through all blocks for their ids again
        for name, value in fields.items():
            if name not in self.__struct_fields__:
                raise UsageError(f"a plan has no field {name!r}")
            msgspec.structs.force_setattr(copied, name, value)
        if copied.blocks is not self.blocks:
            copied.__post_init__()
        return copied

    def with_blocks(self, blocks: Iterable[Block]) -> Plan:
        """A copy with other blocks. Raises `UsageError` for anything that is not a `Block`."""
        others = tuple(blocks)
        for block in others:
            if not isinstance(block, Block):
                raise UsageError(f"a plan holds Block values, not {kind_of(block)}")
        return self.with_(blocks=others)

    def append(self, block: Block) -> Plan:
        """A copy with ``block`` at the end."""
        return self.with_blocks((*self.blocks, block))

    def insert_before(self, slot: str, block: Block) -> Plan:
        """A copy with ``block`` before the first block of ``slot``, or at the end when there is none."""
        indexes = [index for index, other in enumerate(self.blocks) if other.slot == slot]
        return self._inserted(indexes[0] if indexes else len(self.blocks), block)

    def insert_after(self, slot: str, block: Block) -> Plan:
        """A copy with ``block`` after the last block of ``slot``, or at the end when there is none."""
        indexes = [index for index, other in enumerate(self.blocks) if other.slot == slot]
        return self._inserted(indexes[-1] + 1 if indexes else len(self.blocks), block)

    def _inserted(self, index: int, block: Block) -> Plan:
        return self.with_blocks((*self.blocks[:index], block, *self.blocks[index:]))

    @property
    def enabled_blocks(self) -> tuple[Block, ...]:
        """The blocks that reach the model."""
        return self.blocks if all(map(_ENABLED, self.blocks)) else tuple(filter(_ENABLED, self.blocks))

    def sent_blocks(
        self, *, squash: bool = False, keep_apart: Callable[[Block], bool] | None = None
    ) -> tuple[Block, ...]:
        """Return the enabled blocks as they are sent: adjacent in-chat blocks of one role, depth and order are joined.

        ``squash`` also joins neighbouring plain system blocks, except those for which ``keep_apart`` is true.
        """
        blocks, in_chat = self.enabled_blocks, InsertionPoint.IN_CHAT
        if any([block.insertion_point is in_chat for block in blocks]):  # noqa: C419 - twice as quick
            blocks = _merged(blocks, _same_position)
        if not squash:
            return blocks
        filled = tuple(b for b in blocks if not (b.role == "system" and not b.content and _plain(b)))
        return _merged(filled, lambda a, b: _squashable(a, keep_apart) and _squashable(b, keep_apart), strip=False)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages a dialect is given."""
        return tuple([block.message() for block in self.sent_blocks()])

    def render(
        self,
        dialect: str | None = None,
        *,
        squash_system_messages: bool = False,
        dialects: Dialects | None = None,
        **options: Any,
    ) -> Payload:
        """The messages in a dialect's shape with the dialect's notes.

        Raises:
            UnknownNameError: an unknown dialect.
            MaxTokensExceededError: the dialect makes one text of the messages, and with options that the build did not know
                it is larger than the window. So for all that renders: `to_messages`, `to_request`, `fingerprint`.
        """
        messages = tuple([block.message() for block in self.sent_blocks(squash=squash_system_messages)])
        charge("dialects", _STEPS_A_MESSAGE * len(messages))
        name = dialect or self.dialect or "openai"
        own = self.dialect_options.get(name, EMPTY)
        payload = self._registry(dialects)[name].messages(messages, {**own, **options})
        return self._checked(payload, name, options)

    def to_messages(self, dialect: str | None = None, **options: Any) -> Any:
        """The messages in a dialect's shape: a list for ``openai``, a dict where system text is apart.

        ``squash_system_messages`` joins neighbouring system messages; other options go to the dialect, and one that it does not
        know is a `UsageError`.
        """
        return known_options(self.render(dialect, **options), options).body

    def to_request(self, dialect: str | None = None, *, dialects: Dialects | None = None, **options: Any) -> Payload:
        """The whole provider request: model, messages, tools, and this plan's options under ``options``. Raises as `render`."""
        name = dialect or self.dialect or "openai"
        own = self.dialect_options.get(name, EMPTY)
        limits = REPLY_LIMITS if reply_limit(options) else ()  # one that is given here is in the place of the plan's
        plans = {name: value for name, value in self.options.items() if name not in limits}
        merged = {**own, **plans, **({"stop": list(self.stop)} if self.stop else {}), **options}
        shape = self._registry(dialects)[name]
        needed = 0 if self.guard is None or reply_limit(merged) else needed_limit(shape)
        limit = self.guard.free_for_answer(needed) if needed else None
        if limit is not None:
            merged["max_tokens"] = limit
        messages = self.messages
        charge("dialects", _STEPS_A_MESSAGE * len(messages))
        payload = shape.request(messages, model=self.model, options=merged, tools=self.tools)
        if limit is not None:
            note = Note(
                NoteKind.REPAIR, f"{name}: max_tokens must be given: {limit} was put in, of what is free in the window"
            )
            payload = Payload(payload.body, (*payload.notes, note))
        return self._checked(payload, name, options)

    def _checked(self, payload: Payload, dialect: str, options: Mapping[str, Any]) -> Payload:
        """The payload; one that the build has not counted, since it did not know how it would be rendered, is counted first."""
        if self.guard is not None and (options or dialect != self.dialect):
            self.guard.check(payload, self, dialect, options)
        return payload

    def fingerprint(self, dialect: str | None = None, **options: Any) -> str:
        """SHA-256 (hex) of what the model would get in a dialect: messages, attachments, model, options, stop, tools."""
        return self.fingerprint_of(self.to_messages(dialect, **options), dialect)

    def fingerprint_of(self, messages: Any, dialect: str | None = None) -> str:
        """The `fingerprint` for whoever has what `to_messages` gives in this dialect."""
        name = dialect or self.dialect or "openai"
        media = [[plain_data(item) for item in block.attachments] for block in self.enabled_blocks]
        facts = {
            "version": FINGERPRINT_VERSION,
            "dialect": name,
            "model": self.model,
            "messages": messages,
            "attachments": [item for item in media if item],
            "options": self.options,
            "stop": self.stop,
            "tools": [plain_data(tool) for tool in self.tools],
        }
        return hashlib.sha256(to_json(facts)).hexdigest()

    def source_map(self, dialect: str | None = None, *, request: bool = False, **options: Any) -> SourceMap:
        """Map each character of the payload to its source: block, origin, or the dialect itself; see `SourceMap`.

        Of `to_messages`, or with ``request`` of `to_request`.
        """
        from innkeeper.prompt.payload.source_map import source_map

        return source_map(self, dialect, request=request, **options)

    def replay(self, dialect: str | None = None) -> ReplayBundle:
        """The request and the fingerprint it must give again. Raises `ReplayError` when it held more than data."""
        return ReplayBundle.of(self, dialect)

    def explain(self, counter: TokenCounter | None = None) -> ExplainedPlan:
        """Explain what is in this plan and why, with tokens: see `innkeeper.budget.explain`. ``counter`` is built in by default.

        Raises `UsageError` for a plan that no tavern built.
        """
        if self.explainer is None:
            raise UsageError("this plan was not built by a tavern", hint="use innkeeper.budget.explain(plan)")
        explained: ExplainedPlan = self.explainer(self, counter)
        return explained

    def diff(self, other: Plan, counter: TokenCounter | None = None) -> PlanDifference:
        """Say what ``other`` has that this plan has not: see `innkeeper.budget.PlanDiff`.

        Raises `UsageError` for a plan that no tavern built, and `LimitError` for too many messages.
        """
        if self.comparer is None:
            raise UsageError("this plan was not built by a tavern", hint="use innkeeper.budget.plan_diff(plan, other)")
        difference: PlanDifference = self.comparer(self, other, counter)
        return difference

    def cache_plan(
        self, provider: str | None = None, previous: Plan | None = None, *, lifetime: str | None = None
    ) -> PlannedCache:
        """Say what a provider's cache will read, store and cost, and why not more: see `innkeeper.budget.CachePlan`.

        ``previous`` is what was sent before. Raises `UsageError` for a plan that no tavern built and where no provider is known,
        `UnknownNameError` for a provider or lifetime without a rule.
        """
        if self.cache_planner is None:
            raise UsageError(
                "this plan was not built by a tavern", hint="use innkeeper.budget.cache_plan(plan, provider)"
            )
        planned: PlannedCache = self.cache_planner(self, provider, previous, lifetime=lifetime)
        return planned

    def __repr__(self) -> str:
        """Return the names and the counts, without the texts, which may be private."""
        names = f"tavern={self.tavern!r}, model={self.model!r}, dialect={self.dialect!r}"
        counts = f"blocks={len(self.blocks)}, sent={len(self.enabled_blocks)}, warnings={len(self.warnings)}"
        return f"Plan({names}, {counts}, notes={len(self.notes)})"

    def _repr_html_(self) -> str:
        """The messages as notebooks show them: each text in the colour of its asset."""
        from innkeeper.prompt.payload.source_map import plan_html

        return plan_html(self)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts about the plan: blocks with origins, warnings, notes, reports. For ``--json`` and HTTP."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__ if name not in _APART}
        # reports are asked themselves, for they have figures that follow from their fields
        data = {name: value.to_dict() if hasattr(value, "to_dict") else value for name, value in fields.items()}
        facts: dict[str, Any] = msgspec.to_builtins(data, enc_hook=_encode)
        return {key: value for key, value in facts.items() if value not in (None, [], (), {}, "")}

    def _registry(self, dialects: Dialects | None) -> Dialects:
        registry = self.dialects if dialects is None else dialects
        if registry is None:
            hint = "pass dialects=innkeeper.dialects.DIALECTS, to the call or to Plan(...)"
            raise UsageError("this plan was not built by a tavern and has no dialects", hint=hint)
        return registry


def _named(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    named, ids = list(blocks), list(map(_ID, blocks))
    taken = set(ids)
    for index in [index for index, id_ in enumerate(ids) if not id_]:
        block = blocks[index]
        name = f"{block.slot or block.role}-{index}"
        while name in taken:
            name += "+"
        taken.add(name)
        named[index] = msgspec.structs.replace(block, id=name)
    return tuple(named)


_APART: Final = frozenset({"dialects", "explainer", "comparer", "cache_planner", "guard", "request"})


def _encode(value: Any) -> Any:
    return value.to_dict() if hasattr(value, "to_dict") else str(value)


def _plain(block: Block) -> bool:
    return not (block.attachments or block.message_metadata)


def _same_position(a: Block, b: Block) -> bool:
    in_chat = a.insertion_point is InsertionPoint.IN_CHAT is b.insertion_point
    return in_chat and _plain(a) and _plain(b) and (a.role, a.depth, a.order) == (b.role, b.depth, b.order)


def _squashable(block: Block, keep_apart: Callable[[Block], bool] | None) -> bool:
    apart = keep_apart is not None and keep_apart(block)
    return block.role == "system" and not block.name and _plain(block) and not apart


def _merged(
    blocks: tuple[Block, ...], together: Callable[[Block, Block], bool], *, strip: bool = True
) -> tuple[Block, ...]:
    merged: list[Block] = []
    for block in blocks:
        if merged and together(merged[-1], block):
            merged[-1] = _joined(merged[-1], block, strip=strip)
        else:
            merged.append(block)
    return tuple(merged)


def _joined(first: Block, second: Block, *, strip: bool) -> Block:
    texts = [b.content.strip() if strip else b.content for b in (first, second)]
    content = "\n".join(text for text in texts if text)
    if not (first.pieces or second.pieces or first.origin or second.origin):
        return first.with_(content=content)
    runs = [strip_pieces(b.ranges()) if strip else b.ranges() for b in (first, second)]
    return first.with_(content=content, pieces=join_pieces(runs, "\n", _SEPARATOR))


_SEPARATOR: Final = Origin(OriginAsset.ENGINE, "separator")
"""The origin of the line breaks between joined blocks."""
