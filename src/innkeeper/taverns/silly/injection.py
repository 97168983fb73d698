"""Step ``injection``: texts beside the main prompt and in the chat at a depth. Leaves `Injections`.

Besides the request's injections these are the author's note, the persona at a depth, the card's depth prompt and lore at a
depth. Keys are SillyTavern's own: texts of one depth are joined in their order, and have their macros replaced as one text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from innkeeper.content.persona import PersonaPosition
from innkeeper.prompt.block import Origin, OriginAsset
from innkeeper.prompt.errors import Where
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.run.extensions import InjectionPosition, active_injections
from innkeeper.prompt.run.pipeline import NoConfig, Step
from innkeeper.prompt.run.state import State
from innkeeper.taverns.silly.cache_friendly import depth_of, pieces_of_frozen
from innkeeper.taverns.silly.expansion import LINE_BREAK, Expander, Pieces, cut, in_lines, pieces_of, text_of, trimmed
from innkeeper.taverns.silly.lore import LoreTexts, note_due, note_text
from innkeeper.taverns.silly.scene import Scene, depth_prompts, scene_of
from innkeeper.taverns.silly.scratch import INJECTIONS, LORE_TEXTS, PINNED
from innkeeper.taverns.silly.settings import ROLES
from innkeeper.text.javascript.values import strip

NOTE_KEY: Final = "2_floating_prompt"
SUMMARY_KEY: Final = "1_memory"
KNOWN_FIRST: Final = (SUMMARY_KEY, NOTE_KEY, "3_vectors", "4_vectors_data_bank")
"""The keys of texts beside the main prompt that SillyTavern sets first, in this order."""
_OF_SYSTEM: Final = ("3_vectors", "chromadb")
"""Keys whose texts beside the main prompt are the system's, whatever their role."""

OF_LORE: Final = ("customWIOutlet_", "customDepthWI_")
"""The prefixes of keys reserved for lore."""

MAX_DEPTH: Final = 10_000
"""The deepest position of a text, in messages from the end (no error: deeper ones are dropped, `sillytavern.md` 44)."""


class InjectedText(msgspec.Struct, frozen=True, kw_only=True):
    """An inserted text. ``key`` sorts texts of one ``depth`` of the chat, order and role; the preset's own have none.

    A ``frozen`` one is sent as it is, at its very place.
    """

    key: str
    pieces: Pieces
    role: str
    depth: int = 0
    order: int = 100
    frozen: bool = False

    @property
    def text(self) -> str:
        """The text."""
        return text_of(self.pieces)


class Injections(msgspec.Struct, frozen=True, kw_only=True):
    """``before`` and ``after`` the main prompt, in order; of ``depth`` texts one for a depth and role, unsorted.

    ``prefill`` is the preset's beginning of replies, where one is continued behind it; ``written`` all texts as they were made.
    """

    before: tuple[InjectedText, ...] = ()
    after: tuple[InjectedText, ...] = ()
    depth: tuple[InjectedText, ...] = ()
    prefill: str = ""
    written: tuple[str, ...] = ()
    carried: dict[str, str] = {}


Placed = tuple[InjectionPosition, InjectedText]
"""A text as it was made, and where it goes."""


def note_ephemeral(state: State) -> None:
    """Note the injections that are for one generation: whoever keeps them takes them away."""
    if names := tuple([injection.id for injection in state.request.injections if injection.ephemeral]):
        message = f"{len(names)} injections are ephemeral: remove them after this generation"
        state.note(NoteKind.DUE, message, data={"input": "injections", "fields": ("ephemeral",), "ids": names})


def placed_texts(state: State) -> list[Placed]:
    """The injections of the request and the port, and the note, in the order they were made; their macros are as written."""
    return [*_injections(state), *_note(scene_of(state), state.scratch[LORE_TEXTS])]


