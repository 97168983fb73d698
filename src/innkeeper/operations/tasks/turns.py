"""Turns of one owner's conversations: the user's message is stored, a model answers, the answer is stored, each once.

A turn may be repeated under its client's id, by any process and at the same time: it is stored once, and the repeat gets the same
answer. The history of a turn is what came before its message. What does not pass the gate is not stored, question or answer.
A whole answer is a stream that is read to its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.gate.gate import character_ceiling
from innkeeper.gate.tier import Ceilings, Tier
from innkeeper.library.db.owner import Owner
from innkeeper.library.errors import ConflictError, TierBlockedError
from innkeeper.library.memory import MemoryRow, remembered
from innkeeper.library.prepare.conversation import conversation_request, history_of
from innkeeper.library.prepare.request import PrepareRequest, texts_of, tier_facts
from innkeeper.library.rows import CharacterRow, ConversationRow, MessageRow
from innkeeper.library.templates.postprocessing import Cast
from innkeeper.library.templates.template import PRODUCTION
from innkeeper.operations.tasks.answer import TaskAnswer
from innkeeper.operations.tasks.execution import TextTask, TextTasks
from innkeeper.operations.tasks.turn import PreparedTurn, ProfileFacts, TurnAnswer, TurnRequest
from innkeeper.operations.tasks.turn_writers import BeginWriting, Writing, WrittenAnswer, template_writer

if TYPE_CHECKING:
    from innkeeper.library.library import Library

_STREAMED: Final = partial(template_writer, stream=True)


TurnEvents = AsyncGenerator[str | TurnAnswer]
"""Texts of an answer that have passed the gate, as they come; the turn's answer is the last item."""


