"""Step ``lore``: scan the chat, record a verdict for every entry, sort the texts of those that fired.

Leaves `LoreTexts`; macros find the outlets in the result. The scan also reads the author's note, which lore and persona are
put around later, and `Carry`: what one generation leaves for the next one of the same chat, that is timed effects and
the texts that SillyTavern injects only after its scan, so that they are visible to the next one (`sillytavern.md`
38).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Final

import msgspec

from innkeeper.content.entry import LorePosition
from innkeeper.content.regex_script import ScriptPlacement
from innkeeper.lore import Activated, CompiledLore, LoreInput, LoreResult, ScanSources, compile_lore, scan
from innkeeper.lore.order import descending
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import Where
from innkeeper.prompt.near import did_you_mean
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.run.extensions import active_injections
from innkeeper.prompt.run.pipeline import NoConfig, Step
from innkeeper.prompt.run.state import State
from innkeeper.prompt.text import shorten
from innkeeper.taverns.assets import assets_of
from innkeeper.taverns.silly.cache_friendly import Cut, FrozenEntry, freeze, freezes, read_cut, read_frozen
from innkeeper.taverns.silly.card_texts import separator_of
from innkeeper.taverns.silly.chat.room import Counting
from innkeeper.taverns.silly.environment import Outlets
from innkeeper.taverns.silly.expansion import Pieces, text_of
from innkeeper.taverns.silly.extensions.recall import searched_lore
from innkeeper.taverns.silly.lines.typed import as_typed
from innkeeper.taverns.silly.scene import Scene, depth_prompts, reasoned, scene_of
from innkeeper.taverns.silly.scratch import LORE_TEXTS
from innkeeper.text.javascript.values import strip


class DepthLore(msgspec.Struct, frozen=True):
    """Entries of one depth and role: their texts in order."""

    depth: int
    role: str
    texts: tuple[Pieces, ...]


class LoreExamples(msgspec.Struct, frozen=True):
    """An entry among the examples, at their ``top`` or their end; text completion has its own ``separator`` before each."""

    top: bool
    pieces: Pieces
    separator: str = ""


class LoreTexts(msgspec.Struct, frozen=True, kw_only=True):
    """The texts of entries in prompt order, each in pieces of its own. ``outlets`` are by name, joined."""

    before: tuple[Pieces, ...] = ()
    after: tuple[Pieces, ...] = ()
    an_top: tuple[Pieces, ...] = ()
    an_bottom: tuple[Pieces, ...] = ()
    examples: tuple[LoreExamples, ...] = ()
    depth: tuple[DepthLore, ...] = ()
    outlets: dict[str, str] = {}
    frozen: tuple[FrozenEntry, ...] = ()


_FIELDS = {
    LorePosition.BEFORE_CHAR: "before",
    LorePosition.AFTER_CHAR: "after",
    LorePosition.AN_TOP: "an_top",
    LorePosition.AN_BOTTOM: "an_bottom",
}

_AT_NOTE = frozenset({LorePosition.AN_TOP, LorePosition.AN_BOTTOM})
_EXAMPLES = frozenset({LorePosition.EM_TOP, LorePosition.EM_BOTTOM})


def lore_texts(
    activated: Iterable[Activated],
    *,
    reversed_ties: bool = True,
    edit: Callable[[Activated], Activated] | None = None,
) -> LoreTexts:
    """Place the entries: ascending by order, ties in reverse of activation, outlets descending (`sillytavern.md` 21, 29).

    Without ``reversed_ties`` entries of one order stand as they were activated. ``edit`` may change their texts, in the order
    of their placing.
    """
    placed: dict[str, list[Pieces]] = {name: [] for name in _FIELDS.values()}
    depths: dict[tuple[int, str], list[Pieces]] = {}
    outlets: dict[str, list[str]] = {}
    examples: list[LoreExamples] = []
    listed = tuple(activated)
    for item in descending(listed if reversed_ties else listed[::-1], lambda item: item.compiled.entry):
        entry = item.compiled.entry
        if edit is not None:
            item = edit(item)  # noqa: PLW2901 - the same entry with another text
        if not item.content:
            continue
        if entry.position is LorePosition.AT_DEPTH:
            depths.setdefault((entry.depth, entry.role), []).insert(0, item.pieces)
        elif entry.position is LorePosition.OUTLET:
            outlets.setdefault(entry.outlet_name, []).append(item.content)
        elif entry.position in _EXAMPLES:
            examples.insert(0, LoreExamples(entry.position is LorePosition.EM_TOP, item.pieces))
        else:
            placed[_FIELDS[entry.position]].insert(0, item.pieces)
    return LoreTexts(
        before=tuple(placed["before"]),
        after=tuple(placed["after"]),
        an_top=tuple(placed["an_top"]),
        an_bottom=tuple(placed["an_bottom"]),
        examples=tuple(examples),
        depth=tuple(DepthLore(depth, role, tuple(texts)) for (depth, role), texts in depths.items()),
        outlets={name: "\n".join(texts) for name, texts in outlets.items() if name},
    )


def note_due(scene: Scene) -> bool:
    """Whether the note is in this turn: every ``interval`` user messages; 0 or less is never."""
    interval = scene.inputs.note.interval
    if interval <= 1:
        return interval == 1
    count = sum(line.is_user for line in scene.all_lines)
    return count > 0 and count % interval == 0


def _note_waiting(state: State, scene: Scene) -> None:
    """Say of a note that is not in this turn when it is."""
    interval = scene.inputs.note.interval
    if scene.inputs.note.text and not note_due(scene):
        when = (
            f"it comes every {interval} of the user's messages"
            if interval > 0
            else f"an interval of {interval} is never"
        )
        where = Where(asset="request", path="authors_note.interval")
        state.note(NoteKind.IGNORED, f"the author's note is left out: {when}", where=where)


def note_text(scene: Scene) -> str:
    """The note's text with the character's own note in its place; empty when it is not due."""
    if not note_due(scene):
        return ""
    text, own = as_typed(scene.inputs.note.text), scene.inputs.character_note
    if own is None or not own.use:
        return text
    texts = {0: own.text, 1: f"{own.text}\n{text}", 2: f"{text}\n{own.text}"}
    return texts.get(own.position, own.text)


class Carry(msgspec.Struct, frozen=True):
    """``timed`` is the timed effects' state; ``scans`` are texts by key for the next lore scan.

    ``generation`` is the type of the last generation that was not a dry run. ``outlets`` are those that a dry run has left:
    macros find them until the next scan. ``frozen`` are the entries that stay in the chat, ``cut`` is where it was cut.
    """

    timed: Any = None
    scans: Mapping[str, str] = EMPTY
    generation: str = ""
    outlets: Mapping[str, str] = EMPTY
    frozen: tuple[FrozenEntry, ...] = ()
    cut: Cut | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, for ``plan.carry``."""
        left: dict[str, Any] = {"outlets": dict(self.outlets)} if self.outlets else {}
        if self.frozen:
            left["frozen"] = msgspec.to_builtins(self.frozen)
        if self.cut is not None:
            left["cut"] = msgspec.to_builtins(self.cut)
        return {"timed": self.timed, "scans": dict(self.scans), "generation": self.generation, **left}


