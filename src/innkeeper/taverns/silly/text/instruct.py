"""Instruct: the sequences of an instruct template around the lines of a text prompt (`sillytavern.md` 62, 63, 66, 68)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Final

import msgspec

from innkeeper.content.templates import InstructNames, InstructTemplate
from innkeeper.taverns.silly.scene import Scene

__all__ = ["Instruct", "SequenceTurn", "instruct_of"]

_NAME: Final = re.compile(r"\{\{name\}\}", re.IGNORECASE)
NOBODY: Final = "System"
"""What ``{{name}}`` is where nobody speaks."""


class SequenceTurn(StrEnum):
    """Which variant of a sequence a line gets."""

    FIRST = "first"
    MIDDLE = "middle"
    LAST = "last"


class Instruct(msgspec.Struct, frozen=True):
    """A template with whom it speaks for."""

    template: InstructTemplate
    expand: Callable[[str], str]
    user: str
    char: str
    group: bool = False

    @property
    def joint(self) -> str:
        """What stands between a sequence and the text: a line break when the template wraps."""
        return "\n" if self.template.wrap else ""

    def line(
        self,
        role: str,
        name: str,
        text: str,
        turn: SequenceTurn = SequenceTurn.MIDDLE,
        *,
        guest: bool = False,
        closed: bool = True,
    ) -> str:
        """A line between its sequences. ``guest`` is one under another avatar; an open line has nothing behind its text."""
        named = f"{name}: {text}" if name and self._named(role, name, guest=guest) else text
        if closed:
            return self._around(self._sequence(role, turn), named, self._suffix(role), name or NOBODY)
        sequence = self._filled(self._sequence(role, turn), name or NOBODY)
        return f"{sequence}{self.joint if sequence else ''}{named}"

    def example(self, role: str, name: str, text: str) -> str:
        """A line of an example: users are named unless names are off."""
        names = self.template.names_behavior
        named = names is InstructNames.ALWAYS or (names is InstructNames.FORCE and (self.group or role == "user"))
        said = f"{name}: {text}" if named else text
        suffix = self.template.input_suffix if role == "user" else self.template.output_suffix
        if self.template.macro:
            suffix = suffix or self.joint
        return self._around(self._sequence(role, SequenceTurn.MIDDLE), said, suffix, name)

    def reply(self, role: str, name: str, bias: str, *, quiet: bool) -> str:
        """The opening of the reply. ``quiet`` is one that is nobody's."""
        form = self.template
        if role == "user":
            sequence = form.last_input_sequence or form.input_sequence
        elif quiet:
            sequence = form.last_system_sequence or form.output_sequence
        else:
            sequence = form.last_output_sequence or form.output_sequence
        always, force = form.names_behavior is InstructNames.ALWAYS, form.names_behavior is InstructNames.FORCE
        named = not quiet and (always or (force and self.group))
        text = self._filled(sequence, name or NOBODY)
        text += f"{self.joint}{name}:{bias}" if named else f"{self.joint}{bias.lstrip()}" if bias else ""
        if not form.wrap:
            return text
        return text.rstrip() + ("" if named or not text.strip() else self.joint)

    def around_story(self, story: str) -> str:
        """The story string between its own sequences; an empty one stays empty."""
        form = self.template
        if not story:
            return ""
        prefix = self.expand(_NAME.sub(NOBODY, form.story_string_prefix))
        suffix = self.expand(form.story_string_suffix)
        return f"{prefix}{self.joint if prefix else ''}{story}{suffix}"

    def stops(self) -> list[str]:
        """Its stop strings: a sequence's lines each on their own, blank ones left out."""
        form = self.template
        found = [form.stop_sequence]
        if form.sequences_as_stop_strings:
            found += [_NAME.sub(lambda _: self.user, form.input_sequence)]
            found += [
                _NAME.sub(lambda _: self.char, sequence)
                for sequence in (form.output_sequence, form.first_output_sequence, form.last_output_sequence)
            ]
            found += [_NAME.sub(NOBODY, sequence) for sequence in (form.system_sequence, form.last_system_sequence)]
        lines = dict.fromkeys(line for sequence in found for line in sequence.split("\n") if line.strip())
        return [self._macros(self.joint + line) for line in lines]

    def _named(self, role: str, name: str, *, guest: bool) -> bool:
        names = self.template.names_behavior
        if role == "system" or names is InstructNames.NONE:
            return False
        return names is InstructNames.ALWAYS or ((self.group or guest) and name != self.user)

    def _sequence(self, role: str, turn: SequenceTurn) -> str:
        form = self.template
        if role == "system":
            return form.input_sequence if form.system_same_as_user else form.system_sequence
        own = (
            {SequenceTurn.FIRST: form.first_input_sequence, SequenceTurn.LAST: form.last_input_sequence}
            if role == "user"
            else {SequenceTurn.FIRST: form.first_output_sequence, SequenceTurn.LAST: form.last_output_sequence}
        )
        return own.get(turn) or (form.input_sequence if role == "user" else form.output_sequence)

    def _suffix(self, role: str) -> str:
        form = self.template
        as_user = role == "user" or (role == "system" and form.system_same_as_user)
        suffix = form.input_suffix if as_user else form.output_suffix if role == "assistant" else form.system_suffix
        return suffix or self.joint

    def _around(self, prefix: str, text: str, suffix: str, name: str) -> str:
        parts: Iterable[str] = (self._filled(prefix, name), text + self._filled(suffix, name))
        return self.joint.join(part for part in parts if part)

    def _filled(self, sequence: str, name: str) -> str:
        return self.expand(_NAME.sub(lambda _: name, sequence)) if self.template.macro else sequence

    def _macros(self, text: str) -> str:
        return self.expand(text) if self.template.macro else text


def instruct_of(scene: Scene) -> Instruct | None:
    """The build's instruct mode; ``None`` when it is off."""
    text = scene.inputs.text
    if text is None or text.instruct is None or text.instruct.enabled is False:
        return None
    inputs = scene.inputs
    return Instruct(text.instruct, scene.expand, inputs.user, inputs.char, inputs.group is not None)
