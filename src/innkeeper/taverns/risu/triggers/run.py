"""Running triggers: which of them run, their effects one after the other, with branches and loops.

Nothing is changed in place: the outcome has the chat's messages, the variables that were written, and what else was changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from innkeeper.prompt.errors import LimitError
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.taverns.risu.triggers import chat, values
from innkeeper.taverns.risu.triggers.conditions import all_hold, compares
from innkeeper.taverns.risu.triggers.state import (
    MAX_TRIGGER_CALLS,
    Operands,
    Trigger,
    TriggerInputs,
    TriggerOutcome,
    TriggerState,
)

_NESTED_RUNS: Final = 10
_SAFE_DISPLAY: Final = ("v2GetDisplayState", "v2SetDisplayState")
_SAFE_REQUEST: Final = (
    "v2GetRequestState", "v2SetRequestState", "v2GetRequestStateRole", "v2SetRequestStateRole", "v2GetRequestStateLength",
)  # fmt: skip
_FLOW: Final = ("v2If", "v2IfAdvanced", "v2Else", "v2EndIndent", "v2LoopNTimes", "v2BreakLoop", "v2StopTrigger")
_OWN: Final = frozenset({*_SAFE_DISPLAY, *_SAFE_REQUEST})
_SAFE_VALUES: Final = frozenset({*values.OUTPUTS, *values.ACTIONS, *values.CHANGED_LISTS, *values.READ_LISTS}) - {
    "v2ReplaceString"
}
_SAFE: Final[Mapping[str, frozenset[str]]] = {
    mode: frozenset({*_FLOW, *own, *(kind for kind in _SAFE_VALUES if "Dict" not in kind)})
    for mode, own in (("display", _SAFE_DISPLAY), ("request", _SAFE_REQUEST))
}
"""The effects of triggers that rewrite a shown text or a request; all others are passed over."""

_SILENT: Final = frozenset(
    {"v2Loop", "v2LoopNTimes", "v2Comment", "v2Header", "v2ConsoleLog", "v2UpdateGUI", "v2UpdateChatAt", "v2Wait"}
)
"""Effects that a prompt knows nothing of."""


def run_triggers(
    triggers: Sequence[Trigger], mode: str, inputs: TriggerInputs, *, name: str | None = None
) -> TriggerOutcome | None:
    """Run the triggers of a mode, or those of a name; ``None`` where there are no triggers at all.

    Raises:
        LimitError: they take more effects, characters or triggers inside one another than their limits allow.
    """
    if not triggers:
        return None
    state = TriggerState(inputs, mode)
    _Runs(state, triggers).run(mode, name)
    texts = {"display_data": inputs.display_data, **state.texts}
    return TriggerOutcome(
        messages=tuple(state.messages),
        variables=dict(state.written),
        temporary=dict(state.temporary),
        prompts=dict(state.prompts),
        tokens=sum(inputs.count(text) for text in state.prompts.values() if text),
        stop_sending=state.stop_sending,
        send_prompt=state.send_prompt,
        lorebook=tuple(state.lorebook) if state.lorebook_changed else None,
        notes=tuple(dict.fromkeys(state.notes)),
        **texts,
    )


@dataclass
class _Runs:
    """The triggers of one call, and how many others they have called, those that called them included."""

    state: TriggerState
    triggers: Sequence[Trigger]
    calls: int = 0
    depth: int = 0

    def run(self, mode: str, name: str | None) -> None:
        """Run the triggers of a mode, or of a name."""
        self.state.local = {}
        for trigger in self.triggers:
            self.state.step()
            is_meant = trigger.type == mode if name is None else trigger.name == name
            if is_meant and all_hold(trigger.conditions, self.state):
                _Effects(self, trigger).run()

    def call(self, name: str, *, low_level: bool) -> None:
        """Run the triggers of a name: ten times for all that the first one calls, more often only with low-level access."""
        if self.calls >= _NESTED_RUNS and not low_level:
            return
        if self.depth >= MAX_TRIGGER_CALLS:
            what = "the number of triggers inside one another"
            raise LimitError(what, limit="MAX_TRIGGER_CALLS", allowed=MAX_TRIGGER_CALLS)
        self.calls += 1
        outer = self.state.local, self.state.indent
        self.state.indent = 0
        _Runs(self.state, self.triggers, self.calls, self.depth + 1).run("manual", name)
        self.state.local, self.state.indent = outer


@dataclass
class _Effects:
    """The effects of one trigger: a flat list, whose blocks are told by their indents."""

    runs: _Runs
    trigger: Trigger
    turns: dict[int, int] = field(default_factory=dict)
    """How often each loop has been run, by its index. One inside another goes on counting, so its later turns are single."""

    def run(self) -> None:
        """Run the effects from the first."""
        state, effects, index = self.runs.state, self.trigger.effects, 0
        while index < len(effects):
            state.step()
            effect = effects[index]
            kind = str(effect.get("type"))
            if kind in _SAFE[state.mode] if state.is_safe else kind not in _OWN:
                state.indent = _indent(effect)
                if kind == "v2StopTrigger":
                    break
                index = self._run(kind, index, Operands(state, effect))
            index += 1

    def _run(self, kind: str, index: int, operands: Operands) -> int:
        """Run one effect; return the index of the last one that is done."""
        if kind in _JUMPS:
            return _JUMPS[kind](self, index, operands)
        if kind in values.OUTPUTS or kind in chat.OUTPUTS:
            operands.output((values.OUTPUTS.get(kind) or chat.OUTPUTS[kind])(operands))
        elif kind in values.ACTIONS or kind in chat.ACTIONS:
            (values.ACTIONS.get(kind) or chat.ACTIONS[kind])(operands)
        elif kind in values.CHANGED_LISTS:
            values.change_list(kind, operands)
        elif kind in values.READ_LISTS:
            values.read_list(kind, operands)
        elif kind in _PLAIN:
            _PLAIN[kind](self, operands)
        elif kind not in _SILENT:
            operands.state.notes.append(
                Note(NoteKind.IGNORED, f"the effect {kind[:60]!r} of a trigger does nothing here")
            )
        return index

    # ------------------------------------------------------------------------------------------------------------- jumps

    def _end_of(self, index: int, indent: int) -> int:
        """The index of the end of a block, or of the last effect."""
        for last in range(index + 1, len(self.trigger.effects)):
            self.runs.state.step()
            effect = self.trigger.effects[last]
            if effect.get("type") == "v2EndIndent" and _indent(effect) == indent:
                return last
        return len(self.trigger.effects)

    def branch(self, index: int, operands: Operands) -> int:
        """``v2If``: run its block, or the one of the ``v2Else`` behind it."""
        is_name = operands.effect.get("type") == "v2If"
        source = operands.state.get(operands.name("source")) if is_name else operands.text("source")
        target = operands.text("target")
        if compares(str(operands.effect.get("condition")), source, target):
            return index
        indent = operands.state.indent
        end = self._end_of(index, indent + 1)
        behind = self.trigger.effects[end + 1] if end + 1 < len(self.trigger.effects) else {}
        return end + (behind.get("type") == "v2Else" and _indent(behind) == indent)

    def skip(self, index: int, operands: Operands) -> int:
        """``v2Else`` behind a block that was run."""
        return self._end_of(index, operands.state.indent + 1)

    def end(self, index: int, operands: Operands) -> int:
        """``v2EndIndent``: local variables of the block go; at the end of a loop its next turn begins, if there is one."""
        state, indent = operands.state, operands.state.indent
        header = self._loop_of(index, indent - 1) if operands.effect.get("endOfLoop") else None
        again = header is not None and self._again(header)
        for block in [block for block in state.local if block >= indent]:
            del state.local[block]
        return header if again and header is not None else index

    def _loop_of(self, index: int, indent: int) -> int | None:
        for header in range(index, -1, -1):
            self.runs.state.step()
            effect = self.trigger.effects[header]
            if effect.get("type") in ("v2Loop", "v2LoopNTimes") and _indent(effect) == indent:
                return header
        return None

    def _again(self, header: int) -> bool:
        effect = self.trigger.effects[header]
        if effect.get("type") == "v2Loop":
            return True
        self.turns[header] = self.turns.get(header, 0) + 1
        return self.turns[header] < Operands(self.runs.state, effect).number("value")

    def leave(self, index: int, operands: Operands) -> int:
        """``v2BreakLoop``: go on behind the loop around it."""
        for last in range(index + 1, len(self.trigger.effects)):
            self.runs.state.step()
            effect, indent = self.trigger.effects[last], operands.state.indent
            if effect.get("type") == "v2EndIndent" and effect.get("endOfLoop") and _indent(effect) <= indent:
                return last
        return len(self.trigger.effects)

    # ---------------------------------------------------------------------------------------------------------- low level

    def call(self, name: str) -> None:
        """Run the triggers of a name."""
        self.runs.call(name, low_level=self.trigger.low_level)

    def send(self) -> None:
        """Have the model asked again, where the trigger has low-level access."""
        self.runs.state.send_prompt = self.runs.state.send_prompt or self.trigger.low_level

    def extract(self, operands: Operands) -> None:
        """``extractRegex``, which needs low-level access; without a match nothing is written."""
        pattern, state = (operands.text("regex"), operands.text("flags")), operands.state
        if self.trigger.low_level and state.split(*pattern, operands.text("value")) is not None:
            state.set(operands.name("inputVar"), values.extracted(operands))


def _indent(effect: Mapping[str, Any]) -> int:
    indent = effect.get("indent")
    return int(indent) if isinstance(indent, int | float) and 0 <= indent < 10**6 else 0


_JUMPS: Final[Mapping[str, Callable[[_Effects, int, Operands], int]]] = {
    "v2If": _Effects.branch,
    "v2IfAdvanced": _Effects.branch,
    "v2Else": _Effects.skip,
    "v2EndIndent": _Effects.end,
    "v2BreakLoop": _Effects.leave,
}

_PLAIN: Final[Mapping[str, Callable[[_Effects, Operands], None]]] = {
    "runtrigger": lambda effects, operands: effects.call(operands.name("value")),
    "v2RunTrigger": lambda effects, operands: effects.call(operands.name("target")),
    "sendAIprompt": lambda effects, _: effects.send(),
    "v2SendAIprompt": lambda effects, _: effects.send(),
    "extractRegex": lambda effects, operands: effects.extract(operands),
}
"""Effects that need the trigger's access."""
