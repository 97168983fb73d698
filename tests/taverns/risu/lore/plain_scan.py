"""A scan of lore as the reference says it, rule by rule, without any care for speed (`risuai.md` 9.2, 9.3)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from innkeeper.prompt.determinism import Mulberry32
from innkeeper.taverns.risu.lore.decorators import Decorators, read_decorators
from innkeeper.text.javascript.values import length_of

Text = tuple[str, str]


class PlainScan(NamedTuple):
    """A scan: what is scanned, and by which settings. Entries are as RisuAI stores them, each with an id."""

    entries: Sequence[dict[str, Any]]
    messages: Sequence[Text]
    variables: dict[str, str]
    depth: float = 5
    budget: int = 800
    full: bool = False
    recursive: bool = True
    greeting: int = 0
    leak: bool = False

    def run(self) -> tuple[list[str], list[Text]]:
        """Return the texts in their final order, and the log of matches. Variables are changed in place."""
        chance, log, spread = Mulberry32(42), list[Text](), list[Text]()
        active: dict[int, tuple[Decorators, dict[str, Any]]] = {}
        seen, again = set[str](), True
        while again:
            again = False
            for index, entry in enumerate(self.entries):
                if index in active or not (entry["alwaysActive"] or entry["key"]):
                    continue
                head = read_decorators(entry["content"])
                seen |= {*head.forces}
                if not self._fires(entry, head, spread, log, chance):
                    continue
                active[index] = head, entry
                for force, prefix in (("keep", "ka"), ("leave", "da")):
                    if force in (seen if self.leak else head.forces):
                        self.variables[f"__internal_{prefix}_{entry['id']}"] = "true"
                if self.recursive if head.feeds_recursion is None else head.feeds_recursion:
                    name = entry["comment"] or f"lorebook {index}"
                    spread.append((f"lorebook {name}", head.text))
                    again = True
        return [head.text for head, _ in self._chosen(list(active.values()))], log

    def _fires(
        self, entry: dict[str, Any], head: Decorators, spread: list[Text], log: list[Text], chance: Mulberry32
    ) -> bool:
        fires = self._conditions_hold(head, chance)
        forced = self._forced(entry, head)
        if forced is not None or not fires or entry["alwaysActive"]:
            return fires if forced is None else forced
        return self._keys_hold(entry, head, spread, log)

    def _conditions_hold(self, head: Decorators, chance: Mulberry32) -> bool:
        length, fires = len(self.messages) + 1, True
        for condition in head.conditions:
            number = condition.number
            if condition.name == "probability":
                fires &= not chance.random() * 100 > number
            elif condition.name == "is_greeting":
                fires &= self.greeting == number
            elif condition.name == "activate_only_after":
                fires &= length >= number
            else:
                fires &= number != 0 and math.fmod(length, number) == 0
        return fires

    def _forced(self, entry: dict[str, Any], head: Decorators) -> bool | None:
        forced = None
        for force in head.forces:
            recorded = {"keep": "ka", "leave": "da"}.get(force)
            if recorded is None or self.variables.get(f"__internal_{recorded}_{entry['id']}") == "true":
                forced = force in ("activate", "keep")
        return forced

    def _keys_hold(self, entry: dict[str, Any], head: Decorators, spread: list[Text], log: list[Text]) -> bool:
        window = self._window(self.depth if head.scan_depth is None else head.scan_depth)
        texts = [(f"message {at} by {role}", text) for at, (role, text) in enumerate(window)]
        texts += spread if head.searches_recursion else []
        words = self.full if head.full_words is None else head.full_words
        queries = [(query.keys, query.excludes, query.every) for query in head.queries]
        queries.append((entry["key"].split(","), False, False))
        if entry["selective"] and entry["secondkey"]:
            queries.append((entry["secondkey"].split(","), False, False))
        for keys, excludes, every in queries:
            if excludes is self._holds(
                [key.strip() for key in keys if key.strip()], texts, log, words=words, every=every
            ):
                return False
        return True

    def _window(self, depth: float) -> Sequence[Text]:
        count = len(self.messages)
        if depth <= 0:
            return ()
        begin = count - int(depth)
        return self.messages[begin if begin >= 0 else max(begin + count, 0) :]

    @staticmethod
    def _holds(keys: Sequence[str], texts: Sequence[Text], log: list[Text], *, words: bool, every: bool) -> bool:
        hits = 0
        for name, text in texts:
            searched = re.sub(r"\{\{(?://|comment:).*?\}\}", "", text.lower())
            for key in keys:
                lowered = key.lower()
                hit = lowered in searched.split(" ") if words else lowered.replace(" ", "") in searched.replace(" ", "")
                if hit:
                    log.append((name, key))
                    if not every:
                        return True
                    hits += 1
        return 0 < hits == len(keys) * len(texts)

    def _chosen(self, active: list[tuple[Decorators, dict[str, Any]]]) -> list[tuple[Decorators, dict[str, Any]]]:
        used, chosen = 0, []
        for each in sorted(
            active, key=lambda one: -(one[1]["insertorder"] if one[0].priority is None else one[0].priority)
        ):
            tokens = -(-length_of(each[0].text) // 4)
            if used + tokens <= self.budget:
                used += tokens
                chosen.append(each)
        return sorted(chosen, key=lambda one: -one[1]["insertorder"])[::-1]