class Turns:
    """The turns of one owner's conversations.

    Args:
        tasks: carries them out.
        owner: the owner; other people's conversations are not found.
    """

    def __init__(self, tasks: TextTasks, owner: Owner) -> None:
        self.tasks, self.owner = tasks, owner
        self.library: Library = tasks.library
        self._store = self.library.conversations_of(owner)

    async def take(self, request: TurnRequest, begin_writing: BeginWriting = template_writer) -> TurnAnswer:
        """Take a turn and return its answer, by default that of a template.

        A repeat waits for the first turn, so that no second model is asked; other turns do not wait.

        Raises:
            NotFoundError: no such conversation, character or template of theirs.
            ConflictError: another message was sent under this ``client_msg_id``.
            TierBlockedError: the turn or its answer does not pass; it is recorded, and not stored.
            InnkeeperError: raised by the writer; the user's message is stored, and the turn can be repeated.
        """
        async with self._alone(request), aclosing(await self.stream(request, begin_writing)) as events:
            answer = [event async for event in events][-1]
        assert isinstance(answer, TurnAnswer)  # noqa: S101 - the last item
        return answer

    async def stream(self, request: TurnRequest, begin_writing: BeginWriting = _STREAMED) -> TurnEvents:
        """Begin a turn, and return its answer as it comes. Raises what `take` raises before any of it is there."""
        turn = await asyncio.to_thread(self.begin, request)
        if isinstance(turn, TurnAnswer):
            return events_of(turn)
        try:
            return self._stored(turn, await begin_writing(self.tasks, turn))
        except TierBlockedError:
            # The message passes alone, but not together with what came before it.
            if turn.message is not None:
                await asyncio.to_thread(self._store.delete_message, turn.message.id)
            raise

    async def _stored(self, turn: PreparedTurn, writing: Writing) -> TurnEvents:
        """Yield an answer while it is written, and store it."""
        shown = ""
        async with aclosing(writing) as items:
            async for item in items:
                if isinstance(item, str):
                    shown += item
                    yield item
                    continue
                text = item.processed.text
                if text != shown and text.startswith(shown):
                    yield text.removeprefix(shown)
                yield await asyncio.to_thread(self.keep, turn, item)

    def _alone(self, request: TurnRequest) -> AbstractAsyncContextManager[object]:
        if request.client_msg_id is None:
            return nullcontext()
        owner = self.owner
        return self.tasks.alone(owner.tenant, owner.user, request.conversation_id, request.client_msg_id)

    def begin(self, request: TurnRequest) -> PreparedTurn | TurnAnswer:
        """Store the user's message and prepare its answer, or return the answer that is there already.

        It waits for the database. Raises as `take`.
        """
        store = self._store
        row = store.get(request.conversation_id)
        sent = None if request.client_msg_id is None else store.sent(row.id, request.client_msg_id)
        if (before := self._answered(request, row, sent)) is not None:
            return before
        character = self._character(row.character_id)
        ceilings = self._ceilings(request, character, self._character(row.user_character_id))
        asked = PrepareRequest(use_case="chat", content_mode=request.content_mode, ceilings=ceilings)
        granted = self.library.granted(asked).effective
        memories = self.library.memories_of(self.owner)
        facts = memories.recall(row, granted) if request.memory else ()
        rows = store.turns(row.id, before=None if sent is None else sent.seq)
        text = request.prompt_text(begun=bool(store.newest(row.id, 1)))
        prompt = self._prompt(request, row, text, facts, _within(rows, granted), ceilings)
        self.library.tier_check(
            texts_of(prompt), request.content_mode, self.library.ceilings(prompt), actor=self.owner.user
        ).require()
        with self.library.db.transaction():
            new = memories.add(row, request.remember, granted) if request.remember else ()
            message = self._stored_message(request, granted)
        is_new = message is not None and sent is None
        if message is not None and sent is None:
            rows = store.turns(row.id, before=message.seq)
        if new or is_new:
            new_ids = {fact.id for fact in new}
            facts = (*new, *(fact for fact in facts if fact.id not in new_ids)) if request.memory else ()
            prompt = self._prompt(request, row, text, facts, _within(rows, granted), ceilings)
        return PreparedTurn(
            request=request,
            conversation=row,
            task=TextTask(
                prompt=prompt,
                task="roleplay" if prompt.use_case != "chat" else "",
                options=request.options,
                max_output_tokens=request.max_output_tokens,
                model=request.model,
                routes=request.routes,
                money=request.money,
                strict=request.strict,
            ),
            cast=Cast(*(str(prompt.values.get(name) or "") for name in ("character_name", "user_name"))),
            message=message,
            memories=len(facts),
            remembered=tuple(new),
            above_tier=len(rows) - len(_within(rows, granted)),
            character=character,
        )

    def keep(self, turn: PreparedTurn, written: WrittenAnswer) -> TurnAnswer:
        """Store an answer; return the one that is there if another process has stored one. Waits for the database."""
        message, facts, processed = turn.message, written.facts, written.processed
        reply = self._store.append(
            turn.conversation.id,
            "assistant",
            processed.text,
            client_msg_id=turn.request.client_msg_id if message is None else None,
            reply_to=None if message is None else message.id,
            message_type=turn.request.message_type,
            **_provenance(facts),
            original=processed.original if processed.changed else None,
            post_processing=msgspec.to_builtins(processed.steps) if processed.changed else None,
        )
        return TurnAnswer(
            text=reply.content,
            conversation=turn.conversation,
            reply=reply,
            message=message,
            answer=facts if isinstance(facts, TaskAnswer) else None,
            profile=facts if isinstance(facts, ProfileFacts) else None,
            processed=processed,
            memories=turn.memories,
            remembered=turn.remembered,
            above_tier=turn.above_tier,
            character=turn.character,
        )

    def _answered(self, request: TurnRequest, row: ConversationRow, sent: MessageRow | None) -> TurnAnswer | None:
        """Return the answer that a repeated turn has already. Raises `ConflictError` if the id is that of another turn."""
        if sent is None:
            return None
        by_user = sent.role == "user"
        if by_user is not (request.kind == "message") or (by_user and sent.content != request.message):
            hint = "send another turn under another client_msg_id"
            raise ConflictError("another turn was asked for under this client_msg_id", hint=hint)
        message = sent if by_user else None
        reply = sent if message is None else self._store.reply_to(message)
        if reply is None:
            return None
        character = self._character(row.character_id)
        return TurnAnswer(text=reply.content, conversation=row, reply=reply, message=message, character=character)

    def _ceilings(self, request: TurnRequest, *people: CharacterRow | None) -> Ceilings:
        """Return the caller's ceilings with those of the character, of who the user plays, and of the scene."""
        rated = [character_ceiling(row.content_rating, row.declared_age) for row in people if row is not None]
        rated += [] if request.ceilings.character is None else [request.ceilings.character]
        scene = request.ceilings.scene
        if (rating := request.scene.get("content_rating")) is not None:
            scene = Tier.lowest(Tier.of(rating), *([] if scene is None else [scene]))
        ceiling = Tier.lowest(*rated) if rated else None
        return msgspec.structs.replace(request.ceilings, character=ceiling, scene=scene)

    def _character(self, key: str | None) -> CharacterRow | None:
        return None if key is None else self.library.characters.seen_by(self.owner, key)

    def _prompt(
        self,
        request: TurnRequest,
        row: ConversationRow,
        text: str,
        facts: Sequence[MemoryRow],
        rows: Iterable[MessageRow],
        ceilings: Ceilings,
    ) -> PrepareRequest:
        prompt = conversation_request(
            self.library.db,
            row.id,
            text,
            intent=request.intent,
            scene=dict(request.scene) or None,
            owner=self.owner,
            memories=remembered(row, facts) if request.memory else (),
            history=history_of(rows),
            user_id=self.owner.user,
            job_type="chat",
            content_mode=request.content_mode,
            ceilings=ceilings,
            client_msg_id=request.client_msg_id,
            request_id=request.request_id,
        )
        system = request.system if request.template is None else self._rendered(request.template, prompt)
        return prompt if system is None else msgspec.structs.replace(prompt, system=system)

    def _rendered(self, name: str, prompt: PrepareRequest) -> str:
        """The text of a template that an administrator names, by its name or its id, with the values of a prompt."""
        from innkeeper.library.templates.store import TemplateStore

        store = TemplateStore(self.library.db)
        ids = {entry.shown.template_id: entry.name for entry in store.list()}
        version = store.get(ids.get(name, name), label=PRODUCTION)
        return self.library.render_version(version, prompt).rendered.text

    def _stored_message(self, request: TurnRequest, granted: Tier) -> MessageRow | None:
        if request.kind != "message":
            return None
        return self._store.append(
            request.conversation_id,
            "user",
            request.message,
            client_msg_id=request.client_msg_id,
            message_type=request.message_type,
            tier=granted.value,
        )


