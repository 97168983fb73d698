"""Steps ``entries``, ``pinned_groups`` and ``compilation``: the preset's prompts, their order, texts and messages.

``entries`` decides which prompts and markers take part, and in which order; it leaves a tuple of `PromptTurn`.
``pinned_groups`` expands the text of each; it leaves `Prompt` values by identifier, in prompt order. ``compilation`` makes
the messages of the fixed parts and of the example dialogues and leaves `Compiled`: examples are the card's blocks with those
of lore around them (what a block and a turn are is said in `innkeeper.macros.silly.card`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from innkeeper.content.persona import PersonaPosition
from innkeeper.content.preset import PromptItem, PromptPosition
from innkeeper.macros.silly.substitution import with_names
from innkeeper.prompt.block import Origin, OriginAsset, Piece
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.run.extensions import InjectionPosition
from innkeeper.prompt.run.pipeline import NoConfig, Step
from innkeeper.prompt.run.state import State
from innkeeper.prompt.text import shorten
from innkeeper.taverns.silly.expansion import Pieces, in_lines, pieces_of, text_of
from innkeeper.taverns.silly.injection import (
    KNOWN_FIRST,
    Placed,
    persona_pieces,
    placed_texts,
    rank_in,
)
from innkeeper.taverns.silly.scene import Scene, scene_of
from innkeeper.taverns.silly.scratch import LORE_TEXTS, PINNED, TURNS
from innkeeper.text.javascript.values import strip

MARKERS: Final = (
    "worldInfoBefore", "personaDescription", "charDescription", "charPersonality", "scenario", "worldInfoAfter",
    "dialogueExamples", "chatHistory",
)  # fmt: skip
"""Prompts that stand for text from elsewhere, by SillyTavern's identifiers."""

DEFAULT_ORDER: Final = (
    "main", "worldInfoBefore", "personaDescription", "charDescription", "charPersonality", "scenario",
    "enhanceDefinitions", "nsfw", "worldInfoAfter", "dialogueExamples", "chatHistory", "jailbreak",
)  # fmt: skip
"""The order a preset without one gets, in which ``enhanceDefinitions`` is off."""

_FORCED_RELATIVE: Final = frozenset({"chatHistory", "dialogueExamples"})


class PromptTurn(msgspec.Struct, frozen=True):
    """A prompt in its turn. ``on`` is false for one that is disabled or not for this type: its place remains.

    ``again`` is a prompt that the order has named before: its text is expanded once more, and sent once more in the chat alone.
    """

    item: PromptItem
    on: bool = True
    again: bool = False


def _run_entries(state: State, _config: NoConfig) -> None:
    """Order the prompts, drop unknown ones, switch off those that are not for this generation type.

    As in SillyTavern a main prompt that is not for it only loses its own text, and the card's may still take its place; a
    marker that is not for it loses its turn alone: what it stands for comes last, as if the order did not name it.
    """
    inputs = scene_of(state).inputs
    preset, type_ = inputs.preset, inputs.type
    order = preset.order_for()
    named = (
        [(name, name != "enhanceDefinitions") for name in DEFAULT_ORDER]
        if order is None
        else [(item.identifier, item.enabled) for item in order]
    )
    items = {item.identifier: item for item in reversed(preset.prompts)}
    in_order = {name for name, _ in named}
    if unlisted := [name for name, item in items.items() if name not in in_order and strip(item.content)]:
        message = f"preset: no order lists the prompts {shorten(', '.join(unlisted), 200)}: they have no effect"
        state.note(NoteKind.IGNORED, message, data={"input": "preset.prompts", "prompts": tuple(unlisted)})
    turns: dict[str, PromptTurn] = {}
    listed: list[PromptTurn] = []
    for identifier, enabled in named:
        item = items.get(identifier)
        if item is None and identifier in DEFAULT_ORDER:  # a marker that a preset need not list to order it
            item = PromptItem(identifier=identifier, marker=identifier in MARKERS, system_prompt=True)
        if item is None:
            state.note(NoteKind.IGNORED, f"the prompt order names {identifier!r}, which the preset does not have")
            continue
        if item.identifier in _FORCED_RELATIVE and item.position is not PromptPosition.RELATIVE:
            item = msgspec.structs.replace(item, position=PromptPosition.RELATIVE)
        if not enabled or not item.triggers or type_ in item.triggers:
            turn = PromptTurn(item, enabled)
        elif identifier not in _MARKED:
            turn = PromptTurn(msgspec.structs.replace(item, content=""), identifier == "main")
        else:
            continue
        first = turns.get(identifier)
        if first is None or (turn.on and not first.on and item.position is PromptPosition.IN_CHAT):
            turns[identifier] = turn
            listed.append(turn)
        elif turn.on:
            listed.append(msgspec.structs.replace(turn, again=True))
    state.scratch[TURNS] = tuple(turn for turn in listed if turn.again or turns[turn.item.identifier] is turn)
    state.stat("prompt_entries", len(turns))


