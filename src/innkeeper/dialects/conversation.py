"""TurnSequence: the rules that all chat providers share, applied to the turns: where system text goes, who may speak after whom.

Each provider states its facts in a `Rules` value. What a caller may choose is a `Style`:

- ``system``: ``keep`` each system message in its place; ``hoist`` all of them to the top; ``leading``: those before the
  first turn to the top, later ones become user messages; ``inline_user``: all become user messages;
- ``repair``: change what the provider would refuse (roles that do not alternate, messages without text, tool results
  without a call), and report it;
- ``names``: ``field`` where there is one, ``prefix`` (``Name: `` in front of the text), or ``drop``;
- ``filler``: what the user says where a provider wants the user to say something and nobody did;
- ``separator``: what stands between texts that are joined;
- ``own_fields``: fields that no rule knows, of messages, their parts and tools, are this provider's own and are sent;
- ``hosted_tools``: tools that the provider runs himself, as he has them, each with its place among the tools.

System text never becomes more trusted than it was, and no other text becomes system text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from innkeeper.dialects.media import OF_MEDIA, unsupported
from innkeeper.dialects.pieces import listed, texts_of
from innkeeper.dialects.report import Report, option_error
from innkeeper.dialects.tools import paired
from innkeeper.dialects.turn import ASSISTANT, RESULTS, SYSTEM, TOOL, USER, Turn, read_turn, replace
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.message import Message
from innkeeper.prompt.text import scalar_text

STYLE_OPTIONS: Final = (
    "system",
    "repair",
    "names",
    "filler",
    "separator",
    "message_keys",
    "own_fields",
    "hosted_tools",
)
SYSTEM_MODES: Final = ("keep", "hoist", "leading", "inline_user")
NAME_MODES: Final = ("field", "prefix", "drop")


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The messages that a provider accepts, as data."""

    system: str = "keep"
    """The default position of system text."""
    apart: bool = False
    """System text at the top is a field of its own, not a message."""
    repair: bool = False
    """Whether repairs are on by default: true for providers that refuse otherwise."""
    merge: bool = False
    """A repair joins neighbouring messages of one role."""
    blank: bool = True
    """Takes messages without text."""
    names: bool = False
    """Has a field for a speaker's name."""
    prefill: bool = False
    """Goes on writing a last assistant message."""
    calls: bool = True
    """Takes tool calls and results."""
    functions: bool = False
    """Takes results with the role ``function`` and no id, as before there were tools."""
    reasoning: bool = False
    """Takes the thoughts behind earlier answers back."""
    sealed: bool = False
    """Takes thoughts back that only it can read."""
    signature: bool = False
    """Takes their signatures back."""
    cache: bool = False
    """Takes cache marks."""
    errors: bool = False
    """Can say that a tool failed."""
    keys: frozenset[str] = frozenset()
    """Further metadata keys that belong into a message of this provider."""
    media: frozenset[str] = frozenset({USER})
    """Roles whose messages may have attachments."""
    lists: bool = False
    """A message may have several texts, in order with its media."""
    parts: frozenset[str] = frozenset()
    """Fields that parts of its messages, and its tools, may have of their own."""
    shape: str = ""
    """The shape of the blocks that it alone reads (`innkeeper.prompt.parts`)."""


class Style(msgspec.Struct, frozen=True):
    """The choices of a caller. See the module's text."""

    system: str
    repair: bool
    names: str
    filler: str
    separator: str
    keys: frozenset[str]
    own: bool = False

    @classmethod
    def of(cls, options: Mapping[str, Any], rules: Rules, dialect: str) -> Style:
        """The style in ``options``, the provider's rules filling in. Raises `ConfigError`."""
        return cls(
            system=_one_of(dialect, options, "system", SYSTEM_MODES, rules.system),
            repair=_one_of(dialect, options, "repair", (True, False), rules.repair),
            names=_one_of(dialect, options, "names", NAME_MODES, "field" if rules.names else "drop"),
            filler=scalar_text(str(options.get("filler") or "Begin.")),
            separator=scalar_text(str(options.get("separator", "\n\n"))),
            keys=rules.keys | frozenset(options.get("message_keys") or ()),
            own=_one_of(dialect, options, "own_fields", (True, False), default=False),
        )

    def sends(self, key: str) -> bool:
        """Whether a message may have a field of this name that no rule reads."""
        return self.own or key in self.keys


