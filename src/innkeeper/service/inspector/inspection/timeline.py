"""Timeline: the turns of a workspace's chat, each built as the page shows it where the chat is cut there.

A turn is kept as long as nothing changes that it is made of; what is typed as the next message changes none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.budget import accounting
from innkeeper.budget.cache_rules import RULES, cache_rule
from innkeeper.prompt.allowance import apart
from innkeeper.prompt.block import OriginAsset
from innkeeper.service.inspector.inspection.origins import colour_of
from innkeeper.service.inspector.inspection.planning import planned
from innkeeper.service.inspector.views.timeline import (
    AssetTokens,
    TimelineRequest,
    TimelineView,
    TurnEntryView,
    TurnView,
)
from innkeeper.service.inspector.views.workspace import SettingsChange, Variation, view_of
from innkeeper.taverns.timeline import CACHE, timeline_turn

if TYPE_CHECKING:
    from innkeeper.content.chat import ChatLog
    from innkeeper.prompt import Plan
    from innkeeper.service.inspector.workspace.workspace import OpenWorkspace

MAX_TURNS_AT_ONCE: Final = 20
"""Turns of one answer of a timeline (no error: the page asks for the others)."""

_PLANS: Final = 8
"""The last plans that are kept: what is asked for next are turns before those of now, the last of which is known then."""

PROVIDERS: Final = tuple(sorted({name for rule in RULES for name in rule.providers}))
"""Those whose caches are known."""


class ChatTimeline:
    """The turns of one workspace's chat that are known."""

    def __init__(self) -> None:
        self._facts: Any = None
        self._messages: tuple[Any, ...] = ()
        self._turns: dict[tuple[int, str], TurnView] = {}
        self._plans: dict[int, Plan] = {}

    def view(self, workspace: OpenWorkspace, request: TimelineRequest) -> TimelineView:
        """Some of the turns. Raises what building raises, and `UnknownNameError` for the provider."""
        provider, file = request.provider or CACHE, workspace.chat_file
        cache_rule(provider)
        chat = None if file is None else file.asset
        self._refresh(workspace, chat)
        turns = () if chat is None else chat.turns
        end = len(turns) if request.before is None else min(max(request.before, 0), len(turns))
        first = max(end - min(max(request.count, 0), MAX_TURNS_AT_ONCE), 0)
        views = tuple([self._turn(workspace, turns, number, provider) for number in range(first, end)])
        return TimelineView(first, len(turns), provider, PROVIDERS, views)

    def _refresh(self, workspace: OpenWorkspace, chat: ChatLog | None) -> None:
        """Forget what is made of something that is other now."""
        others = tuple((file.id, file.asset) for file in workspace.used_files() if file.kind != "chat")
        settings = msgspec.structs.replace(workspace.settings, message=None, turn=None)
        facts = (settings, [name for name, _ in others], None if chat is None else chat.header)
        before, messages = self._facts, () if chat is None else chat.messages
        same = before is not None and before[0] == facts
        if not (same and all(one is other for (_, one), (_, other) in zip(before[1], others, strict=True))):
            self._turns.clear()
            self._plans.clear()
        self._facts = (facts, others)
        pairs = enumerate(zip(self._messages, messages, strict=False))
        length = min(len(self._messages), len(messages))
        same_until = next((index for index, (one, other) in pairs if one is not other), length)
        self._turns = {key: turn for key, turn in self._turns.items() if turn.message < same_until}
        self._plans = {index: plan for index, plan in self._plans.items() if index < same_until}
        self._messages = messages

    def _turn(self, workspace: OpenWorkspace, turns: tuple[int, ...], number: int, provider: str) -> TurnView:
        known = self._turns.get((number, provider))
        if known is not None:
            return known
        before = None if number == 0 else self._plan(workspace, turns[number - 1])
        plan = self._plan(workspace, turns[number])
        turn = timeline_turn(turns[number], plan, before, provider)
        entries = tuple([view_of(TurnEntryView, entry) for entry in turn.entries])
        view = view_of(TurnView, turn, entries=entries, assets=tuple(_assets(plan)))
        return self._turns.setdefault((number, provider), view)

    def _plan(self, workspace: OpenWorkspace, message: int) -> Plan:
        """The prompt in which a message of the chat is answered."""
        if message not in self._plans:
            text = self._messages[message].text
            with apart():
                plan = planned(workspace, Variation(settings=SettingsChange(turn=message, message=text)))
            self._plans = dict([*self._plans.items(), (message, plan)][-_PLANS:])
        return self._plans[message]


def _assets(plan: Plan) -> Iterator[AssetTokens]:
    """The tokens by where their text came from, as the page's own legend has them: a message's are shared by its characters."""
    sums: dict[str, float] = {}
    for block, line in zip(plan.sent_blocks(), accounting(plan).lines, strict=True):
        for piece in block.ranges():
            asset = OriginAsset.UNKNOWN if piece.origin is None else piece.origin.asset
            sums[asset] = sums.get(asset, 0) + line.tokens * len(piece.text) / len(block.content)
    known = ((str(asset), tokens) for asset, tokens in sums.items() if asset != OriginAsset.UNKNOWN)
    return (AssetTokens(asset, colour_of(asset), round(tokens)) for asset, tokens in known)