_MARKED: Final = frozenset(MARKERS) - {"dialogueExamples", "chatHistory"}
"""Markers that stand for one text."""


ENTRIES: Final = Step("entries", _run_entries, NoConfig)


FIXED_FIRST: Final = (
    "worldInfoBefore", "main", "worldInfoAfter", "charDescription", "charPersonality", "scenario", "personaDescription",
)  # fmt: skip
"""The prompts that get their room first, in this order (`sillytavern.md` 47)."""


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt with its text after macros. ``in_chat`` ones go to ``depth``; ``on`` is false for a place without text."""

    identifier: str
    role: str
    pieces: Pieces = ()
    on: bool = True
    in_chat: bool = False
    depth: int = 4
    order: int = 100

    @property
    def content(self) -> str:
        """The text."""
        return text_of(self.pieces)


class Pinned(msgspec.Struct, frozen=True, kw_only=True):
    """The texts of the prompts and of what SillyTavern sends beside them, after macros.

    ``prompts`` are in prompt order; ``placed`` injections as they were made, ``beside`` those beside the main prompt, expanded,
    in the order they were made; ``bias`` is the beginning of the reply that the user wants.
    """

    prompts: dict[str, Prompt]
    placed: tuple[Placed, ...] = ()
    beside: tuple[Placed, ...] = ()
    group_nudge: Pieces = ()
    impersonation: Pieces = ()
    quiet: Pieces = ()
    bias: str = ""


def pinned_of(state: State) -> Pinned:
    """What the step ``pinned_groups`` made."""
    return state.scratch[PINNED]


def prompts_of(state: State) -> dict[str, Prompt]:
    """The prompts by identifier."""
    return pinned_of(state).prompts


def _run_pinned_groups(state: State, _config: NoConfig) -> None:
    """Expand what the prompts hold, in the stages of this step."""
    making = _Making(state)
    scene_of(state).order.follow(making.stages())
    state.scratch[PINNED] = making.pinned()
    state.stat("pinned_groups", len(making.prompts))


class _Making:
    """The stages of ``pinned_groups``: each leaves here what it makes."""

    def __init__(self, state: State) -> None:
        self.scene = scene_of(state)
        self.listed = state.scratch[TURNS]
        self.turns = [turn for turn in self.listed if not turn.again]
        self.lore = state.scratch[LORE_TEXTS]
        self.placed = placed_texts(state)
        self.anchors: dict[InjectionPosition, str] = {}
        self.marked: dict[str, Pieces] = {}
        self.own: dict[str, Pieces] = {}
        self.notes: dict[str, Pieces] = {}
        self.beside: list[Placed] = []
        self.prompts: dict[str, Prompt] = {}

    def stages(self) -> dict[str, Callable[[], None]]:
        """What is done in each stage."""
        return {
            "beside_main_again": self._beside_again,
            "story_again": self._story_again,
            "formats": self._formats,
            "nudges": self._nudges,
            "prompts": self._prompts,
            "markers": self._markers,
            "beside_main": self._beside,
            "overrides": self._overrides,
        }

    def pinned(self) -> Pinned:
        """What they have made."""
        return Pinned(
            prompts=self.prompts,
            placed=tuple(self.placed),
            beside=tuple(self.beside),
            group_nudge=self.notes["group_nudge_prompt"],
            impersonation=self.notes["impersonation_prompt"],
            quiet=self.notes["quiet_prompt"],
            bias=text_of(self.notes["bias"]),
        )

    def _beside_again(self) -> None:
        for edge in (InjectionPosition.BEFORE, InjectionPosition.AFTER):
            injections = sorted((text for position, text in self.placed if position is edge), key=lambda text: text.key)
            self.anchors[edge] = self.scene.expand.silently("\n".join(strip(text.text) for text in injections))

    def _story_again(self) -> None:
        """The story string of text completion is rendered here as well; there is none, but of its fields."""
        texts, (before, after) = self.scene.texts, self.anchors.values()
        lore = [text_of(in_lines(*entries)) for entries in (self.lore.before, self.lore.after)]
        persona = texts.persona if self._tells_persona() else ""
        fields = (
            before, texts.system, lore[0], texts.description, texts.personality, texts.scenario, lore[1], persona, after
        )  # fmt: skip
        self.scene.expand.again("\n".join(fields))
        self.scene.expand.again("\n")

    def _formats(self) -> None:
        """What the markers stand for: scenario and personality through their formats."""
        texts, preset = self.scene.texts.pieces, self.scene.inputs.preset
        formatted = {"charPersonality": texts["personality"], "scenario": texts["scenario"]}
        for name, form, field in (
            ("scenario", preset.scenario_format, "scenario_format"),
            ("charPersonality", preset.personality_format, "personality_format"),
        ):
            if formatted[name] and form and not self._is_the_field(form, formatted[name]):
                parts = self.scene.expand.written(form, Origin(OriginAsset.PRESET, field))
                formatted[name] = tuple(piece for part in parts for piece in _inserted(part, formatted[name]))
        self.marked = {
            "worldInfoBefore": _formatted(self.scene, self.lore.before),
            "worldInfoAfter": _formatted(self.scene, self.lore.after),
            "charDescription": texts["description"],
            **formatted,
        }
        if self._tells_persona() and self.scene.inputs.persona.description:
            self.marked["personaDescription"] = persona_pieces(self.scene)

    def _is_the_field(self, form: str, text: Pieces) -> bool:
        """Whether a format is one macro for a field of the card that comes to this text, so that nothing needs to be expanded."""
        expand = self.scene.expand
        written = getattr(expand.env.card, form[2:-2]) if form in _FIELD_FORMATS else None
        if not isinstance(written, str) or expand.pack != "new" or expand.report is not None or expand.env.dynamic:
            return False
        named = with_names(strip(written), expand.env.user, expand.env.char)
        return named is not None and named.text == text_of(text)

    def _tells_persona(self) -> bool:
        return self.scene.inputs.persona.position in IN_PROMPT

    def _nudges(self) -> None:
        """Both are resolved whether they are sent or not."""
        preset = self.scene.inputs.preset
        for name, text in (
            ("group_nudge_prompt", preset.group_nudge_prompt),
            ("impersonation_prompt", preset.impersonation_prompt),
        ):
            self.notes[name] = self.scene.expand.written(text, Origin(OriginAsset.PRESET, name))

    def _prompts(self) -> None:
        for turn in self.listed:
            item = turn.item
            if not turn.on:
                continue
            if item.identifier in self.marked or (turn.again and item.position is not PromptPosition.IN_CHAT):
                self._again(item.content)
                continue
            origin = Origin(OriginAsset.PRESET, "prompts", item.identifier)
            pieces = self.scene.expand.written(item.content, origin)
            if turn.again:
                first = self.own.get(item.identifier, ())
                self.own[item.identifier] = in_lines(first, pieces)
            else:
                self.own[item.identifier] = pieces

    def _markers(self) -> None:
        """The markers' texts, then the nudges, the quiet prompt and the bias, each a second time."""
        expand, quiet = self.scene.expand, self.scene.inputs.generation.quiet_prompt
        on = {turn.item.identifier: turn.on for turn in self.turns}
        for name in ("worldInfoBefore", "worldInfoAfter", "charDescription", "charPersonality", "scenario"):
            if on.get(name, True):
                self.marked[name] = expand.pieces(self.marked[name])
            else:
                self._again(text_of(self.marked[name]))
                self.marked[name] = ()
        self.notes |= {
            "quiet_prompt": pieces_of(quiet, Origin(OriginAsset.REQUEST, "quiet_prompt")),
            "bias": pieces_of(self.scene.bias, Origin(OriginAsset.REQUEST, "settings", "user_prompt_bias")),
        }
        for name in ("impersonation_prompt", "quiet_prompt", "group_nudge_prompt", "bias"):
            self.notes[name] = expand.pieces(self.notes[name])

    def _beside(self) -> None:
        """What SillyTavern knows by its key, then the persona, then the others; the note even where it goes into the chat."""
        expand, positions = self.scene.expand, (InjectionPosition.BEFORE, InjectionPosition.AFTER)
        ranked = sorted(self.placed, key=lambda placed: rank_in(KNOWN_FIRST, placed[1].key))
        known = sum(text.key in KNOWN_FIRST for _, text in ranked)
        for index, (position, text) in enumerate(ranked):
            if index == known:
                self._persona()
            if position in positions:
                pieces = expand.pieces(text.pieces)
                if pieces:
                    self.beside.append((position, msgspec.structs.replace(text, pieces=pieces)))
            elif text.key in KNOWN_FIRST:
                self._again(text.text)
        if known == len(ranked):
            self._persona()

    def _again(self, text: str) -> None:
        """Expand a text that is not sent from here, for its effects."""
        if self.scene.inputs.compat.repeated_effects:
            self.scene.expand.again(text)

    def _persona(self) -> None:
        if "personaDescription" in self.marked:
            self.marked["personaDescription"] = self.scene.expand.pieces(self.marked["personaDescription"])

    def _overrides(self) -> None:
        """The card's prompts in the place of the main and the tail prompt, with ``{{original}}`` in them; then all are made."""
        texts = self.scene.texts.pieces
        for name, field in _OVERRIDES.items():
            turn = next((turn for turn in self.turns if turn.item.identifier == name and turn.on), None)
            if turn is not None and texts[field] and not turn.item.forbid_overrides:
                self.own[name] = self.scene.expand.pieces(texts[field], original=text_of(self.own[name]))
        self.prompts = {turn.item.identifier: self._prompt(turn) for turn in self.turns}
        for name, pieces in self.marked.items():
            if name not in self.prompts:
                self.prompts[name] = Prompt(identifier=name, role="system", pieces=pieces)

    def _prompt(self, turn: PromptTurn) -> Prompt:
        item = turn.item
        pieces = self.marked.get(item.identifier, self.own.get(item.identifier, ()))
        return Prompt(
            identifier=item.identifier,
            role=item.role or "system",
            pieces=pieces if turn.on else (),
            on=turn.on,
            in_chat=item.position is PromptPosition.IN_CHAT,
            depth=item.depth,
            order=item.order,
        )


_OVERRIDES: Final = {"main": "system", "jailbreak": "jailbreak"}


_FIELD_FORMATS: Final = frozenset({"{{scenario}}", "{{personality}}"})

IN_PROMPT: Final = (PersonaPosition.IN_PROMPT, PersonaPosition.AFTER_CHAR)
"""Where the persona's description is among the prompts."""


def _inserted(part: Piece, inserted: Pieces) -> Pieces:
    """A part of a format; where a macro stands for the text that is formatted, that text."""
    return inserted if part.origin.macro and part.text == text_of(inserted) else (part,)


def _formatted(scene: Scene, entries: tuple[Pieces, ...]) -> Pieces:
    """Lore through ``wi_format``: every ``{0}`` is the text; a blank format is none."""
    form, text = scene.inputs.preset.wi_format, in_lines(*entries)
    if not text or not strip(form):
        return text
    first, *rest = (pieces_of(part, Origin(OriginAsset.PRESET, "wi_format")) for part in form.split("{0}"))
    return (*first, *(piece for part in rest for piece in (*text, *part)))


PINNED_GROUPS: Final = Step("pinned_groups", _run_pinned_groups, NoConfig)
