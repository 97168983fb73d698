"""A turn of a client that sends the whole chat to a profile: its messages become the chat of a plan.

A turn is a pure function of the profile, the client's input, the state, the time and the seed: `profile_turn` before a model is
asked, `ProfileTurn.answered` after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.content.preset import Preset
from innkeeper.conversation.greetings import greeting_messages, greetings_before
from innkeeper.conversation.reply import Reply, ReplyRules, answered_request, finished_reply
from innkeeper.conversation.state import ConversationState, prefix_keys
from innkeeper.dialects.options import neutral
from innkeeper.dialects.plan_payload import RESERVE, plan_payload
from innkeeper.prompt import BuildRequest, FrozenDict, Injection, InjectionPosition, Message, Note, NoteKind, Ports
from innkeeper.prompt.data import EMPTY, freeze
from innkeeper.prompt.message import messages_of
from innkeeper.prompt.request import MAX_TOKENS
from innkeeper.prompt.text import shorten
from innkeeper.taverns import TAVERNS, build
from innkeeper.taverns.participants import name_of, speaker_of
from innkeeper.taverns.profiles.opened import OpenProfile

if TYPE_CHECKING:
    from innkeeper.prompt import Payload, Plan


_SILLY: Final = "silly"
_SYSTEM: Final = ("system", "developer")
_TURN_INPUTS: Final = ("dialect", "seed")

CLIENT_OPTIONS: Final = frozenset({
    "temperature", "top_p", "top_k", "min_p", "max_tokens", "stop", "seed", "frequency_penalty", "presence_penalty",
    "repetition_penalty", "response_format", "tool_choice", "parallel_tool_calls", "reasoning_effort", "verbosity", "logprobs",
    "top_logprobs", "logit_bias", "user",
})  # fmt: skip
"""Options that a client may set over the profile's. ``extra``, which could replace the prompt, is not one of them."""


class TurnInput(msgspec.Struct, frozen=True, kw_only=True):
    """The input of a client. ``options`` and ``tools`` are those of its request, under the names of Chat Completions.

    ``model``, ``dialect``, ``context_window`` and ``defaults`` (options of the lowest precedence) are those of the route that
    answers, if it is known. ``now`` and ``seed`` are used if the profile has none of its own.
    """

    messages: tuple[Message, ...] = ()
    options: FrozenDict = EMPTY
    tools: tuple[FrozenDict, ...] = ()
    model: str | None = None
    dialect: str | None = None
    context_window: int | None = None
    defaults: FrozenDict = EMPTY
    now: str | None = None
    seed: int = 0

    @classmethod
    def of(cls, messages: Any, **fields: Any) -> TurnInput:
        """Read messages as `Message.of` does, and the other fields. Raises `FormatError`."""
        tables = {name: freeze(fields.pop(name, None) or {}) for name in ("options", "defaults")}
        tools = tuple(map(freeze, fields.pop("tools", None) or ()))
        return cls(messages=messages_of(messages), tools=tools, **tables, **fields)


class ProfileTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn before its answer: the plan, the ``body`` for the route's provider, and the ``state`` after the turn.

    ``rules`` say how the answer is trimmed, and whether a stream of it is final. ``notes`` are those of the turn itself; the plan
    and the body have their own.
    """

    plan: Plan
    body: Payload
    state: ConversationState
    speaker: str
    rules: ReplyRules
    notes: tuple[Note, ...] = ()

    def answered(self, text: str, ports: Ports | None = None) -> tuple[Reply, ConversationState]:
        """Return the answer as the tavern keeps it, and the state after it. Raises what a build raises."""
        request = self.plan.request or BuildRequest()
        return _answered(request, text, self.state, self.speaker, ports)


class _Prepared(msgspec.Struct, frozen=True):
    """A turn before its build: the request, and the greetings that its chat begins with."""

    request: BuildRequest
    greetings: tuple[str, ...]
    notes: tuple[Note, ...]


def profile_turn(
    profile: OpenProfile, turn: TurnInput, state: ConversationState | None = None, ports: Ports | None = None
) -> ProfileTurn:
    """Build the plan and the body for a client's input and the state of its conversation.

    The same profile, input and state give the same bytes. Raises what a build raises.
    """
    before = state or ConversationState()
    prepared = _prepared(profile, turn, before, ports)
    plan = build(prepared.request, ports)
    # Notes on dialect and seed in taverns without a use for them: the turn sets both, the user neither.
    notes = [
        note for note in plan.notes if note.kind is not NoteKind.IGNORED or note.data.get("input") not in _TURN_INPUTS
    ]
    plan = plan.with_(notes=tuple(notes)) if len(notes) < len(plan.notes) else plan
    speaker = speaker_of(plan, prepared.request)
    unsaid = _unsaid_names(plan, prepared.request)
    return ProfileTurn(
        plan=plan,
        body=plan_payload(plan, plan.dialect),
        state=_after(plan, before, prepared.greetings, turn.messages),
        speaker=speaker,
        rules=ReplyRules.of(prepared.request, speaker, scripts=profile.rewrites),
        notes=(*prepared.notes, *unsaid),
    )


def turn_answered(
    profile: OpenProfile,
    turn: TurnInput,
    after: ConversationState,
    text: str,
    *,
    speaker: str,
    ports: Ports | None = None,
) -> tuple[Reply, ConversationState]:
    """Do as `ProfileTurn.answered` without the plan: ``after`` and ``speaker`` are those of the turn."""
    prepared = _prepared(profile, turn, after, ports)
    return _answered(prepared.request, text, after, speaker, ports)


def _answered(
    request: BuildRequest, text: str, state: ConversationState, speaker: str, ports: Ports | None
) -> tuple[Reply, ConversationState]:
    if not text:
        return Reply(text, state.variables), state
    reply = finished_reply(answered_request(request, state.variables), text, speaker=speaker, ports=ports)
    return reply, msgspec.structs.replace(state, variables=freeze(reply.variables))


def _prepared(profile: OpenProfile, turn: TurnInput, before: ConversationState, ports: Ports | None) -> _Prepared:
    notes: list[Note] = []
    messages = _with_stored_texts(turn.messages, before)
    chat = [message for message in messages if message.role not in _SYSTEM]
    own = profile.profile.seed
    seeded = msgspec.structs.replace(turn, seed=own) if isinstance(own, int) else turn
    base, settled = settled_request(profile.request, seeded, before)
    greetings = greetings_before(profile, base, before, chat, ports or Ports())
    request = _with_system(profile, base, messages, notes)
    request = _with_chat(profile, request, messages, chat, greetings)
    return _Prepared(request, greetings, (*settled, *notes))


def _with_stored_texts(messages: Sequence[Message], state: ConversationState) -> Sequence[Message]:
    """Return the messages, those of earlier turns with the texts that the tavern keeps."""
    if not state.texts:
        return messages
    keys = iter(prefix_keys(messages))
    texts = [None if message.role in _SYSTEM else state.texts.get(next(keys)) for message in messages]
    return [
        message if text is None else msgspec.structs.replace(message, content=text)
        for message, text in zip(messages, texts, strict=True)
    ]


def settled_request(
    base: BuildRequest, turn: TurnInput, state: ConversationState | None = None
) -> tuple[BuildRequest, tuple[Note, ...]]:
    """Return a request with the route's and the client's settings and the state, all but the chat; and notes.

    Every door resolves model, dialect, window, options and the answer's length by this.
    """
    before = state or ConversationState()
    notes: list[Note] = []
    window = base.context_window if base.context_window is not None else turn.context_window
    options = {**neutral(turn.defaults), **neutral(base.options), **_client_options(turn, notes)}
    limit = options.get("max_tokens")
    limit = _within(limit, window, notes) if type(limit) is int and limit > 0 else None
    own = None if base.reserved_tokens is None else _within(base.reserved_tokens, window, notes)
    reserve = _default_reserve(base) if own is None and limit is None else max(own or 0, limit or 0)
    answer = limit if limit is not None else own
    fields: dict[str, Any] = {
        "options": options if answer is None else {**options, "max_tokens": answer},
        "tools": turn.tools or base.tools,
        "model": turn.model or base.model,
        "dialect": turn.dialect or base.dialect or "openai",
        "context_window": window,
        "reserved_tokens": reserve,
        "now": turn.now if base.now is None else base.now,
        "seed": turn.seed,
        "variables": before.variables or base.variables,
        "lore_state": before.carry or base.lore_state,
    }
    if before.metadata:
        stored = base.settings.get("chat_metadata")
        stored = stored if isinstance(stored, Mapping) else EMPTY
        fields["settings"] = {**base.settings, "chat_metadata": {**stored, **before.metadata}}
    return base.with_(**fields), tuple(notes)


def _client_options(turn: TurnInput, notes: list[Note]) -> dict[str, Any]:
    """Return the client's options by neutral names; an option that a client may not set gives a note."""
    options = neutral(turn.options)
    for name in sorted(options.keys() - CLIENT_OPTIONS):
        message = f"the client's option {shorten(name, 60)!r} has no effect with a profile"
        notes.append(Note(NoteKind.IGNORED, message, data=FrozenDict({"input": f"options.{shorten(name, 60)}"})))
    return {name: value for name, value in options.items() if name in CLIENT_OPTIONS}


def _within(tokens: int, window: int | None, notes: list[Note]) -> int:
    """Return the tokens that a reply may have: at most half of the window."""
    if not window or tokens <= window // 2:
        return min(tokens, MAX_TOKENS)
    message = f"the reply may have {window // 2:,} tokens, not {tokens:,}: the window is {window:,}"
    notes.append(Note(NoteKind.LIMIT, message, data=FrozenDict({"input": "options.max_tokens"})))
    return window // 2


