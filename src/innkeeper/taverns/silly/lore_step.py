"""Step ``lore``: scan the books and place the texts of what fired. Reads the scene; leaves `LoreTexts`."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Final

from innkeeper.lore import CompiledLore, LoreInput, ScanSources, compile_lore, scan
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.state import State
from innkeeper.prompt.step import NoConfig, Step
from innkeeper.taverns.silly.carry import carried_scans, read_carry
from innkeeper.taverns.silly.counting import Counting
from innkeeper.taverns.silly.lore_texts import lore_texts
from innkeeper.taverns.silly.note import note_text
from innkeeper.taverns.silly.scene import Scene, scene_of

__all__ = ["LORE"]

SCAN_LIMIT: Final = 1000


def run(state: State, _config: NoConfig) -> None:
    """Scan, record the verdicts, and let macros see the outlets."""
    scene = scene_of(state)
    lore = compile_lore(scene.inputs.books, scene.inputs.lore)
    result = scan(lore, _input(state, scene, lore))
    texts = lore_texts(result.activated, reversed_ties=scene.inputs.compat.reversed_ties)
    state.result.lore = result
    state.result.outlets.update(texts.outlets)
    scene.expand.env = replace(scene.expand.env, outlets=texts.outlets)
    state.scratch["lore"] = texts
    state.instrument("stat", lambda: {"key": "world_info_activated", "value": len(result.activated)})
    if result.overflowed:
        state.note(
            NoteKind.LIMIT, f"the lore budget of {result.budget} tokens is used up", data={"budget": result.budget}
        )


def _input(state: State, scene: Scene, lore: CompiledLore) -> LoreInput:
    inputs, counting = scene.inputs, Counting.of(state, scene.inputs)
    return LoreInput(
        settings=inputs.lore,
        messages=_messages(scene, lore),
        sources=_sources(state, scene),
        budget=inputs.lore.tokens(inputs.context_tokens),
        length=sum(not line.hidden for line in scene.lines),
        random=state.inputs.random.stream("lore"),
        count=counting.lore,
        count_part=counting.lore_part,
        count_overhead=counting.lore_overhead,
        substitute=scene.expand,
        report=lambda what, why: state.warn(f"the key {what} was not run: {why}", kind=NoteKind.LIMIT),
        generation=inputs.type,
        character=inputs.filename,
        character_tags=inputs.tags,
        forced=frozenset(map(str, state.request.force_lore)),
        state=read_carry(state.request.lore_state).timed,
        live=not inputs.generation.dry_run,
        double_removal=inputs.compat.double_removal,
    )


def _messages(scene: Scene, lore: CompiledLore) -> list[str]:
    """As many of the newest messages as any entry looks at, newest first, where the setting says so with names in front."""
    settings = scene.inputs.lore
    limit = SCAN_LIMIT if settings.min_activations else min(max(settings.depth, lore.deepest), SCAN_LIMIT)
    names = scene.inputs.lore.include_names
    newest = islice((line for line in reversed(scene.lines) if not line.tool_calls), limit)
    return [f"{line.name}: {line.text}" if names else line.text for line in newest]


def _sources(state: State, scene: Scene) -> ScanSources:
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
        injections=tuple(_injections(state, scene)),
    )


def _injections(state: State, scene: Scene) -> list[str]:
    """What is scanned beside the chat: scanned injections, the note when it may, the quiet prompt, what was carried over."""
    found = {item.id: item.content for item in state.request.injections if item.scan}
    port = state.inputs.ports.injections
    found |= {item.id: item.content for item in (port.active(state) if port is not None else ()) if item.scan}
    note = note_text(scene) if scene.inputs.note.allow_wi_scan else ""
    found |= {"2_floating_prompt": note} if note else {}
    found |= {"QUIET_PROMPT": scene.inputs.generation.quiet_prompt} if scene.inputs.generation.quiet_prompt else {}
    found |= {key: text for key, text in carried_scans(state.request.lore_state).items() if key not in found}
    return [text for key, value in sorted(found.items()) if (text := scene.expand(value))]


LORE: Final = Step("lore", run, NoConfig)
