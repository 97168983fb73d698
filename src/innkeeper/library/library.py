"""Library: everything of this package behind one object, as services, adapters and commands use it.

Requests are answered from memory; a thread fetches what is published, here or elsewhere. Every way in asks one function for the
tier. Every answer that is less than what was asked for says so, and is an error where ``strict`` is asked for.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import msgspec

from innkeeper.gate.gate import TextKind
from innkeeper.gate.tier import Ceilings, Decision, Tier, TierDecision, effective_tier
from innkeeper.lazy import require
from innkeeper.library.builtins import packaged_models
from innkeeper.library.catalogue.catalogue import AnswerSource, Catalogue
from innkeeper.library.catalogue.library_database import LibraryDatabase, snapshot_path
from innkeeper.library.catalogue.resolver import ENHANCEMENT, Resolution
from innkeeper.library.catalogue.snapshot import SnapshotFile
from innkeeper.library.catalogue.sources import Sources, Timing
from innkeeper.library.errors import TemplateNotFoundError, TierBlockedError
from innkeeper.library.log.enhancements import Recorder
from innkeeper.library.log.metrics import Metrics
from innkeeper.library.log.queue import LogQueue
from innkeeper.library.models.facts import (
    ModelFacts,
    NegativePrompt,
    TokenizerSpec,
    ceilings_of,
    facts_of,
    join_negatives,
    require_known,
)
from innkeeper.library.options import Options, database_opener
from innkeeper.library.outside import MACHINE
from innkeeper.library.prepare.budget import Fitted, fit_text
from innkeeper.library.prepare.preparation import UNBOUNDED, Preparation, rendered_version, with_note
from innkeeper.library.prepare.request import (
    Decided,
    PreparedPrompt,
    PrepareRequest,
    RenderedAnswer,
    Resolved,
    require_complete,
    texts_of,
)
from innkeeper.library.templates.cache import RenderedCache
from innkeeper.library.templates.template import TemplateVersion
from innkeeper.library.tiers.rules import OperatorRules
from innkeeper.prompt.errors import InnkeeperError, UsageError
from innkeeper.prompt.run.state import Ports
from innkeeper.tokens import default_counter

if TYPE_CHECKING:
    from innkeeper.library.authoring import Authoring
    from innkeeper.library.catalogue.database_source import Follower
    from innkeeper.library.catalogue.library_database import CacheView
    from innkeeper.library.db.engine import Database
    from innkeeper.library.db.owner import Owner
    from innkeeper.library.log.conversations import CharacterStore, ConversationStore
    from innkeeper.library.log.enhancements import Done
    from innkeeper.library.log.memories import MemoryStore
    from innkeeper.library.models.facts import Measure
    from innkeeper.library.prepare.budget import Budget
    from innkeeper.library.vault.vault import Vault
    from innkeeper.prompt.run.state import TokenCounter


class Library:
    """An open library. Make one with `Library.open`; threads may share it.

    ``database`` reads rules and catalogue, ``sources`` is the chain that answers, ``metrics`` what was counted, ``texts`` the
    cache of rendered templates, ``log`` the rows that wait to be written.
    """

    def __init__(self, database: LibraryDatabase, sources: Sources, snapshot: Path, options: Options) -> None:
        self.database = database
        self.sources = sources
        self.snapshot = snapshot
        self.strict = options.get("strict", False)
        self.outside = options.get("outside", MACHINE)
        self._timer = options.get("timer", time.monotonic)
        self._counter = options.get("counter")
        self._keys = options.get("keys")
        self.metrics = Metrics()
        self.log = LogQueue(lambda: database.db, self.metrics)
        self._recorder = Recorder(
            database, self.log, self.metrics, self.outside, read_only=bool(options.get("read_only", False))
        )
        self.texts = RenderedCache(clock=self._timer)
        self._follower: Follower | None = None
        self._closed = threading.Event()

    @classmethod
    def open(cls, url: str | os.PathLike[str] | None = None, **options: Unpack[Options]) -> Self:
        """Open a library. A database that is not there now does not stop it: answers are flagged until it is back.

        Args:
            url: the database, as `Database.open` takes it.
            **options: `Options`, none of which is needed.

        Raises:
            ConfigError: a URL that is not understood.
            UsageError: an option that there is not.
            UnavailableError: the extra ``library`` is not installed.
            DatabaseError: with ``strict``, where the database does not open.
        """
        require("sqlalchemy")
        unknown = sorted(options.keys() - Options.__annotations__.keys())
        if unknown:
            raise UsageError(f"unknown option {unknown[0]!r}", hint=f"options: {', '.join(Options.__annotations__)}")
        timer, watch = options.get("timer", time.monotonic), options.get("watch", True)
        snapshot = options.get("snapshot")
        path = snapshot_path(url) if snapshot is None else Path(snapshot)
        database = LibraryDatabase(
            database_opener(url, options), {"policy": options.get("policy"), "detector": options.get("detector")}, timer
        )
        start: dict[str, Any] = {} if watch else {"start": None}
        timing = options.get("timing") or Timing()
        last = SnapshotFile(path, ceiling=lambda: database.last_rules.policy.ceiling)
        sources = Sources(database, last, timing=timing, clock=timer, **start)
        library = cls(database, sources, path, options)
        if library.strict:
            library.db.revision()
        if watch:
            library._follow()
        return library

    def close(self) -> None:
        """Stop following, write what waits for the log, and give the database back."""
        if not self._closed.is_set():
            self._closed.set()
            if self._follower is not None:
                self._follower.stop()
            self.log.close()
            self.sources.settle()
            self.database.close()

    def flush(self) -> bool:
        """Wait until the log holds every call so far. Tells whether it does; it does not where the database refuses."""
        return self.log.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _follow(self) -> None:
        from innkeeper.library.catalogue.database_source import Follower

        self._follower = Follower(lambda: self.database.db, self.refresh)
        self._follower.start()

    # ---------------------------------------------------------------------------------------------------------- its parts

    @property
    def db(self) -> Database:
        """The open database. Raises `DatabaseError`."""
        return self.database.db

    @property
    def rules(self) -> OperatorRules:
        """The operator's rules that count now."""
        return self.database.rules

    @property
    def catalogue(self) -> Catalogue:
        """The catalogue in memory, fetched where there is none yet."""
        return self.sources.current()

    @property
    def counter(self) -> TokenCounter:
        """What counts tokens."""
        return default_counter() if self._counter is None else self._counter

    @property
    def ports(self) -> Ports:
        """What prompts are built with besides data: a counter of the caller's own, where there is one."""
        return Ports(token_counter=self._counter)

    @property
    def authoring(self) -> Authoring:
        """Making, publishing and rolling back templates."""
        from innkeeper.library.authoring import Authoring

        return Authoring(self)

    @property
    def conversations(self) -> ConversationStore:
        """Stored conversations and their messages. Raises `DatabaseError`."""
        from innkeeper.library.log.conversations import ConversationStore

        return ConversationStore(self.db)

    def conversations_of(self, owner: Owner) -> ConversationStore:
        """The conversations of one owner: anybody else's are not found. Raises `DatabaseError`."""
        from innkeeper.library.log.conversations import ConversationStore

        return ConversationStore(self.db, owner=owner)

    def memories_of(self, owner: Owner) -> MemoryStore:
        """What is remembered for one owner. Raises `DatabaseError`."""
        from innkeeper.library.log.memories import MemoryStore

        return MemoryStore(self.db, owner)

    @property
    def characters(self) -> CharacterStore:
        """Stored characters. Raises `DatabaseError`."""
        from innkeeper.library.log.conversations import CharacterStore

        return CharacterStore(self.db)

    @property
    def cache(self) -> CacheView:
        """The catalogue in memory and its snapshot, to look at and to build anew."""
        from innkeeper.library.catalogue.library_database import CacheView

        return CacheView(self)

    @property
    def vault(self) -> Vault:
        """The vault. Raises `DatabaseError`."""
        from innkeeper.library.vault.vault import Vault

        return Vault(self.db, self._keys)

    def cache_age(self) -> float | None:
        """How many seconds ago the catalogue was read; None where none was."""
        read = self.database.loaded_at
        return None if read is None else round(max(self._timer() - read, 0.0), 3)

    def refresh(self) -> Catalogue:
        """Fetch the catalogue and the rules now. Never raises for a database that fails: what stands in is flagged."""
        catalogue = self.sources.refresh()
        self.metrics.count("library_refreshes_total", degraded=bool(catalogue.degraded))
        self.metrics.gauge("library_revision", catalogue.revision)
        return catalogue

    # ---------------------------------------------------------------------------------------------------------- answering

    def tier_check(
        self, texts: Mapping[str, str], requested: Any = None, ceilings: Ceilings | None = None, *, actor: str = ""
    ) -> TierDecision:
        """The decision about texts, named by where they enter (`Entry`). A block is recorded; nothing is raised for it."""
        return self.judged(texts, requested, ceilings or Ceilings(), actor=actor)

    def resolve(self, request: PrepareRequest, *, strict: bool | None = None) -> Resolved:
        """Which template answers, in the tier that ceilings and policy grant. No text is looked at.

        Raises only with ``strict``: `StrictModeError` and `TemplateNotFoundError` for an answer that is a makeshift,
        `UnknownNameError` for a model that the catalogue does not know.
        """
        if self._strictly(strict):
            self._require_models(request)
        tier = self.granted(request)
        resolution = self.sources.resolve(request.asked(tier.effective))
        self._count_resolution(resolution)
        answer = Resolved(tier, resolution)
        if self._strictly(strict):
            resolution.require(strict=True)
            require_complete(answer)
        return answer

    def render(self, request: PrepareRequest, *, strict: bool | None = None) -> RenderedAnswer:
        """The template that answers a request, with its values in it. A request that does not pass its tier renders nothing.

        Raises:
            TierBlockedError: the texts do not pass.
            TemplateNotFoundError: no template answers.
            MissingVariablesError, FieldError, MacroLimitError: the values do not fit.
            StrictModeError: with ``strict``, for a makeshift.
        """
        work = self._begin(request, strict)
        tier, resolution, rendered, cached = work.rendering()
        if rendered is None:
            raise TemplateNotFoundError(f"no template for {request.use_case}: the text would stay as it is")
        self._count_resolution(resolution)
        answer = RenderedAnswer(tier=tier, resolution=resolution, rendered=rendered, cached=cached)
        if work.strict:
            require_complete(answer)
        return answer

    def decide(self, request: PrepareRequest, *, strict: bool | None = None) -> Decided:
        """The tier, the template and its text, without the prompt: what a request is routed by, before it is prepared.

        Raises what `render` raises; what is blocked or fails is logged. A text that no template is for is no error.
        """
        work = self._begin(request, strict)
        try:
            tier, resolution, rendered, _ = work.rendering()
        except InnkeeperError as error:
            self._recorder.failure(work, error)
            raise
        return Decided(tier, resolution, rendered)

    def render_version(self, version: TemplateVersion, request: PrepareRequest) -> RenderedAnswer:
        """One version, whatever its labels, with the values of a request; only in a tier that is granted.

        Raises as `render`; `TierBlockedError` also where the version is of a higher tier than that.
        """
        work = self._begin(request, strict=False)
        tier = work.judge({})
        _refuse_above(version, tier)
        rendered, cached = rendered_version(self, version, AnswerSource.DATABASE, request.values, tier.effective)
        tier = work.judge({TextKind.SYSTEM_PROMPT.value: rendered.text})
        _refuse_above(version, tier)
        return RenderedAnswer(tier=tier, resolution=None, rendered=rendered, cached=cached)

    def prepare(self, request: PrepareRequest, *, strict: bool | None = None, log: bool = True) -> PreparedPrompt:
        """A prompt, ready to be sent, with its report; no model is called. Its row in the log is written soon after.

        With ``log`` off the row is for the caller to give, by `record`, once a model has answered; what is blocked or fails is
        logged all the same.

        Raises what `render` raises; `OverBudgetError`, `ConfigError`, `MaxTokensExceededError` where it does not fit.
        """
        work = self._begin(request, strict)
        try:
            done = work.run()
            self._count_resolution(done.resolution)
            if work.strict:
                require_complete(done)
        except InnkeeperError as error:
            self._recorder.failure(work, error)
            raise
        for stage, milliseconds in done.latency_ms.items():
            self.metrics.observe("library_latency_ms", milliseconds, stage=stage)
        self.metrics.observe("library_input_tokens", done.input_tokens)
        return self.record(done, strict=work.strict) if log else done

    def conversation_request(self, conversation_id: str, text: str, **more: Any) -> PrepareRequest:
        """The request for the next turn of a stored conversation: see `innkeeper.library.prepare.conversation_request`."""
        from innkeeper.library.prepare.conversation import conversation_request

        return conversation_request(self.db, conversation_id, text, **more)

    def check_output(self, prepared: PreparedPrompt, output: str) -> TierDecision:
        """The decision about what a model answered, together with the texts that it answered to. `record` asks it as well.

        Raises `TierBlockedError`, after the block was recorded: the answer is for nobody then.
        """
        request, rendered = prepared.request, prepared.rendered
        system = {} if rendered is None else {TextKind.SYSTEM_PROMPT.value: rendered.text}
        texts = {**texts_of(request), **system, TextKind.MODEL_OUTPUT.value: output}
        ceilings, who = self.ceilings(request), request.user_id or ""
        asked = prepared.tier.effective
        return self.judged(texts, asked, ceilings, request_id=prepared.request_id, actor=who).require()

    def record(
        self, prepared: PreparedPrompt, done: Done | None = None, *, strict: bool | None = None
    ) -> PreparedPrompt:
        """Give the log the row of a call, which waits for nothing; with ``strict`` it is written now, and ``log_id`` is known.

        A row that is dropped, or that the database refuses, is a reason to flag the answer (``log_dropped``, ``log_failed``); so
        is an output that is longer than what reads it takes (``output_over_budget``; see `fit_output`).

        Raises `TierBlockedError` where the output does not pass: its row says so and keeps no text. With ``strict`` also what
        the database raises.
        """
        if done is not None and done.output is not None:
            try:
                self.check_output(prepared, done.output)
            except TierBlockedError as error:
                self._recorder.blocked_output(prepared, done, error)
                raise
            room = self.output_room(prepared)
            if room is not None and not room[0].fits(done.output, room[1]):
                prepared = with_note(prepared, "output_over_budget")
        if self._strictly(strict):
            return msgspec.structs.replace(prepared, log_id=self._recorder.call_now(prepared, done))
        return with_note(prepared, self._recorder.call(prepared, done))

    def fit_output(self, prepared: PreparedPrompt, output: str) -> Fitted:
        """What a model wrote for a target, made to fit what the target reads: cut after a sentence, or else after a word.

        Raises `OverBudgetError` where not even the first word fits.
        """
        room = self.output_room(prepared)
        if room is None:
            measure = TokenizerSpec("bpe", prepared.request.target_model or "", UNBOUNDED).measure(self.counter)
            return Fitted(output, measure.count(output))
        return fit_text(output, *room, "truncate")

    def output_room(self, prepared: PreparedPrompt) -> tuple[Budget, Measure] | None:
        """The room that a prompt's target has for what a model writes, and what measures it; None: the text is for people."""
        asked, budget = prepared.request, prepared.budget
        target = facts_of(self.sources.current(), asked.target_model, asked.target_family, asked.job_type)
        spec = None if budget is None else target.measured(budget.limit)
        if budget is None or spec is None or not (target.visual or asked.use_case == ENHANCEMENT):
            return None
        return budget, spec.measure(self.counter)

    def negatives(
        self,
        family: str,
        tier: Tier | str = Tier.SFW,
        mode: str = "txt2img",
        *,
        model: str | None = None,
        facts: ModelFacts | None = None,
        user_text: str = "",
    ) -> NegativePrompt:
        """The negative prompt of a family, or of a model of it. ``tier`` is one that was granted; the policy is above it."""
        catalogue = self.catalogue
        known = facts or facts_of(catalogue, model, family or None, "image")
        granted = Tier.lowest(Tier.of(tier), self.rules.policy.ceiling)
        spec = known.measured(known.window or UNBOUNDED) if known.negative else None
        measure = None if spec is None else spec.measure(self.counter)
        rows, named = catalogue.negatives, known.family or ""
        return join_negatives(rows, named, granted, mode, spec=spec, user_text=user_text, measure=measure)

    # ------------------------------------------------------------------------------------------------ for its own parts

    def judged(
        self, texts: Mapping[str, str], requested: Any, ceilings: Ceilings, *, request_id: str = "", actor: str = ""
    ) -> TierDecision:
        """The one way to a decision about texts; a block is counted and recorded as an audit event."""
        checked = self.rules.gate.check(texts, requested, ceilings)
        decision = checked.decision
        self.metrics.count("library_tier_total", decision=decision.decision, tier=decision.effective)
        if decision.decision is Decision.BLOCK or (texts and not decision.passed):
            self._recorder.block(checked, request_id, actor)
        return decision

    def ceilings(self, request: PrepareRequest) -> Ceilings:
        """The ceilings of a request with those of its models, where any of them could count."""
        above = Tier.of(request.content_mode) is not Tier.SFW and self.rules.policy.ceiling is not Tier.SFW
        keys = (request.target_model, request.target_family, request.enhancer_model, request.enhancer_family)
        return ceilings_of(self.catalogue, request.ceilings, keys) if above else request.ceilings

    def _require_models(self, request: PrepareRequest) -> None:
        for key in (request.target_model, request.enhancer_model):
            if key not in packaged_models():
                require_known(self.catalogue, key)

    def _begin(self, request: PrepareRequest, strict: bool | None) -> Preparation:  # noqa: FBT001 - our own call only
        if self._strictly(strict):
            self._require_models(request)
        return Preparation(
            self, request, request.request_id or self.outside.fresh_id(), self._strictly(strict), self._timer
        )

    def _strictly(self, strict: bool | None) -> bool:  # noqa: FBT001 - our own call only
        return self.strict if strict is None else strict

    def granted(self, request: PrepareRequest) -> TierDecision:
        """The tier that ceilings and policy grant a request, before any text of it is looked at."""
        return effective_tier(request.content_mode, self.ceilings(request), policy=self.rules.policy)

    def _count_resolution(self, resolution: Resolution) -> None:
        level, source, execution = resolution.level.value, resolution.source.value, resolution.execution.value
        self.metrics.count("library_resolutions_total", level=level, source=source, execution=execution)
        if resolution.template is not None:
            self.metrics.count(
                "library_templates_total", template=resolution.template.name, version=resolution.template.version
            )


def _refuse_above(version: TemplateVersion, tier: TierDecision) -> None:
    if version.key.content_mode.rank > tier.effective.rank:
        reasons = (*tier.reasons, "template_tier")
        raise TierBlockedError(tier.decision.value, tier.effective.value, tier.categories, reasons)
