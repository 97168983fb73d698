"""The step *plan assembly*: system, history, post-history, user input (1-vibetavern-pipeline, *Block Semantics*).

The default system text is the card's texts and the user's persona, each mapped to the field it is from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from innkeeper.content.character import Character
from innkeeper.content.persona import Persona
from innkeeper.macros.engine.ranges import made_pieces
from innkeeper.macros.liquid.templates import LiquidResult, liquid_assigns, liquid_registers, render
from innkeeper.prompt import (
    Block,
    BudgetGroup,
    ConfigError,
    FrozenDict,
    InnkeeperError,
    Message,
    NoteKind,
    Origin,
    Piece,
    Plan,
    State,
    Step,
    StepConfig,
    Where,
)
from innkeeper.prompt.block import OriginAsset, join_pieces
from innkeeper.prompt.text import shorten
from innkeeper.taverns.assets import assets_of
from innkeeper.taverns.vibe.prepare import prepared

_HISTORY: Final = FrozenDict({"source": "history"})
_NOTHING: Final = FrozenDict()


class PlanAssemblyConfig(StepConfig, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``default_system_text_builder``: a function of the state that gives the default system text; blank disables it."""

    default_system_text_builder: Any = None

    def __post_init__(self) -> None:
        """Refuse what cannot be called."""
        if self.default_system_text_builder is not None and not callable(self.default_system_text_builder):
            raise ConfigError("default_system_text_builder must be callable")


def _assemble(state: State, config: PlanAssemblyConfig) -> None:
    blocks = [
        *_system(state, config),
        *_request_system(state.request.system),
        *_history(assets_of(state).history),
        *_post_history(state),
        *_user_input(state.request.message),
    ]
    _note_macros(state, blocks)
    state.result.blocks = blocks
    state.result.plan = Plan(blocks=tuple(blocks))
    state.stat("plan_blocks", len(blocks))


def _note_macros(state: State, blocks: list[Block]) -> None:
    """Note the fields of card and persona whose macros are sent as they stand: this tavern expands none in them."""
    texts = [block for block in blocks if block.pieces and "{{" in block.content and block.group is BudgetGroup.SYSTEM]
    for piece in (piece for block in texts for piece in block.pieces):
        origin = piece.origin
        if origin.asset not in _ASSETS:
            continue
        macros = tuple(dict.fromkeys(_MACRO.findall(piece.text)))
        if macros:
            shown = ", ".join(shorten(macro, 40) for macro in macros[:_SHOWN]) + ", …" * (len(macros) > _SHOWN)
            state.note(
                NoteKind.MACRO,
                f"macros are sent as they stand: {shown}",
                where=Where(asset=str(origin.asset), path=origin.field),
                hint="the silly and smart taverns expand macros in cards",
            )


_MACRO: Final = re.compile(r"\{\{[^{}\n]{1,200}\}\}")
_SHOWN: Final = 5
_ASSETS: Final = frozenset({OriginAsset.CHARACTER, OriginAsset.PERSONA})


def _system(state: State, config: PlanAssemblyConfig) -> Iterator[Block]:
    """The template, where its key is present at all; else the default text."""
    if "system_template" in state.request.meta:
        yield from _template(state, "system_template", "system")
        return
    pieces = _default_pieces(state, config.default_system_text_builder)
    if any(piece.text.strip() for piece in pieces):
        yield _system_block("system", "default_system", pieces)


def _default_pieces(state: State, builder: Callable[[State], Any] | None) -> tuple[Piece, ...]:
    who = prepared(state)
    if who.character is None and who.user is None:
        return ()
    if builder is not None:
        try:
            text = builder(state)
        except InnkeeperError as error:
            state.warn(
                f"default_system_text_builder failed, the built-in text is used: {error.message}", hint=error.hint
            )
        except Exception as error:  # noqa: BLE001 - the application's own function may raise anything
            what = f"{type(error).__name__}: {error}"
            state.warn(f"default_system_text_builder failed, the built-in text is used: {what}")
        else:
            return (
                Piece(
                    "" if text is None else str(text),
                    Origin(OriginAsset.REQUEST, "settings", "default_system_text_builder"),
                ),
            )
    return default_system_pieces(who.character, who.user)


def _request_system(text: str) -> Iterator[Block]:
    if text.strip():
        yield _system_block(
            "system", "request_system", (Piece(text, Origin("request", "system")),), id="request_system"
        )


