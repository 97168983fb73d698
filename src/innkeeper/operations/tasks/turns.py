"""Turns: one owner's turns are taken: what the user says is kept, a model answers, its answer is kept, each once.

A turn may be asked for again, under the id that its client gave it, by any process and at the same time: it is kept once, and
whoever comes later gets the same answer. The history of a turn is what was said before it, however much is said meanwhile. What
does not pass the gate is not kept; neither is an answer that does not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.library.db.owner import Owner
from innkeeper.library.errors import ConflictError, TemplateNotFoundError, TierBlockedError
from innkeeper.library.memory import MemoryRow, remembered
from innkeeper.library.prepare.conversation import conversation_request, history_of
from innkeeper.library.prepare.request import PrepareRequest, texts_of, tier_facts
from innkeeper.library.rows import CharacterRow, ConversationRow, MessageRow
from innkeeper.library.templates.postprocessing import Cast, PostProcessing, Processed
from innkeeper.library.templates.template import PRODUCTION
from innkeeper.library.tier import Ceilings, Tier
from innkeeper.library.tiers.gate import character_ceiling
from innkeeper.operations.tasks.answer import TaskAnswer
from innkeeper.operations.tasks.execution import TextTask, TextTasks
from innkeeper.operations.tasks.turn import CONTINUE, KICKOFF, PreparedTurn, ProfileFacts, TurnAnswer, TurnRequest
from innkeeper.operations.tasks.written import Written
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.text import scalar_text

if TYPE_CHECKING:
    from innkeeper.library.library import Library


class Turns:
    """The turns of one owner's conversations.

    Args:
        tasks: what carries them out.
        owner: whose conversations they are; anybody else's are not found.
    """

    def __init__(self, tasks: TextTasks, owner: Owner) -> None:
        self.tasks, self.owner = tasks, owner
        self.library: Library = tasks.library

    async def take(self, request: TurnRequest) -> TurnAnswer:
        """Take a turn.

        Raises:
            NotFoundError: no such conversation, character or template of theirs.
            ConflictError: another message was sent under this ``client_msg_id``.
            TierBlockedError: the turn does not pass, or its answer does not; it is recorded, and not kept.
            InnkeeperError: what `TextTasks.write` raises; the user's message is kept, and the turn can be asked for again.
        """
        async with self.alone(request):
            return await self._taken(request)

    def alone(self, request: TurnRequest) -> AbstractAsyncContextManager[object]:
        """Repeats of a turn wait for the first here, so that no second model is asked; other turns wait for nobody."""
        if request.client_msg_id is None:
            return nullcontext()
        owner = self.owner
        return self.tasks.alone(owner.tenant, owner.user, request.conversation_id, request.client_msg_id)

    async def _taken(self, request: TurnRequest) -> TurnAnswer:
        turn = await asyncio.to_thread(self.begin, request)
        if isinstance(turn, TurnAnswer):
            return turn
        try:
            written = await self.tasks.write(turn.task)
        except TierBlockedError:
            await asyncio.to_thread(self.take_back, turn)
            raise
        require_answer(written)
        processed = processed_of(written.prepared.resolution.template, written.text, turn.cast, refused=written.refused)
        done = await self.tasks.finish(turn.task, written, text=processed.text)
        return await asyncio.to_thread(self.keep, turn, done, processed)

    def begin(self, request: TurnRequest) -> PreparedTurn | TurnAnswer:
        """Keep what the user says, and prepare its answer; or the answer itself, where there is one already.

        It waits for the database. Raises as `take`.
        """
        store = self.library.conversations_of(self.owner)
        row = store.get(request.conversation_id)
        known = None if request.client_msg_id is None else store.sent(row.id, request.client_msg_id)
        if (before := self._answered(request, row, known)) is not None:
            return before
        newest = store.newest(row.id, 1)
        text = _text_of(request, begun=bool(newest))
        granted = self._granted(request, row)
        facts = self.library.memories_of(self.owner).recall(row, granted) if request.memory else ()
        rows = store.turns(row.id, before=None if known is None else known.seq)
        prompt = self._prompt(request, row, text, facts, rows, granted)
        self.library.tier_check(
            texts_of(prompt), request.content_mode, self.library.ceilings(prompt), actor=self.owner.user
        ).require()
        with self.library.db.transaction():
            new = self.library.memories_of(self.owner).add(row, request.remember, granted) if request.remember else ()
            said = self._said(request, row, granted)
        if said is not None and known is None:
            rows = store.turns(row.id, before=said.seq)
        if new or (said is not None and known is None):
            facts = (*new, *(one for one in facts if one.id not in {each.id for each in new}))
            prompt = self._prompt(request, row, text, facts if request.memory else (), rows, granted)
        return PreparedTurn(
            request=request,
            conversation=row,
            task=self._task(request, prompt),
            cast=Cast(*(str(prompt.values.get(name) or "") for name in ("character_name", "user_name"))),
            said=said,
            memories=len(facts) if request.memory else 0,
            remembered=tuple(new),
            above_tier=sum(_is_above(one, granted) for one in rows),
            character=self._character(row),
        )

    def keep(self, turn: PreparedTurn, answer: TaskAnswer | ProfileFacts, processed: Processed) -> TurnAnswer:
        """Keep an answer; where somebody else has kept one meanwhile, that one. Waits for the database."""
        said, changed = turn.said, processed.changed
        reply = self.library.conversations_of(self.owner).append(
            turn.conversation.id,
            "assistant",
            processed.text,
            client_msg_id=turn.request.client_msg_id if said is None else None,
            reply_to=None if said is None else said.id,
            message_type=turn.request.message_type,
            **_provenance(answer),
            original=processed.original if changed else None,
            post_processing=msgspec.to_builtins(processed.steps) if changed else None,
        )
        return TurnAnswer(
            text=reply.content,
            conversation=turn.conversation,
            reply=reply,
            said=said,
            answer=answer if isinstance(answer, TaskAnswer) else None,
            profile=answer if isinstance(answer, ProfileFacts) else None,
            processed=processed,
            memories=turn.memories,
            remembered=turn.remembered,
            above_tier=turn.above_tier,
            character=turn.character,
        )

    # ------------------------------------------------------------------------------------------------------------- for these

    def _answered(self, request: TurnRequest, row: ConversationRow, known: MessageRow | None) -> TurnAnswer | None:
        """The answer that a turn has already. Raises `ConflictError` where the id is that of another turn."""
        if known is None:
            return None
        spoken = known.role == "user"
        if spoken is not (request.kind == "message") or (spoken and known.content != request.message):
            hint = "send another turn under another client_msg_id"
            raise ConflictError("another turn was asked for under this client_msg_id", hint=hint)
        said = known if spoken else None
        reply = known if said is None else self.library.conversations_of(self.owner).reply_to(said)
        if reply is None:
            return None
        character = self._character(row)
        return TurnAnswer(text=reply.content, conversation=row, reply=reply, said=said, character=character)

    def _granted(self, request: TurnRequest, row: ConversationRow) -> Tier:
        asked = PrepareRequest(
            use_case="chat", content_mode=request.content_mode, ceilings=self._ceilings(request, row)
        )
        return self.library.granted(asked).effective

    def _ceilings(self, request: TurnRequest, row: ConversationRow) -> Ceilings:
        """The caller's ceilings, with those of the character, of who the user plays, and of the scene."""
        people = (self._character(row), self._character(row, "user_character_id"))
        rated = [character_ceiling(one.content_rating, one.declared_age) for one in people if one is not None]
        rated += [] if request.ceilings.character is None else [request.ceilings.character]
        scene = request.ceilings.scene
        if (rating := request.scene.get("content_rating")) is not None:
            scene = Tier.lowest(Tier.of(rating), *([] if scene is None else [scene]))
        ceiling = Tier.lowest(*rated) if rated else None
        return msgspec.structs.replace(request.ceilings, character=ceiling, scene=scene)

    def _character(self, row: ConversationRow, name: str = "character_id") -> CharacterRow | None:
        key: str | None = getattr(row, name)
        return None if key is None else self.library.characters.seen_by(self.owner, key)

    def _prompt(
        self,
        request: TurnRequest,
        row: ConversationRow,
        text: str,
        facts: Sequence[MemoryRow],
        rows: Iterable[MessageRow],
        granted: Tier,
    ) -> PrepareRequest:
        prompt = conversation_request(
            self.library.db,
            row.id,
            text,
            intent=request.intent,
            scene=dict(request.scene) or None,
            owner=self.owner,
            memories=remembered(row, facts) if request.memory else (),
            history=history_of(one for one in rows if not _is_above(one, granted)),
            user_id=self.owner.user,
            job_type="chat",
            content_mode=request.content_mode,
            ceilings=self._ceilings(request, row),
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

    def _task(self, request: TurnRequest, prompt: PrepareRequest) -> TextTask:
        return TextTask(
            prompt=prompt,
            task="roleplay" if prompt.use_case != "chat" else "",
            options=request.options,
            max_output_tokens=request.max_output_tokens,
            model=request.model,
            routes=request.routes,
            money=request.money,
            strict=request.strict,
        )

    def _said(self, request: TurnRequest, row: ConversationRow, granted: Tier) -> MessageRow | None:
        if request.kind != "message":
            return None
        return self.library.conversations_of(self.owner).append(
            row.id,
            "user",
            request.message,
            client_msg_id=request.client_msg_id,
            message_type=request.message_type,
            tier=granted.value,
        )

    def take_back(self, turn: PreparedTurn) -> None:
        """Take out what the user said, since together with what was said before it does not pass."""
        if turn.said is not None:
            self.library.conversations_of(self.owner).delete_message(turn.said.id)


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


def require_answer(written: Written) -> None:
    """Raise `TemplateNotFoundError` where no model was asked: a turn is never answered with its own words."""
    if written.response is None:
        use_case = written.prepared.request.use_case
        raise TemplateNotFoundError(f"no template for {use_case} in a conversation", hint="leave the intent out")


def processed_of(template: Any, text: str, cast: Cast, *, refused: bool) -> Processed:
    """An answer after the steps of its template; a refusal as it is."""
    whole = scalar_text(text).replace("\0", "")
    if refused or template is None:
        return Processed(whole, whole)
    try:
        return PostProcessing.of(template.metadata).run(whole, cast)
    except InnkeeperError:  # a template from before steps were checked when it is published
        return Processed(whole, whole)


def _text_of(request: TurnRequest, *, begun: bool) -> str:
    if request.kind == "message":
        return request.message
    return KICKOFF if request.kind == "kickoff" and not begun else CONTINUE


def _is_above(row: MessageRow, granted: Tier) -> bool:
    """Whether a message is of a higher tier than a turn has: it is left out, as after an account's verification has expired."""
    return row.tier is not None and row.tier.rank > granted.rank