async def events_of(answer: TurnAnswer) -> TurnEvents:
    """Yield an answer that is there already: its text, then itself."""
    yield answer.text
    yield answer


def _provenance(answer: TaskAnswer | ProfileFacts) -> dict[str, Any]:
    """Where an answer is from, as the columns of its message: model, template, tier, and what the gate said."""
    tier: Mapping[str, Any]
    if isinstance(answer, ProfileFacts):
        tier, model, tokens, template = answer.tier, answer.model, answer.output_tokens, None
    else:
        tier, model, tokens = tier_facts(answer.prepared.tier), answer.model, answer.tokens.output
        template = answer.prepared.resolution.template
    return {
        "tokens": tokens,
        "model_key": model or None,
        "template_id": None if template is None else template.template_id,
        "template_version": None if template is None else template.version,
        "tier": tier["effective"],
        "finish_reason": answer.finish_reason,
        "safety": {name: tier[name] for name in _SAFETY},
    }


_SAFETY: Final = ("decision", "categories", "detector_version", "lexicon_version")


def _within(rows: Sequence[MessageRow], granted: Tier) -> Sequence[MessageRow]:
    """Return the messages up to a turn's tier: others are left out, as after an account's verification has expired."""
    return [row for row in rows if row.tier is None or row.tier.rank <= granted.rank]