def _default_reserve(base: BuildRequest) -> int | None:
    """Return `RESERVE`, or None if the preset has a reserve, which the tavern reads itself."""
    preset = base.preset
    has_reserve = preset.max_tokens if isinstance(preset, Preset) else preset
    return None if has_reserve else RESERVE


def _with_system(
    profile: OpenProfile, base: BuildRequest, messages: Sequence[Message], notes: list[Note]
) -> BuildRequest:
    """Return the request with the client's system prompt as the profile says; without effect, it gives a note."""
    policy, rules = profile.profile.system, TAVERNS[base.tavern].inputs
    texts = [message.content for message in messages if message.role in _SYSTEM and message.content.strip()]
    if not texts or policy == "chat":
        return base
    if policy == "ignore":
        message = f"the client's system prompt is ignored: {len(texts)} message{'s' if len(texts) > 1 else ''}"
        hint = f'the profile {profile.name} says so: system = "ignore"'
        notes.append(Note(NoteKind.IGNORED, message, hint=hint, data=FrozenDict({"input": "system"})))
        return base
    text = "\n\n".join(texts)
    if policy == "append" and rules.reason("injections") is None:
        injection = Injection(id="client_system", content=text, position=InjectionPosition.AFTER, role="system")
        return base.with_(injections=(*base.injections, injection))
    return base.with_(system="\n\n".join(part for part in (base.system, text) if part))


def _with_chat(
    profile: OpenProfile,
    request: BuildRequest,
    messages: Sequence[Message],
    chat: list[Message],
    greetings: tuple[str, ...],
) -> BuildRequest:
    """Return the request with the chat; a plain last message of the user is the new message."""
    with_system, with_names = profile.profile.system == "chat", profile.profile.names
    user = name_of(request.user, "User")
    history = greeting_messages(greetings, request)
    sent = [message for message in messages if with_system or message.role not in _SYSTEM]
    guests = request.tavern == _SILLY
    history += [
        _spoken(message, user, guest=guests) if with_names else msgspec.structs.replace(message, name=None)
        for message in sent
    ]
    if history and chat:
        last = history[-1]
        is_plain = last.content and not (last.attachments or last.metadata) and last.name in (None, user)
        if last.role == "user" and is_plain:
            return request.with_(history=tuple(history[:-1]), message=last.content)
    return request.with_(history=tuple(history))


def _spoken(message: Message, user: str, *, guest: bool) -> Message:
    """Return a message of the client; of a speaker who is not the persona marked as a guest's, which silly shows by name."""
    if not guest or message.role != "user" or message.name in (None, "", user):
        return message
    return msgspec.structs.replace(message, metadata=FrozenDict({**message.metadata, "force_avatar": message.name}))


def _unsaid_names(plan: Plan, request: BuildRequest) -> tuple[Note, ...]:
    """Return a note of speakers that the prompt does not tell apart: other names than the persona's, or several."""
    user = name_of(request.user, "User")
    names = dict.fromkeys(message.name for message in request.history if message.role == "user" and message.name)
    if not names or [*names] == [user]:
        return ()
    blocks = plan.sent_blocks()
    unsaid = [
        name for name in names
        if name != user and not any(name == block.name or name in block.content for block in blocks)
    ]  # fmt: skip
    if not unsaid:
        return ()
    message = f"the prompt does not say who speaks: {', '.join(shorten(name, 40) for name in unsaid)}"
    return (Note(NoteKind.LOSS, message, data=FrozenDict({"input": "messages.name", "names": tuple(unsaid)})),)


def _after(
    plan: Plan, before: ConversationState, greetings: tuple[str, ...], messages: Sequence[Message]
) -> ConversationState:
    """Return the state after the turn: variables, lasting effects, the tavern's metadata of the chat, texts, the greeting."""
    stored, request = plan.stored or EMPTY, plan.request or BuildRequest()
    covered = {"variables", *(("timedWorldInfo", "innkeeper") if plan.carry else ())}
    metadata = {**before.metadata, **stored.get("chat_metadata", EMPTY)}
    first = stored.get("messages", EMPTY).get("0") if greetings else None
    text, keys = stored.get("message", request.message), prefix_keys(messages)
    return ConversationState(
        variables=plan.variables,
        carry=freeze(plan.carry),
        metadata=FrozenDict({key: freeze(value) for key, value in metadata.items() if key not in covered}),
        greetings=greetings if first is None or request.group is not None else (first, *greetings[1:]),
        turns=before.turns + 1,
        texts=before.texts if text == request.message else FrozenDict({**before.texts, keys[-1] if keys else "": text}),
    )