def run(state: State, _config: NoConfig) -> None:
    """Put the texts of the chat together and expand them. Those beside the main prompt are expanded among the prompts."""
    scene, pinned, lore = scene_of(state), state.scratch[PINNED], state.scratch[LORE_TEXTS]
    depth_prompts, depth_lore, persona = tuple(_card(scene)), tuple(_lore(scene, lore)), tuple(_persona(scene))
    in_chat = [text for position, text in pinned.placed if position is InjectionPosition.CHAT]
    prefill: list[str] = []
    depths: list[InjectedText] = []
    scene.order.follow(
        {
            "prefill": lambda: prefill.append(_prefill(state, scene)),
            "depths": lambda: depths.extend(
                joined_depths(scene.expand, (*in_chat, *depth_prompts, *depth_lore, *persona))
                if scene.inputs.cache is None
                else _friendly(scene, (*in_chat, *depth_prompts, *persona), depth_lore)
            ),
        }
    )
    note_ephemeral(state)
    written = (*(text for _, text in pinned.placed if text.key != NOTE_KEY), *depth_prompts)
    notes = tuple(text for _, text in pinned.placed if text.key == NOTE_KEY)
    state.scratch[INJECTIONS] = Injections(
        before=tuple(text for position, text in pinned.beside if position is InjectionPosition.BEFORE)[::-1],
        after=tuple(text for position, text in pinned.beside if position is InjectionPosition.AFTER),
        depth=(*(text for text in depths if text.pieces), *_frozen(scene, lore)),
        prefill="".join(prefill),
        written=_written(state, (*written, *notes, *depth_lore), persona),
        carried={text.key: text.text for text in persona},  # written after the scan: for the next one
    )


def _written(state: State, texts: Iterable[InjectedText], persona: Iterable[InjectedText]) -> tuple[str, ...]:
    """All texts as they were made, with the outlets of lore among them."""
    return (*[text.text for text in texts], *state.result.outlets.values(), *[text.text for text in persona])


def _prefill(state: State, scene: Scene) -> str:
    """The preset's beginning of replies, where a message of the assistant's is continued by it."""
    preset = scene.inputs.preset
    if scene.type != "continue" or not preset.continue_prefill or preset.chat_completion_source != "claude":
        return ""
    lines = scene.inputs.spoken(scene.lines)
    if lines and not lines[-1].is_user and not lines[-1].narrator:
        return scene.expand(preset.assistant_prefill)
    if preset.assistant_prefill:
        message = "the preset's assistant_prefill is not used: the message to continue is not the assistant's"
        state.note(NoteKind.IGNORED, message, data={"input": "preset.assistant_prefill"})
    return ""


def joined_depths(expand: Expander, texts: Iterable[InjectedText], *, end: bool = True) -> Iterator[InjectedText]:
    """Join texts of one depth and role, by their keys, with macros replaced: from the newest depth on, by role.

    What macros leave blank at the beginning is not sent; with ``end``, nor at the end.
    """
    groups: dict[tuple[int, str], list[InjectedText]] = {}
    for text in texts:
        groups.setdefault((text.depth, text.role), []).append(text)
    for depth, role in sorted(groups, key=lambda pair: (pair[0], rank_in(ROLE_ORDER, pair[1]))):
        ordered = sorted(groups[depth, role], key=lambda text: text.key)
        pieces = in_lines(*(trimmed(text.pieces) for text in ordered))
        if 0 <= depth <= MAX_DEPTH:
            pieces = expand.pieces(pieces)
        yield msgspec.structs.replace(ordered[0], pieces=trimmed(pieces, end=end))


def note_depths(state: State, texts: Iterable[InjectedText]) -> None:
    """Name the texts whose depth no chat has: they are left out."""
    for item in texts:
        if item.text and not 0 <= item.depth <= MAX_DEPTH:
            message = f"the text at depth {item.depth} is left out: depths go from 0 to {MAX_DEPTH}"
            state.note(NoteKind.IGNORED, message, data={"input": item.key})