class TurnSequence(msgspec.Struct, frozen=True):
    """Turns ready to be written: system text that goes to the top, and the turns in order."""

    system: tuple[Turn, ...]
    turns: list[Turn]
    style: Style


def _one_of(dialect: str, options: Mapping[str, Any], name: str, allowed: Sequence[Any], default: Any) -> Any:
    value = options.get(name)
    if value is None:
        return default
    if value not in allowed or isinstance(value, bool) is not isinstance(default, bool):
        raise option_error(dialect, name, value, [str(item) for item in allowed])
    return value


def converse(messages: Sequence[Message], options: Mapping[str, Any], rules: Rules, report: Report) -> TurnSequence:
    """Read the messages and bring them into an order and shape that the provider takes."""
    style = Style.of(options, rules, report.dialect)
    turns = read_turn(messages, report)
    rich = any(turn.rich for turn in turns)
    if rich:
        turns = _sorted_out(turns, rules, style, report)
    system, turns = _split(turns, style, report)
    if rich and any(message.attachments for message in messages):
        turns = [_with_media_fields(turn, rules, style, report) for turn in turns]
        turns = [_with_legal_media(turn, rules.media, report) for turn in turns]
        system = tuple(_with_legal_media(turn, frozenset(), report) for turn in system)
    if style.repair and not rules.blank:
        turns = _without_blank(turns, report)
    if not rules.prefill and turns and turns[-1].role == ASSISTANT and turns[-1].text and not turns[-1].calls:
        report.loss("the last assistant message is sent as finished, not to be continued", turns[-1].index)
    return TurnSequence(system, turns, style)


def _sorted_out(turns: list[Turn], rules: Rules, style: Style, report: Report) -> list[Turn]:
    turns = [_annotated(turn, rules, style, report) if turn.annotated else turn for turn in turns]
    turns = [turn for turn in turns if turn.role != _NOBODY]
    if not rules.calls:
        turns = _without_calls(turns, report)
    elif any(turn.calls or turn.role in RESULTS for turn in turns):
        turns = paired(turns, report, repair=style.repair, functions=rules.functions)
    return [_named(turn, style, report) if turn.name else turn for turn in turns]


def _annotated(turn: Turn, rules: Rules, style: Style, report: Report) -> Turn:
    """The turn with such metadata as its role can have; what is not sent is reported."""
    turn = _with_own_metadata(turn, report)
    if rules.reasoning and not turn.reasoning:
        turn = _with_bare_thoughts(turn, style)
    for key in [key for key in turn.rest if not style.sends(key)]:
        report.loss(f"metadata {scalar_text(str(key))[:60]!r} is not sent", turn.index)
    if turn.parts or turn.cache:
        turn = _with_legal_parts(turn, rules, style, report)
    if turn.item.get("id") and rules.shape != "responses":
        report.loss("the id of an item is not sent", turn.index)
    if turn.reasoning:
        turn = _with_legible_thoughts(turn, rules, report)
    if turn.signature and not rules.signature:
        report.loss("the signature is not sent", turn.index)
    if turn.failed and not rules.errors:
        report.loss("that a tool failed is not sent", turn.index)
    return turn


def _with_own_metadata(turn: Turn, report: Report) -> Turn:
    if turn.role != ASSISTANT and (turn.calls or turn.reasoning):
        report.loss("tool calls and thoughts are not sent, but those of the assistant", turn.index)
        turn = replace(turn, calls=(), reasoning=())
    if turn.call_id is not None and turn.role not in RESULTS:
        report.loss("the id of a tool call is not sent, but that of a result", turn.index)
        turn = replace(turn, call_id=None)
    return turn


def _with_legal_parts(turn: Turn, rules: Rules, style: Style, report: Report) -> Turn:
    """The turn with the blocks and the fields of parts that its provider has; what is not sent is reported."""
    allowed = _OF_PARTS | rules.parts | ({"cache_control"} if rules.cache else frozenset())
    parts = []
    if turn.cache and not rules.cache and not style.sends("cache_control"):
        report.loss("the cache mark is not sent", turn.index)
        turn = replace(turn, cache=None)
    for part in turn.parts:
        if part.get("type") == "other" and part.get("shape") != rules.shape:
            block = part.get("block")
            kind = scalar_text(str(block.get("type") if isinstance(block, Mapping) else block))
            report.loss(f"a block of type {kind[:60]!r} is not sent", turn.index)
            continue
        lost = [name for name in part if not (name in allowed or style.sends(name))]
        for name in lost:
            mark = name == "cache_control"
            sentence = "the cache mark is not sent" if mark else f"{scalar_text(name)[:60]!r} of a part is not sent"
            report.loss(sentence, turn.index)
        parts.append({name: value for name, value in part.items() if name not in lost})
    if not rules.lists and texts_of(turn) > 1:
        report.repair("the texts of a message were joined", turn.index)
    remains = parts or turn.text or turn.attachments or turn.calls or turn.reasoning
    return replace(turn, parts=tuple(parts), role=turn.role if remains or not turn.parts else _NOBODY)


