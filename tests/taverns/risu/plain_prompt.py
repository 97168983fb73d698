"""A prompt as the reference says it, rule by rule (`risuai.md` 12, 13): sections, cards, ranges, depths, merging, the window."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from innkeeper.text.javascript.values import length_of
from tests.shared import VECTORS

Line = dict[str, Any]
BASE: Final = json.loads(Path(VECTORS / "risu" / "_base.json").read_bytes())
ORDER: Final = BASE["formatingOrder_default"]
_NAMES: Final = {"personaPrompt": "persona", "authorNote": "authornote"}


class TooLongError(Exception):
    """The prompt does not fit its window."""


@dataclass
class PlainPrompt:
    """RisuAI's objects, without macros but for names, and the entries that fire: (position, depth, role, order, text)."""

    db: Mapping[str, Any]
    char: Mapping[str, Any]
    chat: Mapping[str, Any]
    lore: list[tuple[str, int, str, int, str]]
    out: list[Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.db, self.char, self.chat = ({**BASE[part], **getattr(self, part)} for part in ("db", "char", "chat"))
        self.cards = self.db.get("promptTemplate")
        self.settings = self.db.get("promptSettings", {}) if self.cards is not None else {}
        self.name = self.char["name"]

    def lines(self) -> list[Line]:
        """The finished lines. Raises `TooLongError`."""
        history = self._trimmed(self.history)
        last = [] if self.cards is not None else [{**history.pop(), "removable": False}]
        history = [each for each in history if each["content"].strip()]
        for position, depth, role, _, text in self._deep:
            at = depth if position == "depth" else len(history) - depth
            history.insert(at if at >= 0 else max(len(history) + at, 0), self._line(role, text))
        if self.cards is None:
            for name in [*self._order, "postEverything"]:
                self._push(
                    {"chats": history, "lastChat": last}.get(name) or self.sections.get(_NAMES.get(name, name), [])
                )
        else:
            self._deal(history)
        for each in self.out:
            each["content"] = each["content"].strip()
        return self._fitted()

    def _expand(self, text: str) -> str:
        return text.replace("{{char}}", self.name).replace("{{user}}", self.db["username"])

    def _line(self, role: str, text: str, **facts: Any) -> Line:
        return {"role": role, "content": self._expand(text), **facts}

    def _entries(self, *positions: str) -> list[tuple[str, int, str, int, str]]:
        final = sorted(self.lore, key=lambda entry: -entry[3])[::-1]
        return [entry for entry in final if entry[0] in positions]

    @property
    def _deep(self) -> list[tuple[str, int, str, int, str]]:
        return [each for each in self._entries("depth", "reverse_depth") if each[0] == "reverse_depth" or each[1] > 0]

    @cached_property
    def sections(self) -> dict[str, list[Line]]:
        """The named parts."""
        db, char = self.db, self.char
        text = char["desc"] + "\n\nDescription of {{char}}: " * bool(char["personality"]) + char["personality"]
        text += "\n\nCircumstances and context of the dialogue: " * bool(char["scenario"]) + char["scenario"]
        own = [self._line(role, entry) for _, _, role, _, entry in self._entries("before_desc")][::-1]
        default = next((card.get("defaultText", "") for card in self.cards or () if card["type"] == "authornote"), "")
        note = self.chat["note"] or default
        end = [(role, entry) for _, depth, role, _, entry in self._entries("depth") if depth == 0]
        main = char["systemPrompt"].replace("{{original}}", db["mainPrompt"]) or db["mainPrompt"]
        behind = char["replaceGlobalNote"].replace("{{original}}", db["globalNote"]) or db["globalNote"]
        return {
            "main": [self._line("system", main)],
            "jailbreak": [self._line("system", db["jailbreak"])] if db["jailbreakToggle"] else [],
            "globalNote": [self._line("system", behind)],
            "description": [
                *own,
                self._line("system", text),
                *(self._line(role, entry) for _, _, role, _, entry in self._entries("after_desc", "scenario")),
            ],
            "persona": [self._line("system", db["personaPrompt"])],
            "authornote": [self._line("system", note)] if note else [],
            "lorebook": [self._line(role, entry) for _, _, role, _, entry in self._entries("")],
            "postEverything": [self._line(*each) for each in sorted(end, key=lambda each: each[0] == "assistant")],
        }

    @cached_property
    def history(self) -> list[Line]:
        """The marker, the greeting, the messages."""
        named, messages = self.settings.get("sendName"), self.chat["message"]
        cut = max((at for at, each in enumerate(messages) if each.get("disabled") == "allBefore"), default=-1)
        lines = [self._line("system", "[Start a new chat]", memo="NewChat")]
        if cut < 0:
            greeting = self._line("assistant", f"{self.name}: " * bool(named) + self.char["firstMessage"])
            lines.append({**greeting, "named": True} if named else greeting)
        for each in messages[cut + 1 :]:
            role, text = "user" if each["role"] == "user" else "assistant", each["data"]
            if named:
                role, text = "user", f"<{self.name}'s Message>\n{text}\n</{self.name}'s Message>"
            lines += [] if each.get("disabled") else [self._line(role, text, memo=each["chatId"])]
        return lines

    @property
    def _order(self) -> list[str]:
        order = list(self.db.get("formatingOrder", ORDER))
        if "personaPrompt" not in order:
            order.insert(order.index("main") if "main" in order else 0, "personaPrompt")
        return order

    # ------------------------------------------------------------------------------------------------------------ cards

    def _deal(self, history: list[Line]) -> None:
        cards = list(self.cards or ())
        automatic = self.db.get("automaticCachePoint") and all(card["type"] != "cache" for card in cards)
        if all(card["type"] != "postEverything" for card in cards):
            cards.append({"type": "postEverything"})
        for card in cards:
            if card["type"] == "cache":
                self._mark(card["depth"], card["role"])
                continue
            self._push(self._of_card(card, history))
            if card["type"] == "chat" and automatic:
                self._mark(3, "user")

    def _of_card(self, card: Mapping[str, Any], history: list[Line]) -> list[Line]:
        kind, own = card["type"], self.char["replaceGlobalNote"]
        if kind == "chat":
            return self._range(card, history)
        if kind == "plain" or (kind == "jailbreak" and self.db["jailbreakToggle"]):
            text = card["text"]
            if card["type2"] == "globalNote" and own:
                text = own.replace("{{original}}", text)
            return [self._line({"bot": "assistant", "user": "user"}.get(card["role"], "system"), text)]
        lines = [{**each} for each in self.sections[kind]] if kind != "jailbreak" else []
        if frame := card.get("innerFormat"):
            return [{**each, "content": self._expand(frame).replace("{{slot}}", each["content"], 1)} for each in lines]
        return lines

    def _range(self, card: Mapping[str, Any], history: list[Line]) -> list[Line]:
        count, start, end = len(history), card["rangeStart"], card["rangeEnd"]
        if start == -1000:
            start, end = 0, "end"
        start = max(count + start, 0) if start < 0 else start
        end = count if end == "end" else max(count + end, 0) if end < 0 else end
        lines = [{**each} for each in history[start:end]] if start < end else []
        if self.settings.get("sendChatAsSystem") and not card.get("chatAsOriginalOnSystem"):
            for each in lines:
                if each["role"] != "system":
                    each["content"] = ("" if each.get("named") else f"{each['role']}: ") + each["content"]
                    each["role"] = "system"
        return lines

    def _mark(self, count: int, role: str) -> None:
        lines = [each for each in self.out if role in ("all", each["role"])]
        for each in lines[max(len(lines) - count, 0) :]:
            each["cachePoint"] = True

    def _push(self, lines: Iterable[Line]) -> None:
        model = self.db["aiModel"]
        merges = model.startswith(("gpt", "claude")) or model in ("openrouter", "reverse_proxy")
        for each in lines:
            if each["content"].strip():
                last = self.out[-1] if self.out else {}
                alike = last.get("role") == each["role"] == "system" and last.get("memo") == each.get("memo")
                if merges and alike:
                    last["content"] += f"\n\n{each['content']}"
                else:
                    self.out.append({**each})

    # ----------------------------------------------------------------------------------------------------------- window

    def _cost(self, line: Line) -> int:
        return -(-length_of(line["content"]) // 4) + (5 if self.db["aiModel"].startswith("gpt") else 3)

    def _trimmed(self, history: list[Line]) -> list[Line]:
        total = self.db["maxResponse"] + 50
        cards = self.cards or [{"type": name, "innerFormat": ""} for name in self.sections if self.cards is None]
        if self.cards is None:
            total += sum(self._cost(each) for part in self.sections.values() for each in part)
        elif all(card["type"] != "postEverything" for card in cards):
            cards = [*cards, {"type": "postEverything"}]
        for card in cards if self.cards is not None else ():
            if card["type"] not in ("chat", "cache"):
                total += sum(self._cost(each) for each in self._of_card(card, []) if each["content"].strip())
        total += sum(self._cost(each) for each in history if each.get("memo") != "NewChat")
        total += sum(self._cost(self._line(role, text)) for _, _, role, _, text in self._deep)
        while total > self.db["maxContext"]:
            if len(history) == 1:
                raise TooLongError
            total -= self._cost(history[0])
            history = history[1:]
        return [{**each, "removable": True} for each in history]

    def _fitted(self) -> list[Line]:
        total, lines = sum(map(self._cost, self.out)), []
        for each in self.out:
            if total > self.db["maxContext"] and each.get("removable"):
                total -= self._cost(each)
            else:
                lines.append(each)
        if total > self.db["maxContext"]:
            raise TooLongError
        return lines
