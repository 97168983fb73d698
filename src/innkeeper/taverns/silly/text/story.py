"""Steps ``entries``, ``pinned_groups`` and ``compilation`` of text prompts: the texts before the history.

``entries`` reads the context template, which stands in the place of a prompt order; ``pinned_groups`` collects the
template's fields; ``compilation`` writes the examples (as blocks under the separator, or line by line between instruct
sequences), the story string and the chat's start, and leaves
`TextCompiled`. `InstructMode` has the sequences of an instruct template (`sillytavern.md` 62, 63, 66, 68).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from enum import StrEnum
from typing import Final

import msgspec

from innkeeper.content.templates import InstructNames, InstructTemplate, StoryPosition
from innkeeper.macros.engine.errors import MacroError
from innkeeper.prompt.block import Origin, OriginAsset, Piece
from innkeeper.prompt.errors import LimitError, UsageError
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.run.pipeline import NoConfig, Step
from innkeeper.prompt.run.state import State
from innkeeper.taverns.silly.card_texts import cleaned, separator_of
from innkeeper.taverns.silly.chat.compilation import example_dialogues, turns_of
from innkeeper.taverns.silly.chat.prompts import IN_PROMPT
from innkeeper.taverns.silly.expansion import Expander, Pieces, in_lines, pieces_of, text_of
from innkeeper.taverns.silly.injection import InjectedText, Injections
from innkeeper.taverns.silly.inputs import TextSettings
from innkeeper.taverns.silly.scene import Scene, scene_of
from innkeeper.taverns.silly.scratch import INJECTIONS, LORE_TEXTS, STORY_TEXTS, TEXT_COMPILED
from innkeeper.text.javascript.values import is_space, strip, strip_end, strip_start


def settings_of(scene: Scene) -> TextSettings:
    """The text completion settings of the inputs. Raises `UsageError` in a chat build."""
    if scene.inputs.text is None:
        raise UsageError("text completion's steps need dialect 'text'", hint="set dialect='text' in the request")
    return scene.inputs.text


class StoryTexts(msgspec.Struct, frozen=True):
    """The ``fields`` of the template but those that later steps make, and the ``examples``, ``raw`` as ``mesExamplesRaw``."""

    fields: dict[str, str]
    examples: tuple[Example, ...] = ()
    raw: str = ""


def _run_pinned_groups(state: State, _config: NoConfig) -> None:
    """Write the examples and the system prompt, and leave the values of the template's fields."""
    scene = scene_of(state)
    lore = state.scratch[LORE_TEXTS]
    texts, before, after = scene.texts, text_of(in_lines(*lore.before)), text_of(in_lines(*lore.after))
    examples: list[Example] = []
    values: dict[str, str] = {}

    def write_examples() -> None:
        made, values["raw"] = text_examples(state, scene)
        examples.extend(made)

    def write_system() -> None:
        values["system"] = _system(scene, settings_of(scene))

    scene.order.follow({"examples": write_examples, "system": write_system})
    fields = {
        "description": texts.description,
        "personality": texts.personality,
        "persona": texts.persona if scene.inputs.persona.position in IN_PROMPT else "",
        "scenario": texts.scenario,
        "system": values["system"],
        "char": scene.inputs.char,
        "user": scene.inputs.user,
        "wiBefore": before,
        "wiAfter": after,
        "loreBefore": before,
        "loreAfter": after,
    }
    state.scratch[STORY_TEXTS] = StoryTexts(fields, tuple(examples), values["raw"])


STORY_FIELDS: Final = Step("pinned_groups", _run_pinned_groups, NoConfig)


def _system(scene: Scene, text: TextSettings) -> str:
    """The system prompt, in which the card's fields are empty, or the card's in its place; instruct mode resolves it again."""
    if text.sysprompt.enabled is False:
        return ""
    own, card = text.sysprompt.content, scene.texts.system
    system = scene.expand(card, original=own) if card else _cleaned(scene, own, "content")
    return system if instruct_of(scene) is None else scene.expand(system, original=own)