def read_carry(raw: Any) -> Carry:
    """A carry from a plan's ``carry``, or from bare timed effects."""
    if not isinstance(raw, Mapping):
        return Carry()
    if "timed" not in raw and "scans" not in raw:
        return Carry(raw)
    generation = raw.get("generation")
    return Carry(
        raw.get("timed"),
        _texts(raw.get("scans")),
        generation if isinstance(generation, str) else "",
        _texts(raw.get("outlets")),
        read_frozen(raw.get("frozen")),
        read_cut(raw.get("cut")),
    )


def _texts(raw: Any) -> Mapping[str, str]:
    return {str(key): str(text) for key, text in raw.items()} if isinstance(raw, Mapping) else EMPTY


SCAN_LIMIT: Final = 1000


_STATES: Final = frozenset({*Carry.__struct_fields__, "sticky", "cooldown"})


def _warn_of_state(state: State) -> None:
    """Warn of a lore state that is not what a build leaves, and says nothing."""
    raw = state.request.lore_state
    if not (raw is None or raw == {} or (isinstance(raw, Mapping) and _STATES & raw.keys())):
        where = Where(asset="request", path="lore_state")
        state.warn("lore_state is not what a build leaves: no effect lasts", where=where, hint="give plan.carry")


def run(state: State, _config: NoConfig) -> None:
    """Scan, record the verdicts, place the texts."""
    scene = scene_of(state)
    _warn_of_state(state)
    lore = compile_lore(scene.inputs.books, scene.inputs.lore)
    results: list[LoreResult] = []
    scanned: list[str] = []
    made: list[LoreTexts] = []

    def put() -> None:
        edit, activated = _scripts(scene), results[0].activated
        frozen: tuple[FrozenEntry, ...] = ()
        if scene.inputs.cache is not None and scene.inputs.cache.freeze:
            items = [item if edit is None else edit(item) for item in activated if freezes(item)]
            before, known = read_carry(assets_of(state).lore_state).frozen, {entry.key: entry for entry in lore.entries}
            frozen = freeze(scene, scene.inputs.spoken(scene.lines), items, before, known)
            activated = tuple([item for item in activated if not freezes(item)])
        texts = lore_texts(activated, reversed_ties=scene.inputs.compat.reversed_ties, edit=edit)
        made.append(msgspec.structs.replace(_with_separators(scene, texts), frozen=frozen))

    scene.order.follow(
        {
            "scanned": lambda: scanned.extend(_injections(state, scene)),
            "lore": lambda: results.append(scan(lore, _input(state, scene, lore, tuple(scanned)))),
            "lore_separators": put,
        }
    )
    _warn_of_forced(state, lore)
    _note_waiting(state, scene)
    result, texts = results[0], made[0]
    state.result.lore = replace(result, unplaced=partial(_unplaced, scene))
    state.result.outlets.clear()
    state.result.outlets.update({} if scene.inputs.generation.skip_wian else texts.outlets)
    state.scratch[LORE_TEXTS] = texts
    state.instrument("stat", lambda: {"key": "world_info_activated", "value": len(result.activated)})
    if result.overflowed:
        state.note(
            NoteKind.LIMIT, f"the lore budget of {result.budget} tokens is used up", data={"budget": result.budget}
        )


