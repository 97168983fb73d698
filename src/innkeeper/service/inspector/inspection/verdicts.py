"""Verdicts: why each lorebook entry is in the prompt or not, with the place in its file, and where in the chat its key is."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from innkeeper.content.chat import ChatLog
from innkeeper.lore.matcher import LAST_MESSAGE
from innkeeper.service.inspector.views.inspection import GroupContest, KeyMatch, Roll, TimedEffect, VerdictView
from innkeeper.service.inspector.views.workspace import Variation, view_of
from innkeeper.tokens import default_counter

if TYPE_CHECKING:
    from innkeeper.content.entry import LorebookEntry
    from innkeeper.lore import Verdict as LoreVerdict
    from innkeeper.lore.compiled import CompiledEntry
    from innkeeper.prompt import Plan
    from innkeeper.service.inspector.inspection.origins import Origins
    from innkeeper.service.inspector.workspace.workspace import InspectionCache, OpenWorkspace


_FROM_END: Final = re.compile(r"message (\d+) from the end")
_TIMED: Final = frozenset({"sticky", "cooldown", "delay"})


def verdict_views(
    workspace: OpenWorkspace, plan: Plan, origins: Origins, cache: InspectionCache, variation: Variation | None = None
) -> tuple[VerdictView, ...]:
    """A view for each verdict of a plan, in its order; those of ``cache`` that are made of the same are as they were."""
    lore = plan.lore
    verdicts = getattr(lore, "verdicts", ())
    if not verdicts:
        return ()
    entries = getattr(lore, "entries", ())
    texts = {(item.book, item.uid): item.content for item in getattr(lore, "activated", ())}
    matches = _Matches(workspace, plan, origins, variation)
    counter, seen = default_counter(), dict[tuple[str, int | str], int]()
    views: list[_CachedView] = []
    moved = cache.entries is not origins.entries
    for index, (verdict, entry) in enumerate(zip_longest(verdicts, entries)):
        key = (verdict.book, verdict.uid)
        number = seen[key] = seen.get(key, -1) + 1
        before = cache.verdicts[index] if index < len(cache.verdicts) else None
        if moved or before is None or not before.is_still(verdict):
            source = origins.verdict_source(verdict, number)
            own = None if entry is None else entry.entry
            text = texts.get(key) if verdict.fired else None
            tokens = None if text is None else counter.count(text, plan.model)
            if before is None or not before.is_of(verdict, own, source, tokens):
                before = _CachedView(
                    verdict, own, source, _view(index, verdict, entry, number, source, tokens, matches)
                )
        views.append(before)
    cache.verdicts, cache.entries = views, origins.entries
    return tuple([cached.view for cached in views])


class _CachedView(NamedTuple):
    """A verdict whose view was made. One that a key decided is not kept: where the key is may be elsewhere."""

    verdict: LoreVerdict
    entry: LorebookEntry | None
    source: Any
    view: VerdictView

    def is_still(self, verdict: LoreVerdict) -> bool:
        """Whether the view is the same, where the entry is where it was: for verdicts that are kept from scan to scan."""
        return self.verdict is verdict and not verdict.fired and "span" not in verdict.facts

    def is_of(self, verdict: LoreVerdict, entry: LorebookEntry | None, source: Any, tokens: int | None) -> bool:
        """Whether the view would be the same."""
        if self.entry is not entry or "span" in verdict.facts or self.view.tokens != tokens:
            return False
        same = (self.source is None) is (source is None)
        if same and source is not None:
            same = self.source[0] is source[0] and self.source[1] == source[1]
        return bool(same and self.verdict == verdict)


def _view(
    index: int,
    verdict: LoreVerdict,
    entry: CompiledEntry | None,
    number: int,
    source: Any,
    tokens: int | None,
    matches: _Matches,
) -> VerdictView:
    facts, reason = verdict.facts, verdict.reason.value
    file, path = (None, ()) if source is None else (source[0].id, source[1])
    own = None if entry is None else entry.entry
    name = f"{file or verdict.book}:{'/'.join(map(str, path)) or verdict.uid}"
    effect: Any = reason if reason in _TIMED else None
    # Entries of the smart tavern have their depth and role among the facts.
    position = f"depth {facts['depth']}, {facts['role']}" if {"depth", "role"} <= facts.keys() else None
    return view_of(
        VerdictView,
        verdict,
        id=f"{name}#{number}" if number and not path else name,
        file=file,
        path=path,
        index=index,
        reason=reason,
        parameters=verdict.reason.parameters(facts),
        key=facts.get("key"),
        at=matches.at(facts) if "span" in facts else None,
        pass_=facts.get("loop"),
        group=GroupContest(str(facts["group"]), _text(facts.get("winner")), _text(facts.get("how")))
        if "group" in facts
        else None,
        roll=Roll(facts["roll"], facts.get("probability")) if "roll" in facts else None,
        timed=None if effect is None else TimedEffect(effect, facts.get("until")),
        tokens=tokens,
        position=position if own is None else own.position.value,
        order=_whole(facts.get("order") if own is None else own.order),
    )


def _whole(number: Any) -> int | None:
    return int(number) if isinstance(number, (int, float)) and math.isfinite(number) else None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


class _Matches:
    """Where keys matched, in messages as they are written: searched are names before them, and texts that scripts changed."""

    def __init__(self, workspace: OpenWorkspace, plan: Plan, origins: Origins, variation: Variation | None) -> None:
        request = plan.request
        self._searched: tuple[str, ...] = getattr(plan.lore, "searched", ())
        self._new = (request.message or "") if request is not None else ""
        file = next((one for one in workspace.used_files(variation) if one.kind == "chat"), None)
        chat = None if file is None else file.built_of(saved=variation is not None and variation.saved)
        self._chat = chat if isinstance(chat, ChatLog) else ChatLog()
        turn = workspace.settings_of(variation).turn
        limit = len(self._chat.messages) if turn is None else turn
        messages = self._chat.messages
        self._lines = [index for index in origins.lines if index < limit and not messages[index].hidden]

    def at(self, facts: Mapping[str, Any]) -> KeyMatch | None:
        """The place; None where the text is none of the chat."""
        start, end = facts["span"]
        place = str(facts.get("place", ""))
        match = _FROM_END.fullmatch(place)
        back = 0 if place == LAST_MESSAGE else int(match[1]) - 1 if match is not None else len(self._searched)
        if back >= len(self._searched):
            return KeyMatch("other", None, start, end)
        searched = self._searched[back]
        if self._new:
            if back == 0:
                return _placed(None, self._new, searched, start, end)
            back -= 1
        if back >= len(self._lines):
            return KeyMatch("other", None, start, end)
        index = self._lines[-1 - back]
        return _placed(index, self._chat.messages[index].text, searched, start, end)


def _placed(index: int | None, text: str, searched: str, start: int, end: int) -> KeyMatch:
    """The place in a message as it is written, of one in the text that was searched for it."""
    before = len(searched) - len(text)
    if before >= 0 and searched.endswith(text) and start >= before:
        return KeyMatch("chat", index, start - before, end - before)
    at = text.find(searched[start:end])
    return KeyMatch("chat", index, at, at + end - start) if at >= 0 else KeyMatch("other", index, start, end)