def post_history(scene: Scene) -> str:
    """The text after the history: that of the system prompt (without the card's fields), or the card's."""
    prompt, card = settings_of(scene).sysprompt, scene.texts.jailbreak
    if prompt.enabled is False:
        return ""
    own = prompt.post_history
    return scene.expand(card, original=own) if card else _cleaned(scene, own, "post_history")


def _cleaned(scene: Scene, text: str, field: str) -> str:
    """A text of the system prompt as the card's are made."""
    origin = Origin(OriginAsset.PRESET, "sysprompt", field)
    return text_of(cleaned(scene.inputs, scene.expand, pieces_of(text, origin)))


def story_string(state: State, scene: Scene, values: dict[str, str]) -> str:
    """The template filled, its macros resolved, without blank lines in front; a line break at the end unless a suffix follows.

    Of a template that cannot be read or rendered a warning says where, and its fields alone are filled, as with no conditions.
    """
    from innkeeper.macros.handlebars.render import render_handlebars

    template = settings_of(scene).context.story_string
    try:
        filled = render_handlebars(
            template, values, lambda name: "{{trim}}" if name == "trim" else scene.expand(f"{{{{{name}}}}}")
        )
    except MacroError as error:
        where = error.at(asset=_TEMPLATE, path="story_string").where
        message = f"{error.message}; the fields are filled without conditions"
        state.warn(message, kind=NoteKind.MACRO, where=where, hint=error.hint)
        filled = _FIELD.sub(lambda tag: values.get(tag[1], tag[0]), _BLOCK.sub("", template))
    story = scene.expand(filled).lstrip("\n")
    return story if not story or story.endswith("\n") or not _breaks(scene) else story + "\n"


_TEMPLATE: Final = "context template"
_BLOCK: Final = re.compile(r"\{\{~?\s*(?:[#/^]|else\b)[^{}]*\}\}")
_FIELD: Final = re.compile(r"\{\{~?\s*(\w+)\s*~?\}\}")


def _breaks(scene: Scene) -> bool:
    instruct = instruct_of(scene)
    if instruct is None:
        return True
    framed = settings_of(scene).context.story_string_position is not StoryPosition.IN_CHAT
    return instruct.template.wrap and not (framed and instruct.template.story_string_suffix)


def _run_entries(state: State, _config: NoConfig) -> None:
    """Read the story string; `story_string` warns of one that cannot be read."""
    from innkeeper.macros.handlebars.syntax import parse

    template, size = settings_of(scene_of(state)).context.story_string, 0
    try:
        with suppress(MacroError):
            size = len(parse(template).body)
    except LimitError as error:
        raise error.at(asset=_TEMPLATE, path="story_string") from error
    state.stat("prompt_entries", size)


TEXT_ENTRIES: Final = Step("entries", _run_entries, NoConfig)


class Example(msgspec.Struct, frozen=True):
    """A piece of the examples that is in the prompt or not. ``block`` is the dialogue it belongs to, ``role`` who speaks."""

    block: int
    text: str
    role: str = "system"
    origin: Origin | None = None


def text_examples(state: State, scene: Scene) -> tuple[list[Example], str]:
    """The pieces in order, and the examples as ``mesExamplesRaw`` has them."""
    dialogues, instruct = example_dialogues(scene, state.scratch[LORE_TEXTS]), instruct_of(scene)
    if instruct is None:
        plain = [_plain(index, block, separator) for index, (block, separator) in enumerate(dialogues)]
        return plain, "".join(piece.text for piece in plain)
    blocks = [block for block, _ in dialogues]
    raw = "".join(f"<START>\n{block.text}\n" for block in blocks)
    heading = separator_of(scene.inputs, scene.expand)
    if not instruct.template.skip_examples:
        lines = list(_instructed(scene, instruct.with_example_sequences(), blocks, heading))
        if lines:
            return lines, raw
    return [_plain(index, block, heading) for index, block in enumerate(blocks)], raw


def _plain(index: int, block: Piece, heading: str) -> Example:
    """A block as it is written, under its heading."""
    return Example(index, f"{heading}{block.text}\n", origin=block.origin)