def _history(history: tuple[Message, ...]) -> Iterator[Block]:
    for index, message in enumerate(history):
        yield Block(
            role=message.role,
            content=message.content,
            id=f"history-{index}",
            name=message.name,
            attachments=message.attachments,
            message_metadata=message.metadata,
            slot="history",
            group=BudgetGroup.HISTORY,
            metadata=_HISTORY,
            origin=Origin("history", entry=str(index)),
        )


def _post_history(state: State) -> Iterator[Block]:
    """The template, where its key is present at all; else the card's own text, which is not a template."""
    slot = "post_history_instructions"
    if "post_history_template" in state.request.meta:
        yield from _template(state, "post_history_template", slot)
        return
    character = prepared(state).character
    if character is not None and character.post_history_instructions.strip():
        origin = Origin("character", "post_history_instructions")
        yield _system_block(slot, slot, (Piece(character.post_history_instructions, origin),))


def _user_input(message: str) -> Iterator[Block]:
    if message.strip():
        yield Block(
            role="user",
            content=message,
            id="user_message",
            slot="user_message",
            group=BudgetGroup.HISTORY,
            metadata=FrozenDict({"source": "user_message"}),
            origin=Origin("message"),
        )


def _template(state: State, key: str, slot: str) -> Iterator[Block]:
    """The block of a template: none when it is blank, or renders to nothing but spaces."""
    value = state.request.meta[key]
    text = "" if value is None else str(value)
    if not text.strip():
        return
    rendered, origin = _rendered(state, key, text), Origin(OriginAsset.REQUEST, "meta", key)
    if rendered.text.strip():
        block = _system_block(slot, key, made_pieces(rendered.text, rendered.ranges, origin))
        yield block.with_(origin=origin)


def _rendered(state: State, key: str, template: str) -> LiquidResult:
    who = prepared(state)
    try:
        result = render(
            template,
            liquid_assigns(who.character, who.user, state.context) if "{" in template else _NOTHING,
            variables=state.variables,
            strict=state.request.strict,
            registers=liquid_registers(state.context),
            clock=state.inputs.clock,
        )
    except InnkeeperError as error:
        raise error.at(asset=key) from error.__cause__
    for note in result.warnings:
        where = note.where or Where()
        origin = Where(asset=key, line=where.line, column=where.column, excerpt=where.excerpt, cut=where.cut)
        state.warn(note.message, kind=NoteKind.MACRO, where=origin, hint=note.hint)
    return result


def _system_block(slot: str, source: str, pieces: tuple[Piece, ...], id: str | None = None) -> Block:  # noqa: A002
    return Block(
        role="system",
        content="".join(piece.text for piece in pieces),
        id=id or slot,
        slot=slot,
        group=BudgetGroup.SYSTEM,
        metadata=FrozenDict({"source": source}),
        origin=pieces[0].origin if len(pieces) == 1 else None,
        pieces=pieces,
    )


PLAN_ASSEMBLY: Final = Step("plan_assembly", _assemble, PlanAssemblyConfig)
"""Makes the blocks and the plan."""


_OWN: Final = Origin(OriginAsset.ENGINE, "default_system")


def default_system_text(character: Character | None, user: Persona | Character | None) -> str:
    """The text; empty without a character."""
    return "".join(piece.text for piece in default_system_pieces(character, user))


def default_system_pieces(character: Character | None, user: Persona | Character | None) -> tuple[Piece, ...]:
    """Its non-blank parts with a blank line between them.

    They are the card's ``system_prompt``, ``You are NAME.``, description, personality, ``Scenario:`` and ``User persona:``
    with their texts on the next line (1-vibetavern-pipeline, *Block Semantics*).
    """
    parts = list(_of_character(character))
    if user is not None and user.persona_text.strip():
        text = Piece(user.persona_text, Origin(OriginAsset.PERSONA, "description"))
        parts.append((Piece("User persona:\n", _OWN), text))
    return join_pieces(parts, "\n\n", _OWN)


def _of_character(character: Character | None) -> Iterator[tuple[Piece, ...]]:
    if character is None:
        return
    yield _part(character, "system_prompt")
    if character.display_name.strip():
        field = "nickname" if character.nickname.strip() else "name"
        name = Piece(character.display_name, Origin("character", field))
        yield (Piece("You are ", _OWN), name, Piece(".", _OWN))
    yield _part(character, "description")
    yield _part(character, "personality")
    yield _part(character, "scenario", heading="Scenario:\n")


def _part(character: Character, field: str, heading: str = "") -> tuple[Piece, ...]:
    text: str = getattr(character, field)
    if not text.strip():
        return ()
    body = Piece(text, Origin("character", field))
    return (Piece(heading, _OWN), body) if heading else (body,)
