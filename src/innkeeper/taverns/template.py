"""Template: the tavern of rendered templates: system text, history, the user's message; within the window.

It renders nothing itself: ``system`` is the text of a template, and ``settings["ranges"]`` says where it is from, run by run:
``[end, template, variable]``, as the library's renderer gives them (`innkeeper.library.Library.prepare`). ``settings["parts"]``
are texts that stand behind it: what is remembered, which stays, and scenes and examples of a voice, which go when every turn
that may go has gone. All of a request is data, so that each plan can be built again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Literal

import msgspec

from innkeeper.budget import TRIMMING
from innkeeper.budget.window import client_id, copies_of
from innkeeper.prompt import (
    Block,
    BudgetGroup,
    BuildRequest,
    FormatError,
    Message,
    NoConfig,
    NoteKind,
    Origin,
    Piece,
    Pipeline,
    Plan,
    State,
    Step,
    Where,
)
from innkeeper.prompt.block import OriginAsset
from innkeeper.prompt.typed.once import convert
from innkeeper.taverns.assets import assets_of
from innkeeper.taverns.inputs import ASKING_PORTS, InputRules
from innkeeper.taverns.tavern import Tavern

PARTS: Final = {"memory": BudgetGroup.SYSTEM, "scene": BudgetGroup.LORE, "voice": BudgetGroup.EXAMPLES}
"""The kinds of ``PrepareRequest.parts``, with their budget groups: memories stay, a scene goes before examples of a voice."""

HISTORY_ID: Final = "history-"
"""The id of the block of a message of the history begins so; its place follows, from 0."""

INPUTS: Final = InputRules(
    ignored={
        "profile": "the template tavern has no profiles",
        **dict.fromkeys(("character", "user", "group"), "the text of the template is all that is said of anybody"),
        "generation": "the template tavern builds the same prompt for every kind of generation",
        "greeting": "the template tavern starts from the history it is given",
        "preset": "the order of the template tavern is fixed",
        **dict.fromkeys(("lorebooks", "force_lore", "lore_state"), "the template tavern activates no lore"),
        "injections": "the template tavern injects nothing",
        "authors_note": "the template tavern has no author's note",
        **dict.fromkeys(("macro_vars", "variables", "context", "locale"), "the text was rendered before"),
        "ports.random": "nothing in the template tavern is left to chance",
        "seed": "nothing in the template tavern is left to chance",
        **dict.fromkeys(ASKING_PORTS, "the template tavern has no step that asks it"),
    },
    meta=(),
    settings=frozenset({"ranges", "client_msg_id", "parts"}),
    metadata=frozenset(),
    reads={},
)
"""What has no effect here, and why."""


class _TemplatePart(msgspec.Struct, frozen=True):
    kind: Literal["memory", "scene", "voice"]
    text: str


class _Settings(msgspec.Struct, frozen=True):
    """The keys of ``settings``; ``client_msg_id`` is the id of ``message``, whose stored copy in the history is left out."""

    ranges: tuple[tuple[Annotated[int, msgspec.Meta(ge=0)], str, str | None], ...] = ()
    client_msg_id: str = ""
    parts: tuple[_TemplatePart, ...] = ()


def _assemble(state: State, _config: NoConfig) -> None:
    request = state.request
    settings = _settings(state)
    messages = (*_system(request, settings), *_parts(settings))
    blocks = (*messages, *_history(state, settings.client_msg_id), *_message(request.message))
    state.result.blocks = list(blocks)
    state.result.plan = Plan(blocks=blocks)
    state.stat("plan_blocks", len(blocks))


def _settings(state: State) -> _Settings:
    try:
        return convert(dict(state.request.settings), _Settings)
    except msgspec.ValidationError as error:
        raise FormatError(f"settings: {error}", where=Where(asset="request", path="settings")) from error


def _system(request: BuildRequest, settings: _Settings) -> Iterator[Block]:
    if request.system:
        yield Block(
            role="system",
            content=request.system,
            id="system",
            slot="system",
            group=BudgetGroup.SYSTEM,
            removable=False,
            pieces=tuple(_pieces(request.system, settings)),
        )


def _pieces(text: str, settings: _Settings) -> Iterator[Piece]:
    """The text in its ranges; what they do not cover was given with the request."""
    start = 0
    for end, template, variable in settings.ranges:
        if text[start:end]:
            yield Piece(text[start:end], Origin(OriginAsset.TEMPLATE, "system_prompt", macro=variable, name=template))
            start = end
    if text[start:]:
        yield Piece(text[start:], Origin(OriginAsset.REQUEST, "system"))


def _parts(settings: _Settings) -> Iterator[Block]:
    """The parts, each a block of its own, so that it can go as a whole."""
    for number, part in enumerate(settings.parts):
        if part.text:
            yield Block(
                role="system",
                content=part.text,
                id=f"{part.kind}-{number}",
                slot=part.kind,
                group=PARTS[part.kind],
                origin=Origin(OriginAsset.REQUEST, "settings", entry=f"parts[{number}]"),
            )


def _history(state: State, current: str) -> Iterator[Block]:
    history = assets_of(state).history
    copies = copies_of(current, map(client_id, history))
    for index in copies:
        why = f"history[{index}] is the message that is sent now, and is left out"
        state.note(NoteKind.IGNORED, why, data={"input": f"history[{index}]"})
    for index, message in enumerate(history):
        if index not in copies:
            yield _turn(index, message)


def _turn(index: int, message: Message) -> Block:
    group = BudgetGroup.SYSTEM if message.role == "system" else BudgetGroup.HISTORY
    origin = Origin(OriginAsset.HISTORY, entry=str(index))
    removable = not message.metadata.get("pinned", False)
    return Block.of_message(
        message, id=f"{HISTORY_ID}{index}", slot="history", group=group, origin=origin, removable=removable
    )


def _message(text: str) -> Iterator[Block]:
    if text:
        yield Block(
            role="user",
            content=text,
            id="user_message",
            slot="user_message",
            group=BudgetGroup.HISTORY,
            removable=False,
            origin=Origin(OriginAsset.MESSAGE),
        )


PIPELINE: Final = Pipeline(Step("plan_assembly", _assemble, NoConfig)).append(TRIMMING, strategy="chat_window")

TAVERN: Final = Tavern(
    name="template",
    pipeline=PIPELINE,
    inputs=INPUTS,
    summary="the text of a rendered template, the newest turns that fit, what the user says",
)
"""The tavern as the registry has it."""

build = TAVERN.build
builder = TAVERN.builder
to_messages = TAVERN.to_messages