def _instructed(scene: Scene, instruct: InstructMode, blocks: list[Piece], heading: str) -> Iterator[Example]:
    """A heading and its lines, for each block with a speaker."""
    for index, block in enumerate(blocks):
        turns = turns_of(scene, block.text)
        if turns and heading:
            yield Example(index, heading, origin=Origin(OriginAsset.PRESET, "example_separator"))
        for turn in turns:
            role = "user" if turn.is_user else "assistant"
            yield Example(index, instruct.example(role, turn.name, turn.text), role, block.origin)


STORY_KEY: Final = "__STORY_STRING__"
"""The key by which the story string is sorted among the texts of a depth."""


class TextCompiled(msgspec.Struct, frozen=True, kw_only=True):
    """``story``, in ``pieces``, stands first, or ``placed`` goes into the chat; ``examples`` follow."""

    story: str
    pieces: Pieces = ()
    placed: InjectedText | None = None
    examples: tuple[Example, ...] = ()


def _run_compilation(state: State, _config: NoConfig) -> None:
    """Render the texts before the history."""
    scene, injections, lore = scene_of(state), state.scratch[INJECTIONS], state.scratch[LORE_TEXTS]
    texts = state.scratch[STORY_TEXTS]
    context, instruct = settings_of(scene).context, instruct_of(scene)
    in_chat = context.story_string_position is StoryPosition.IN_CHAT
    stories: list[str] = []

    def frame() -> None:
        if instruct is not None and not in_chat:
            stories.append(instruct.around_story(stories[-1]))

    scene.order.follow(
        {"story": lambda: stories.append(story_string(state, scene, _values(texts, injections))), "story_frame": frame}
    )
    story = "" if in_chat else stories[-1]
    state.scratch[TEXT_COMPILED] = TextCompiled(
        story=story,
        pieces=_by_origin(story, (*scene.texts.pieces.values(), *lore.before, *lore.after)),
        placed=_placed(scene, stories[-1]) if in_chat else None,
        examples=() if scene.inputs.power.strip_examples else texts.examples,
    )


def _by_origin(story: str, texts: Iterable[Pieces]) -> Pieces:
    """The story by origin: a text that occurs in it once has its own, longer ones first; the rest is the template's."""
    template = Origin(OriginAsset.PRESET, "story_string")
    ranges: dict[int, tuple[int, Pieces]] = {}
    for text, pieces in sorted(
        ((text_of(pieces), pieces) for pieces in texts if pieces), key=lambda pair: -len(pair[0])
    ):
        start = story.find(text) if story.count(text) == 1 else -1
        end = start + len(text)
        if start >= 0 and all(end <= other or start >= last for other, (last, _) in ranges.items()):
            ranges[start] = (end, pieces)
    story_pieces: list[Piece] = []
    offset = 0
    for start, (end, pieces) in sorted(ranges.items()):
        story_pieces += [*pieces_of(story[offset:start], template), *pieces]
        offset = end
    return (*story_pieces, *pieces_of(story[offset:], template))


def _values(texts: StoryTexts, injections: Injections) -> dict[str, str]:
    return {
        **texts.fields,
        "anchorBefore": "".join(item.text for item in injections.before),
        "anchorAfter": "".join(item.text for item in injections.after),
        "mesExamples": "".join(example.text for example in texts.examples),
        "mesExamplesRaw": texts.raw,
    }


def _placed(scene: Scene, story: str) -> InjectedText:
    context = settings_of(scene).context
    return InjectedText(
        key=STORY_KEY,
        pieces=pieces_of(strip(story), Origin(OriginAsset.PRESET, "story_string")),
        depth=context.story_string_depth,
        role=context.story_string_role,
    )


TEXT_COMPILATION: Final = Step("compilation", _run_compilation, NoConfig)


_NAME: Final = re.compile(r"\{\{name\}\}", re.IGNORECASE)
NOBODY: Final = "System"
"""The value of ``{{name}}`` without a speaker."""


class SequenceTurn(StrEnum):
    """Which variant of a sequence a line gets."""

    FIRST = "first"
    MIDDLE = "middle"
    LAST = "last"