_NOBODY: Final = ""
"""The role of a turn of which nothing is left."""


_OF_PARTS: Final = frozenset({"type", "text", "shape", "block"})


def _with_media_fields(turn: Turn, rules: Rules, style: Style, report: Report) -> Turn:
    """The turn whose attachments have such further fields as its provider takes."""
    if not any(item.extra for item in turn.attachments):
        return turn
    items = []
    for item in turn.attachments:
        lost = [name for name in item.extra if name not in OF_MEDIA | rules.parts and not style.sends(name)]
        for name in lost:
            report.loss(f"{scalar_text(name)[:60]!r} of an attachment is not sent", turn.index)
        extra = FrozenDict({name: value for name, value in item.extra.items() if name not in lost})
        items.append(replace(item, extra=extra))
    return replace(turn, attachments=tuple(items))


_BARE_THOUGHTS: Final = "reasoning_content"
"""The fields in which servers that speak Chat Completions put a model's reasoning."""


def _with_bare_thoughts(turn: Turn, style: Style) -> Turn:
    """The turn with its provider's bare text of thoughts as thoughts, unless it is to be sent as it came."""
    thoughts = turn.rest.get(_BARE_THOUGHTS)
    if turn.role != ASSISTANT or not isinstance(thoughts, str) or _BARE_THOUGHTS in style.keys:
        return turn
    rest = {key: value for key, value in turn.rest.items() if key != _BARE_THOUGHTS}
    return replace(turn, reasoning=({"text": thoughts},), rest=rest)


def _with_legible_thoughts(turn: Turn, rules: Rules, report: Report) -> Turn:
    legible = tuple(part for part in turn.reasoning if rules.reasoning and (rules.sealed or part.get("text")))
    if len(legible) == len(turn.reasoning):
        return turn
    report.loss("the thoughts behind an answer are not sent", turn.index)
    return replace(turn, reasoning=legible)


def _without_calls(turns: list[Turn], report: Report) -> list[Turn]:
    merged = []
    for turn in turns:
        if turn.calls:
            report.loss("tool calls are not sent", turn.index)
        merged.append(replace(turn, calls=()) if turn.calls else turn)
    return merged


def _named(turn: Turn, style: Style, report: Report) -> Turn:
    if style.names == "field" or turn.role in RESULTS:
        return turn
    if style.names == "prefix" and turn.role != SYSTEM:
        report.repair("the speaker's name was put in front of the text", turn.index)
        return replace(turn, name=None, text=f"{turn.name}: {turn.text}")
    report.loss("the speaker's name is not sent", turn.index, "names='prefix' puts it in front of the text")
    plain = not (turn.annotated or turn.attachments)
    return Turn(turn.index, turn.role, turn.text) if plain else replace(turn, name=None)


def _with_legal_media(turn: Turn, roles: frozenset[str], report: Report) -> Turn:
    if not turn.attachments or turn.role in roles:
        return turn
    unsupported(turn, f"{turn.role} messages have none" if roles else "it is text only", report)
    return replace(turn, attachments=())


def _split(turns: list[Turn], style: Style, report: Report) -> tuple[tuple[Turn, ...], list[Turn]]:
    if style.system == "keep" or not any(turn.role == SYSTEM for turn in turns):
        return (), turns
    first = next((index for index, turn in enumerate(turns) if turn.role != SYSTEM), len(turns))
    if style.system == "inline_user":
        return (), [_as_user(turn, report) for turn in turns]
    if style.system == "leading":
        return tuple(turns[:first]), [_as_user(turn, report) for turn in turns[first:]]
    late = [turn for turn in turns[first:] if turn.role == SYSTEM]
    for turn in late:
        report.repair("a system message between the turns was moved to the top", turn.index)
    return (*turns[:first], *late), [turn for turn in turns[first:] if turn.role != SYSTEM]