ROLE_ORDER: Final = ("system", "user", "assistant")
"""The order of roles within one depth and order, counted from the end of the chat (`sillytavern.md` 43)."""


def rank_in(order: tuple[str, ...], name: str) -> int:
    """The index of a name in an order; those that are not in it follow."""
    return order.index(name) if name in order else len(order)


def _injections(state: State) -> Iterator[tuple[InjectionPosition, InjectedText]]:
    """The application's system text, before the main prompt; the injections of the request, then those of the port."""
    system = state.request.system
    if strip(system):
        pieces = pieces_of(system, Origin(OriginAsset.REQUEST, "system"))
        yield InjectionPosition.BEFORE, InjectedText(key="request_system", pieces=pieces, role="system")
    port = state.inputs.ports.injections
    for error in getattr(port, "refused", ()):
        state.warn(f"a saved injection is left out: {error.message}", where=error.where)
    made = scene_of(state).recall.injections
    for item in (*state.request.injections, *active_injections(port, state), *made):
        if item.id.startswith(OF_LORE):
            message = f"the injection {item.id!r} is not sent: SillyTavern removes such keys when it scans for lore"
            state.note(NoteKind.QUIRK, message, where=Where(asset="injections", path=item.id), hint="rename it")
            continue
        pieces = pieces_of(item.content, Origin(OriginAsset.INJECTION, entry=item.id))
        role = "system" if item.id in _OF_SYSTEM and item.position is not InjectionPosition.CHAT else item.role
        yield item.position, InjectedText(key=item.id, pieces=pieces, role=role, depth=item.depth)


def _note(scene: Scene, lore: LoreTexts) -> Iterator[tuple[InjectionPosition, InjectedText]]:
    pieces, note = _placed_note(scene, lore), scene.inputs.note
    if note.depth >= 0 and (note_due(scene) or pieces):
        positions = {0: InjectionPosition.AFTER, 1: InjectionPosition.CHAT, 2: InjectionPosition.BEFORE}
        role = ROLES.get(note.role, "system")
        text = InjectedText(key=NOTE_KEY, pieces=pieces, role=role, depth=note.depth)
        yield positions.get(note.position, InjectionPosition.CHAT), text


def _placed_note(scene: Scene, lore: LoreTexts) -> Pieces:
    """The note as it is sent: lore around it, the persona around both; empty when it is not due."""
    due = note_due(scene)
    if not due and scene.inputs.compat.note_lore_vanishes:
        return ()
    note = pieces_of(note_text(scene), Origin(OriginAsset.AUTHORS_NOTE))
    if lore.an_top or lore.an_bottom:
        note = (*in_lines(*lore.an_top), LINE_BREAK, *note, LINE_BREAK, *in_lines(*lore.an_bottom))
        text = text_of(note)
        note = tuple(cut(note, int(text.startswith("\n")), len(text) - text[1:].endswith("\n")))
    return _with_persona(scene, note) if due else note


def _with_persona(scene: Scene, note: Pieces) -> Pieces:
    persona, position = persona_pieces(scene), scene.inputs.persona.position
    if not persona:
        return note
    if position is PersonaPosition.TOP_AN:
        return (*persona, LINE_BREAK, *note)
    return (*note, LINE_BREAK, *persona) if position is PersonaPosition.BOTTOM_AN else note


def persona_pieces(scene: Scene) -> Pieces:
    """The persona's description as it is written: where it is placed, its macros are replaced late."""
    return pieces_of(scene.inputs.persona.description, Origin(OriginAsset.PERSONA, "description"))


def _persona(scene: Scene) -> Iterator[InjectedText]:
    persona = scene.inputs.persona
    if persona.position is PersonaPosition.AT_DEPTH and persona.description:
        pieces = trimmed(persona_pieces(scene))
        yield InjectedText(key="PERSONA_DESCRIPTION", pieces=pieces, depth=persona.depth, role=persona.role)