def _unplaced(scene: Scene, item: Activated) -> str:
    """Why the text of an entry that fired is nowhere in the prompt; empty where it is."""
    entry, inputs = item.compiled.entry, scene.inputs
    if not strip(item.content):
        return "it has no text"
    if entry.position is LorePosition.OUTLET:
        if not entry.outlet_name:
            return "its outlet has no name"
        outlets = scene.expand.env.outlets
        is_placed = not isinstance(outlets, Outlets) or entry.outlet_name in outlets.placed
        return "" if is_placed else f"nothing places outlet {entry.outlet_name!r}"
    if entry.position in _AT_NOTE and inputs.compat.note_lore_vanishes and not note_due(scene):
        return "the author's note that it stands at is not in this turn"
    if entry.position is LorePosition.AT_DEPTH and inputs.generation.skip_wian:
        return "this generation leaves out lore in the chat"
    return ""


def _warn_of_forced(state: State, lore: CompiledLore) -> None:
    """Warn of what is to fire without a key and is no entry, with the nearest that is."""
    for name in map(str, state.request.force_lore):
        if not lore.indices((name,)):
            known = [entry.key for entry in lore.entries]
            hint = did_you_mean(name, known, "entries are named book.uid")
            where = Where(asset="request", path="force_lore")
            state.warn(f"force_lore: there is no entry {shorten(name, 40)!r}", where=where, hint=hint)


def _with_separators(scene: Scene, texts: LoreTexts) -> LoreTexts:
    """The texts with those among the examples expanded once more, each before its separator."""
    examples = []
    for example in texts.examples:
        pieces = scene.expand.pieces(example.pieces, bare=True)
        examples.append(LoreExamples(example.top, pieces, separator_of(scene.inputs, scene.expand)))
    return msgspec.structs.replace(texts, examples=tuple(examples))