def _as_user(turn: Turn, report: Report) -> Turn:
    if turn.role != SYSTEM:
        return turn
    report.repair("a system message was sent as a user message", turn.index)
    return replace(turn, role=USER)


def _without_blank(turns: list[Turn], report: Report) -> list[Turn]:
    remaining = []
    for turn in turns:
        if turn.text.strip() or turn.role in RESULTS or turn.attachments or turn.calls or turn.reasoning or turn.parts:
            remaining.append(turn)
        else:
            report.repair("a message without text was left out", turn.index)
    return remaining


def filler(talk: TurnSequence, report: Report) -> str:
    """The user's text in a conversation without turns, for providers that do not accept an empty one."""
    report.repair("nobody but the system speaks: a user message was put in")
    return talk.style.filler


def alternating(
    talk: TurnSequence,
    report: Report,
    field: str,
    roles: Mapping[str, str],
    text_part: Callable[[str], dict[str, Any]],
    parts_of: Callable[[Turn, Report], list[dict[str, Any]]],
) -> list[dict[str, Any]]:
    """Messages ``{role, field: [parts]}`` in which neighbours of one role are one message. ``roles`` are those but the user's.

    Results of one answer always are one; others are joined, and turns without parts left out, only as a repair.
    """
    messages: list[dict[str, Any]] = []
    repair, last_role, was_result = talk.style.repair, "", False
    for turn in talk.turns:
        role, is_result = roles.get(turn.role, USER), turn.role == TOOL
        parts = parts_of(turn, report) if turn.rich else [text_part(turn.text)]
        if not parts:
            if repair:
                report.repair("a message of which nothing is left was left out", turn.index)
                continue
            parts = [text_part(turn.text)]
        if role == last_role and (repair or (is_result and was_result)):
            messages[-1][field] += parts
            if not (is_result and was_result):
                report.repair("a message was joined to the one before, which has the same role", turn.index)
        else:
            messages.append({"role": role, field: parts})
        last_role, was_result = role, is_result
    return messages


def system_text(conversation: TurnSequence) -> str:
    """The text that goes to the top, its parts joined, blank ones left out."""
    return conversation.style.separator.join(turn.text for turn in conversation.system if turn.text.strip())


def with_system(conversation: TurnSequence, report: Report) -> list[Turn]:
    """The turns with the text at the top as one system message, for providers without a field for it."""
    text = system_text(conversation)
    if not text:
        return conversation.turns
    first = conversation.system[0]
    if len(conversation.system) > 1:
        report.repair("system messages were joined into one", first.index)
    return [Turn(first.index, SYSTEM, text, name=first.name), *conversation.turns]


def merged(turns: list[Turn], style: Style, report: Report) -> list[Turn]:
    """Merge neighbouring turns of one role and name, their texts joined. Tool results stay apart."""
    groups: list[list[Turn]] = []
    for turn in turns:
        last = groups[-1][-1] if groups else None
        if last is None or last.role != turn.role or turn.role in RESULTS or last.calls or last.name != turn.name:
            groups.append([turn])
        else:
            groups[-1].append(turn)
            report.repair("a message was joined to the one before, which has the same role", turn.index)
    return [group[0] if len(group) == 1 else _together(group, style) for group in groups]


def _together(group: list[Turn], style: Style) -> Turn:
    text = style.separator.join(turn.text for turn in group if turn.text)
    if not any(turn.rich for turn in group):
        return replace(group[0], text=text)
    return replace(
        group[0],
        text=text,
        attachments=tuple(item for turn in group for item in turn.attachments),
        calls=group[-1].calls,
        reasoning=tuple(part for turn in group for part in turn.reasoning),
        signature=next((turn.signature for turn in group if turn.signature), None),
        cache=next((turn.cache for turn in reversed(group) if turn.cache), None),
        rest={key: value for turn in group for key, value in turn.rest.items()},
        rich=True,
        parts=_parts_together(group),
    )


def _parts_together(group: list[Turn]) -> tuple[Mapping[str, Any], ...]:
    """The parts of several turns as those of one; none where their order is the usual one."""
    if not any(turn.parts or turn.attachments for turn in group):
        return ()
    return tuple([part for turn in group for part in turn.parts or listed(turn)])