def _card(scene: Scene) -> Iterator[InjectedText]:
    for key, prompt, pieces in depth_prompts(scene):
        yield InjectedText(key=key, pieces=trimmed(pieces), depth=prompt.depth, role=prompt.role)


def _lore(scene: Scene, lore: LoreTexts) -> Iterator[InjectedText]:
    """Lore at a depth. ``skip_wian`` leaves out these, and the outlets."""
    if scene.inputs.generation.skip_wian:
        return
    numbers = {name: number for number, name in ROLES.items()}
    for item in lore.depth:
        key = f"customDepthWI_{item.depth}_{numbers.get(item.role, 0)}"
        pieces = trimmed(in_lines(*item.texts))
        yield InjectedText(key=key, pieces=pieces, depth=item.depth, role=item.role)


def _friendly(scene: Scene, texts: Iterable[InjectedText], lore: Iterable[InjectedText]) -> Iterator[InjectedText]:
    """Texts that are always there, held back for some turns, apart from lore, which comes and goes and stays near the end."""
    length = len(scene.inputs.spoken(scene.lines))
    for text in joined_depths(scene.expand, texts):
        depth = text.depth if scene.inputs.cache is None else scene.inputs.cache.depth(text.depth, length)
        yield msgspec.structs.replace(text, depth=depth)
    yield from joined_depths(scene.expand, lore)


def _frozen(scene: Scene, lore: LoreTexts) -> Iterator[InjectedText]:
    """Entries that stay where they were first inserted, with nothing replaced in them again."""
    lines = scene.inputs.spoken(scene.lines) if lore.frozen else ()
    for entry in lore.frozen:
        pieces, depth = pieces_of_frozen(entry), depth_of(entry, lines)
        yield InjectedText(key=entry.key, pieces=pieces, depth=depth, role=entry.role, frozen=True)


INJECTION: Final = Step("injection", run, NoConfig)


def run_text(state: State, _config: NoConfig) -> None:
    """The same for text prompts, which have one text before the story, and one after it."""
    scene, lore = scene_of(state), state.scratch[LORE_TEXTS]
    placed = placed_texts(state)
    depth_prompts, depth_lore, persona = tuple(_card(scene)), tuple(_lore(scene, lore)), tuple(_persona(scene))
    in_chat = tuple(text for position, text in placed if position is InjectionPosition.CHAT)
    beside: dict[InjectionPosition, tuple[InjectedText, ...]] = {}

    def join() -> None:
        for edge in (InjectionPosition.BEFORE, InjectionPosition.AFTER):
            texts = (text for position, text in placed if position is edge)
            beside[edge] = tuple(_joined(scene.expand, sorted(texts, key=lambda text: text.key)))

    scene.order.follow({"beside_main": join})
    written = (*(text for _, text in placed if text.key != NOTE_KEY), *depth_prompts)
    notes = tuple(text for _, text in placed if text.key == NOTE_KEY)
    state.scratch[INJECTIONS] = Injections(
        before=beside[InjectionPosition.BEFORE],
        after=beside[InjectionPosition.AFTER],
        depth=(*in_chat, *depth_prompts, *depth_lore, *persona),
        written=_written(state, (*written, *notes, *depth_lore), persona),
        carried={text.key: text.text for text in persona},
    )


def _joined(expand: Expander, texts: list[InjectedText]) -> Iterator[InjectedText]:
    """Join texts and replace their macros; none without a text."""
    joined = in_lines(*(trimmed(text.pieces) for text in texts))
    pieces = trimmed(expand.pieces((LINE_BREAK, *joined, LINE_BREAK))) if joined else ()
    if pieces:
        yield msgspec.structs.replace(texts[0], pieces=pieces)


TEXT_INJECTION: Final = Step("injection", run_text, NoConfig)