class InstructMode(msgspec.Struct, frozen=True):
    """A template with whom it speaks for."""

    template: InstructTemplate
    expand: Expander
    user: str
    char: str
    group: bool = False
    expands: bool = True

    @property
    def is_restless(self) -> bool:
        """Whether putting text between the sequences changes something, so that it counts how often that is done."""
        form = self.template
        texts = (getattr(form, name) for name in form.__struct_fields__ if name.endswith(("_sequence", "_suffix")))
        return form.macro and any(isinstance(text, str) and self.expand.is_restless(text) for text in texts)

    def with_example_sequences(self) -> InstructMode:
        """The same with the sequences of examples resolved: once for all of them."""
        form = self.template
        if not form.macro:
            return self
        names = {"input_sequence": self.user, "output_sequence": self.char}
        names |= {"input_suffix": self.user, "output_suffix": self.char}
        texts = {name: self._filled(getattr(form, name), speaker) for name, speaker in names.items()}
        return msgspec.structs.replace(self, template=msgspec.structs.replace(form, **texts), expands=False)

    @property
    def joint(self) -> str:
        """The text between a sequence and the message: a line break when the template wraps."""
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
            return self._around(self._sequence(role, turn), named, self._suffix(role), name or NOBODY, self.joint)
        sequence = self._filled(self._sequence(role, turn), name or NOBODY)
        if self.template.macro:
            self.expand.again(self._suffix(role))
        return f"{sequence}{self.joint if sequence else ''}{named}"

    def example(self, role: str, name: str, text: str) -> str:
        """A line of an example: the user has a name unless names are off. For sequences, any other speaker is the character."""
        names = self.template.names_behavior
        named = names is InstructNames.ALWAYS or (names is InstructNames.FORCE and (self.group or role == "user"))
        line = f"{name}: {text}" if named else text
        suffix = self.template.input_suffix if role == "user" else self.template.output_suffix
        if self.template.macro:
            suffix = suffix or self.joint
        speaker = name if role == "user" else self.char
        return self._around(self._sequence(role, SequenceTurn.MIDDLE), line, suffix, speaker)

    def reply(self, role: str, name: str, bias: str, *, quiet: bool) -> str:
        """The opening of the reply. ``quiet`` is one without a speaker."""
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
        apart = self._blank_before(sequence) if role != "user" else ""
        text += f"{self.joint}{apart}{name}:{bias}" if named else f"{self.joint}{strip_start(bias)}" if bias else ""
        if not form.wrap:
            return text
        return strip_end(text) + ("" if named or not strip(text) else self.joint)

    def _blank_before(self, sequence: str) -> str:
        """The blank before a name that other replies' sequence ends in, if the one that opens this reply has none."""
        blank = self.template.output_sequence[-1:]
        return blank if is_space(blank) and not is_space(sequence[-1:]) else ""

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
        stops = [form.stop_sequence]
        if form.sequences_as_stop_strings:
            stops += [_NAME.sub(lambda _: self.user, form.input_sequence)]
            stops += [
                _NAME.sub(lambda _: self.char, sequence)
                for sequence in (form.output_sequence, form.first_output_sequence, form.last_output_sequence)
            ]
            stops += [_NAME.sub(NOBODY, sequence) for sequence in (form.system_sequence, form.last_system_sequence)]
        lines = dict.fromkeys(line for sequence in stops for line in sequence.split("\n") if strip(line))
        return [self.expand(self.joint + line) if form.macro else self.joint + line for line in lines]

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
        return form.input_suffix if as_user else form.output_suffix if role == "assistant" else form.system_suffix

    def _around(self, prefix: str, text: str, suffix: str, name: str, joint: str = "") -> str:
        parts: Iterable[str] = (self._filled(prefix, name), text + (self._filled(suffix, name) or joint))
        return self.joint.join(part for part in parts if part)

    def _filled(self, sequence: str, name: str) -> str:
        if not self.template.macro:
            return sequence
        named = _NAME.sub(lambda _: name, sequence)
        return self.expand(named) if self.expands else named


def instruct_of(scene: Scene) -> InstructMode | None:
    """The build's instruct mode; ``None`` when it is off."""
    text = scene.inputs.text
    if text is None or text.instruct is None or text.instruct.enabled is False:
        return None
    inputs = scene.inputs
    return InstructMode(text.instruct, scene.expand, inputs.user, inputs.char, inputs.group is not None)