def _scripts(scene: Scene) -> Callable[[Activated], Activated] | None:
    """Run the regex scripts on an entry's text after macros and budget; entries in the chat have a depth."""
    scripts = scene.scripts
    if scripts is None:
        return None

    def edit(item: Activated) -> Activated:
        entry = item.compiled.entry
        depth = entry.depth if entry.position is LorePosition.AT_DEPTH else None
        text = scripts.text(item.content, ScriptPlacement.WORLD_INFO, depth=depth)
        return item if text is item.content else Activated(item.compiled, text)

    return edit


def _input(state: State, scene: Scene, lore: CompiledLore, injections: tuple[str, ...]) -> LoreInput:
    inputs, counting = scene.inputs, Counting.of(state, scene.inputs)
    return LoreInput(
        settings=inputs.lore,
        messages=_messages(scene, lore),
        sources=_sources(scene, injections),
        budget=inputs.lore.tokens(inputs.context_tokens - scene.guidance_tokens),
        length=len(inputs.spoken(scene.lines)),
        random=state.inputs.random.stream("lore"),
        count=counting.lore,
        count_part=counting.lore_part,
        count_overhead=counting.lore_overhead,
        substitute=scene.expand,
        expand=scene.expand.ranged,
        report=lambda what, why: state.warn(f"the key {what} was not run: {why}", kind=NoteKind.LIMIT),
        generation=inputs.type,
        character=inputs.filename,
        character_tags=inputs.tags,
        forced=frozenset(map(str, state.request.force_lore)),
        searched=searched_lore(scene.recall, lore.entries),
        state=read_carry(assets_of(state).lore_state).timed,
        live=not inputs.generation.dry_run,
        whole_chat=lambda: _searched(scene, SCAN_LIMIT),
        each_text=scene.expand.counts_plain,
        double_removal=inputs.compat.double_removal,
    )


def _messages(scene: Scene, lore: CompiledLore) -> list[str]:
    """The newest messages, up to the deepest scan depth, newest first, with names in front if the setting says so.

    They are scanned as they are sent: with the reasoning that is added, and with tool calls (as they are shown) where the
    preset sends these.
    """
    settings = scene.inputs.lore
    limit = SCAN_LIMIT if settings.min_activations else min(max(settings.depth, lore.deepest), SCAN_LIMIT)
    return _searched(scene, limit)


def _searched(scene: Scene, limit: int) -> list[str]:
    """So many of the newest messages as they are searched."""
    settings, newest = scene.inputs.lore, islice(reversed(scene.inputs.spoken(scene.lines)), limit)
    texts = ((line.name, line.shown if line.tool_calls and not line.text else reasoned(scene, line)) for line in newest)
    return [strip(f"{name}: {text}" if settings.include_names else text) for name, text in texts]


def _sources(scene: Scene, injections: tuple[str, ...]) -> ScanSources:
    texts = scene.texts
    return ScanSources(
        texts={
            "persona_description": texts.persona,
            "character_description": texts.description,
            "character_personality": texts.personality,
            "character_depth_prompt": texts.depth_prompt,
            "scenario": texts.scenario,
            "creator_notes": texts.creator_notes,
        },
        injections=injections,
    )


def _injections(state: State, scene: Scene) -> list[str]:
    """The scanned texts besides the chat: scanned injections, the note if allowed, the quiet prompt, carried-over text."""
    texts = {item.id: item.content for item in state.request.injections if item.scan}
    texts |= {item.id: item.content for item in active_injections(state.inputs.ports.injections, state) if item.scan}
    texts |= {item.id: item.content for item in scene.recall.injections if item.scan}
    if scene.inputs.note.allow_wi_scan:
        texts |= {key: text_of(pieces) for key, _, pieces in depth_prompts(scene)}
        texts["2_floating_prompt"] = note_text(scene)
    texts |= {"QUIET_PROMPT": scene.inputs.generation.quiet_prompt} if scene.inputs.generation.quiet_prompt else {}
    texts |= {key: text for key, text in read_carry(assets_of(state).lore_state).scans.items() if key not in texts}
    return [text for value in texts.values() if (text := scene.expand(value))]


LORE: Final = Step("lore", run, NoConfig)
