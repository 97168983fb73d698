"""Library: what a request gets, in which tier, with which flags, and what is recorded of it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from innkeeper.budget import Costing
from innkeeper.gate.tier import Ceilings, Decision, Tier
from innkeeper.library.builtins import packaged_labels
from innkeeper.library.catalogue.database_source import POLL
from innkeeper.library.catalogue.snapshot import SnapshotFile
from innkeeper.library.db.backup import back_up, restore
from innkeeper.library.db.engine import Database
from innkeeper.library.db.queries import query
from innkeeper.library.db.rows import AuditStore
from innkeeper.library.errors import (
    DatabaseError,
    DatabaseLockedError,
    DatabaseMissingError,
    InvalidTemplateError,
    MissingVariablesError,
    OverBudgetError,
    TemplateNotFoundError,
    TierBlockedError,
)
from innkeeper.library.library import Library
from innkeeper.library.log.enhancements import Done
from innkeeper.library.log.logs import EnhancementLog
from innkeeper.library.models.stores import ModelStore, NegativeStore, ProviderStore, SettingsStore
from innkeeper.library.prepare.request import PrepareRequest
from innkeeper.library.prepare.segments import Role, Segment
from innkeeper.library.templates.template import PARTIAL, TemplateDraft, Variable
from innkeeper.library.tiers.documents import DetectionListStore, PolicyStore
from innkeeper.library.tiers.rules import OPERATOR_VALUES, POLICY_NAME, STORE_CONTENT_DAYS
from innkeeper.prompt.block import Origin
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import (
    ConfigError,
    InnkeeperError,
    MaxTokensExceededError,
    StrictModeError,
    UnknownNameError,
    UsageError,
)
from innkeeper.prompt.message import Message
from innkeeper.taverns import replay
from innkeeper.tokens import OPENAI
from tests.library.drafts import draft
from tests.library.opening import ADULT, ask, enable_adults, logged, opened, published
from tests.shared import ROOT

CANARY = "canary-lighthouse-91"
BLOCKED = "a nude 12 year old"


@pytest.fixture
def library(url: str) -> Iterator[Library]:
    """An open, empty library."""
    with opened(url) as found:
        yield found


@pytest.fixture
def kept(library: Library) -> Library:
    """A library with one template in production."""
    published(library)
    return library


# ---------------------------------------------------------------------------------------------------------------- resolving


def test_an_empty_library_answers(library: Library) -> None:
    """What comes with Innkeeper answers an empty library, and says so; with strict it is an error."""
    found = library.resolve(ask())
    assert found.resolution.level == "builtin"
    assert found.reasons == ("database_empty", "builtin")
    assert found.to_dict()["degraded"] is True
    with pytest.raises(TemplateNotFoundError, match="makeshift"):
        library.resolve(ask(), strict=True)


def test_what_is_published_answers(kept: Library) -> None:
    """A published template answers at once, without a flag, from memory."""
    found = kept.resolve(ask(), strict=True)
    assert found.resolution.template is not None
    assert (found.resolution.template.name, found.resolution.source) == ("enhancement_sdxl_sfw", "memory")
    assert not found.degraded
    assert kept.metrics.value("library_resolutions_total", source="memory") == 1


def test_steady_hit_rate(kept: Library) -> None:
    """On a steady workload at least 95 of 100 answers come from memory."""
    with opened(kept.db.target.url if kept.db.dialect == "postgresql" else str(kept.db.target.path)) as fresh:
        for _ in range(200):
            fresh.resolve(ask())
            fresh.sources.current()
        assert fresh.sources.tally.hit_rate >= 0.95
        assert fresh.cache.show()["hit_rate"] >= 0.95


def test_strict_library(url: str, tmp_path: Path) -> None:
    """A strict library makes every makeshift an error, and does not open without its database."""
    with opened(url, strict=True) as library, pytest.raises(TemplateNotFoundError):
        library.resolve(ask())
    with pytest.raises(DatabaseMissingError):
        opened(str(tmp_path / "none.db"), strict=True, create=False)
    with pytest.raises(ConfigError):
        opened("mysql://x/y")


def test_unknown_models(kept: Library) -> None:
    """With strict a model that nobody knows is an error with near names; targets of templates are known."""
    provider = ProviderStore(kept.db).put({"name": "p"})
    ModelStore(kept.db).put({"model_key": "vendor/one", "provider_id": provider.id, "modality": "image"})
    kept.refresh()
    for call in (kept.resolve, kept.render, kept.prepare):
        with pytest.raises(UnknownNameError, match="model") as caught:
            call(ask(target_model="vendor/on", values={"subject": "x"}), strict=True)
        assert caught.value.hint == "did you mean 'vendor/one'?"
        call(ask(values={"subject": "x"}), strict=True)


def test_threads_lose_nothing(kept: Library) -> None:
    """While versions are published, requests of several threads are answered by one of them, and each has its row."""
    texts = {f"Version {number} of {{{{subject}}}}." for number in range(4)}
    answers: list[str] = []

    def work() -> None:
        for _ in range(10):
            prepared = kept.prepare(ask(values={"subject": "x"}))
            answers.append(prepared.messages[0].content)

    running = [threading.Thread(target=work) for _ in range(4)]
    for thread in running:
        thread.start()
    for text in sorted(texts):
        kept.authoring.add_version(draft(text=text))
        kept.authoring.publish("enhancement_sdxl_sfw", force=True)
    for thread in running:
        thread.join()
    assert len(answers) == 40
    assert set(answers) <= {"Describe x.", *(text.replace("{{subject}}", "x") for text in texts)}
    rows = logged(kept, 100)
    assert len(rows) == 40
    assert len({row.request_id for row in rows}) == 40


def test_without_its_database(tmp_path: Path) -> None:
    """A database that is away does not stop a library: builtins answer, flagged, and when it is there it is used."""
    path = tmp_path / "later.db"
    with opened(str(path), create=False) as library:
        found = library.resolve(ask())
        assert found.resolution.level == "builtin"
        assert found.degraded
        assert "rules_unread" in library.prepare(ask(text="a lighthouse")).reasons
        with pytest.raises(DatabaseError):
            _ = library.db
        with opened(str(path)) as other:
            published(other)
        library.refresh()
        assert not library.resolve(ask()).degraded


def test_the_snapshot_stands_in(kept: Library, tmp_path: Path) -> None:
    """After the database is gone a new process answers from the last snapshot, the same, and says so."""
    before = kept.resolve(ask()).resolution.template
    snapshot = kept.snapshot
    with opened(str(tmp_path / "gone.db"), create=False, snapshot=snapshot) as library:
        found = library.resolve(ask())
        assert found.resolution.template == before
        assert found.resolution.source == "snapshot"
        assert found.degraded
        assert library.prepare(ask(values={"subject": "a cat"})).rendered is not None
        assert SnapshotFile(snapshot).load().labelled
    snapshot.write_bytes(snapshot.read_bytes().replace(b"Describe", b"Descripe"))
    with opened(str(tmp_path / "gone.db"), create=False, snapshot=snapshot) as library:
        assert library.resolve(ask()).resolution.level == "builtin"


# ---------------------------------------------------------------------------------------------------------------- rendering


def test_render(kept: Library) -> None:
    """Values are put in as they are; the same again comes from the cache of texts."""
    value = r"{{subject}} $1 \1 {{> x}}"
    first, again = (kept.render(ask(values={"subject": value})) for _ in range(2))
    assert first.rendered.text == f"Describe {value}."
    assert (first.cached, again.cached) == (False, True)
    assert again.to_dict()["text"] == first.rendered.text
    assert kept.texts.figures().hits == 1


def test_render_refuses(kept: Library) -> None:
    """Missing values, no template and, with strict, makeshifts are errors."""
    with pytest.raises(MissingVariablesError):
        kept.render(ask())
    with pytest.raises(TemplateNotFoundError):
        kept.render(ask(use_case="nothing_like_it"))
    with pytest.raises(TemplateNotFoundError, match="stay as it is"):
        kept.render(ask(target_model="none", job_type="audio"))
    with pytest.raises(StrictModeError, match="ceiling:account"):
        kept.render(ask(values={"subject": "x"}, content_mode="nsfw"), strict=True)


def test_values_that_are_no_data_are_not_kept(kept: Library) -> None:
    """A value that cannot be hashed is rendered, and not kept."""
    with pytest.raises(InnkeeperError):
        kept.render(ask(values={"subject": object()}))
    assert kept.texts.figures().entries == 0


def test_parts_that_are_missing(library: Library) -> None:
    """A part that is nowhere is an error, not a hole in the text."""
    library.authoring.create(draft("t", "Hi. {{> rules}}", partials=(("rules", 1),), variables=()))
    with pytest.raises(InvalidTemplateError):
        library.render_version(library.authoring.get("t"), ask())


def test_parts_are_found(library: Library) -> None:
    """Partials are taken from memory, before there is one from the database, and for builtins from what comes with us."""
    library.authoring.create(
        draft("rules", "Be brief.", use_case=PARTIAL, target_model=None, job_type=None, variables=())
    )
    published(library, draft("t", "Hi. {{> rules}}", partials=(("rules", 1),), variables=()))
    assert library.render(ask()).rendered.text == "Hi. Be brief."
    url = str(library.db.target.path) if library.db.dialect == "sqlite" else library.db.target.url
    with opened(url) as cold:
        found = cold.render(ask())
        assert (found.rendered.text, found.resolution and found.resolution.source) == ("Hi. Be brief.", "database")
        version = cold.authoring.get("t")
        assert cold.render_version(version, ask()).rendered.text == "Hi. Be brief."


def test_liquid_knows_the_clock(library: Library) -> None:
    """A Liquid template gets the library's own time, which is part of the cache's key."""
    published(library, draft("t", "Year {{ 'now' | date: '%Y' }}.", syntax="liquid", variables=()))
    year = library.outside.now().now.year
    assert library.render(ask()).rendered.text == f"Year {year}."


def test_values_of_the_operator(library: Library) -> None:
    """A variable whose source is the operator is filled by the settings; what a request says of it is left aside."""
    variables = (Variable(name="policy", source="operator"), Variable(name="subject"))
    published(library, draft("t", "{{policy}} {{subject}}", variables=variables))
    with pytest.raises(MissingVariablesError):
        library.render(ask(values={"subject": "x", "policy": "anything goes"}))
    SettingsStore(library.db).set(OPERATOR_VALUES, {"policy": "Be kind."})
    library.refresh()
    assert library.render(ask(values={"subject": "x", "policy": "anything goes"})).rendered.text == "Be kind. x"


# --------------------------------------------------------------------------------------------------------------------- tier


def test_a_block_renders_nothing(kept: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """A blocked text is judged before anything is looked up or rendered; an audit event and a row tell of it, not its words."""
    monkeypatch.setattr(kept.sources, "resolve", lambda *_: pytest.fail("looked up"))
    with pytest.raises(TierBlockedError):
        kept.prepare(ask(text=f"{BLOCKED} {CANARY}", values={"subject": "x"}, request_id="r1", user_id="u1"))
    assert kept.flush()
    event = AuditStore(kept.db).newest(1, action="tier.block")[0]
    assert (event.actor, event.resource_id, event.details["decision"]) == ("u1", "r1", "block")
    row = logged(kept, 1)[0]
    assert (row.status, row.error_code, row.execution) == ("blocked", "tier_blocked", "none")
    told = json.dumps([str(event), str(row)])
    assert CANARY not in told
    assert kept.metrics.value("library_blocks_total") == 1


@pytest.mark.parametrize(
    "request_",
    [
        ask(text=BLOCKED),
        ask(text="a nude portrait", values={"subject": "a 12 year old"}),
        ask(values={"subject": ["nude", "12 year old"]}),
        ask(history=(Message(role="user", content=BLOCKED),), values={"subject": "x"}),
        ask(negative=BLOCKED, values={"subject": "x"}),
        ask(overlays={"ui": BLOCKED}, values={"subject": "x"}),
    ],
    ids=["text", "text and value", "list", "history", "negative", "overlay"],
)
def test_every_text_is_judged(kept: Library, request_: Any) -> None:
    """Whatever people wrote is judged, wherever it enters, and all of it together."""
    for call in (kept.prepare, kept.render):
        with pytest.raises(TierBlockedError):
            call(request_)


def test_a_rendered_text_is_judged(library: Library) -> None:
    """What is harmless apart may be blocked once it is put together: the system prompt is judged with the rest."""
    published(library, draft("t", "Paint a nude figure: {{subject}}."))
    with pytest.raises(TierBlockedError):
        library.prepare(ask(values={"subject": "12 year old"}))
    row = logged(library, 1)[0]
    assert row.status == "blocked"


def test_a_block_stands_without_its_record(kept: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where neither event nor row can be written the block stands, and is counted."""

    def refuse(*_: object, **__: object) -> None:
        raise InnkeeperError("away")

    monkeypatch.setattr(AuditStore, "append", refuse)
    monkeypatch.setattr(EnhancementLog, "add", refuse)
    with pytest.raises(TierBlockedError):
        kept.prepare(ask(text=BLOCKED))
    assert kept.flush()
    assert kept.metrics.value("library_audit_failures_total") == 1
    assert kept.metrics.value("library_log_failures_total") == 1


def test_adult_rows_need_policy_and_record(library: Library) -> None:
    """An adult row answers only with the operator's policy and the account's record; at once after the policy goes, never."""
    published(library)
    published(library, draft("adult", "Adult frame.", content_mode="nsfw", variables=()))
    wanted = ask(content_mode="nsfw", values={"subject": "x"}, text="a lighthouse")
    assert library.resolve(wanted).tier.reasons == ("ceiling:account", "ceiling:policy")
    enable_adults(library)
    lowered = library.prepare(wanted)
    assert lowered.rendered is not None
    assert lowered.rendered.text == "Describe x."
    assert lowered.reasons == ("ceiling:account",)
    granted = library.prepare(ask(content_mode="nsfw", ceilings=ADULT, text="a lighthouse"))
    assert granted.rendered is not None
    assert (granted.rendered.text, granted.degraded) == ("Adult frame.", False)
    PolicyStore(library.db).deactivate(POLICY_NAME)
    library.refresh()
    after = library.resolve(ask(content_mode="nsfw", ceilings=ADULT))
    assert after.tier.effective is Tier.SFW
    assert all(row.version.key.content_mode is Tier.SFW for row in library.catalogue.labelled)


def test_a_named_adult_row_is_not_shown(library: Library) -> None:
    """Rendering a version by name asks for the tier too."""
    library.authoring.create(draft("adult", "Adult frame.", content_mode="nsfw", variables=()))
    version = library.authoring.get("adult")
    with pytest.raises(TierBlockedError, match="template_tier"):
        library.render_version(version, ask(content_mode="nsfw", ceilings=ADULT))
    enable_adults(library)
    with pytest.raises(TierBlockedError):
        library.render_version(version, ask(content_mode="nsfw"))
    assert (
        library.render_version(version, ask(content_mode="nsfw", ceilings=ADULT, text="x")).rendered.text
        == "Adult frame."
    )


def test_ceilings_of_model_and_provider(library: Library) -> None:
    """The ceilings of a model and of its provider count, whatever the caller says."""
    enable_adults(library)
    provider = ProviderStore(library.db).put({"name": "p"})
    models = ModelStore(library.db)
    models.put({"model_key": "m", "provider_id": provider.id, "modality": "image", "tier_ceiling": "sfw"})
    library.refresh()
    asked = ask(content_mode="nsfw", ceilings=ADULT, target_model="m")
    assert library.resolve(asked).tier.reasons == ("ceiling:model",)
    models.update("m", {"tier_ceiling": None})
    ProviderStore(library.db).update("p", {"tier_ceiling": "sfw"})
    library.refresh()
    assert library.resolve(asked).tier.reasons == ("ceiling:provider",)
    ProviderStore(library.db).update("p", {"tier_ceiling": "nsfw"})
    library.refresh()
    assert library.resolve(asked).tier.effective is Tier.NSFW


def test_detection_lowers(library: Library) -> None:
    """Where the rendered text has the tier lowered, a template of the lower tier is taken."""
    body = {"adult_enabled": True, "nsfw": {"sexual": {"lower": 0.4}}}
    PolicyStore(library.db).add(POLICY_NAME, body, activate=True)
    published(library)
    published(library, draft("adult", "A nude figure.", content_mode="nsfw", variables=()))
    found = library.prepare(ask(content_mode="nsfw", ceilings=ADULT, values={"subject": "x"}, text="a lighthouse"))
    assert found.tier.effective is Tier.SFW
    assert found.rendered is not None
    assert found.rendered.text == "Describe x."


@pytest.mark.parametrize(
    ("store", "name", "body"),
    [
        (PolicyStore, POLICY_NAME, {"adult_enabled": "yes"}),
        (PolicyStore, POLICY_NAME, [1]),
        (DetectionListStore, "mine", {"name": "mine", "version": "1", "entries": [{"id": ""}]}),
        (DetectionListStore, "mine", 7),
    ],
    ids=["value", "shape", "entry", "list shape"],
)
def test_broken_rules_allow_nothing(library: Library, store: Any, name: str, body: Any) -> None:
    """A policy or list that cannot be read leaves the general tier alone, and every answer says so."""
    enable_adults(library)
    store(library.db).add(name, body, activate=True)
    library.refresh()
    assert library.rules.policy.ceiling is Tier.SFW
    assert library.resolve(ask(content_mode="nsfw", ceilings=ADULT)).tier.effective is Tier.SFW
    assert any("unreadable" in reason for reason in library.prepare(ask(text="x")).reasons)


def test_one_broken_list_takes_no_other_along(library: Library) -> None:
    """What a readable list blocks stays blocked beside one that cannot be read; equal lists keep their detector."""
    entry = {"id": "x.1", "pattern": "zorbling", "category": "trafficking", "weight": 0.9}
    DetectionListStore(library.db).add("mine", {"name": "mine", "version": "3", "entries": [entry]}, activate=True)
    library.refresh()
    detector = library.rules.gate.detector
    SettingsStore(library.db).set("other", 1)
    library.refresh()
    assert library.rules.gate.detector is detector
    DetectionListStore(library.db).add("broken", 7, activate=True)
    library.refresh()
    assert library.rules.problems == ("detection_list_unreadable",)
    assert library.tier_check({"user_text": "a zorbling"}).decision is Decision.BLOCK


def test_lists_of_the_operator_count(library: Library) -> None:
    """An active detection list is part of what is looked for, and its version of what is told."""
    entry = {"id": "x.1", "pattern": "zorbling", "category": "trafficking", "weight": 0.9}
    DetectionListStore(library.db).add("mine", {"name": "mine", "version": "3", "entries": [entry]}, activate=True)
    library.refresh()
    found = library.tier_check({"user_text": "a zorbling"})
    assert found.decision is Decision.BLOCK
    assert found.lexicon_version.endswith("+mine@3")


TIERS = st.sampled_from([None, Tier.SFW, Tier.NSFW])


@given(
    ceilings=st.builds(Ceilings, account=TIERS, workspace=TIERS, character=TIERS, region=TIERS),
    requested=st.sampled_from(["sfw", "nsfw", None, "NSFW", 3]),
    adult=st.booleans(),
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_answer_is_above_any_ceiling(tmp_path: Path, ceilings: Ceilings, requested: Any, *, adult: bool) -> None:
    """Whatever is asked and allowed, the template that answers is of a tier that each ceiling allows."""
    from innkeeper.gate.gate import TierPolicy

    path = tmp_path / "lattice.db"
    if not path.exists():
        with opened(str(path)) as made:
            published(made, draft("adult", "Adult frame.", content_mode="nsfw", variables=()))
    with opened(str(path), policy=TierPolicy(adult_enabled=adult)) as library:
        found = library.resolve(ask(content_mode=requested, ceilings=ceilings))
        rank = found.resolution.template.key.content_mode.rank if found.resolution.template else 0
        assert rank <= found.tier.effective.rank <= (1 if adult and requested == "nsfw" else 0)
        assert all(rank <= tier.rank for _, tier in ceilings.known())


# ---------------------------------------------------------------------------------------------------------------- preparing


def test_prepare(kept: Library) -> None:
    """A prepared prompt has messages, budget, tokens and times, and its row in the log says the same in hashes and counts."""
    done = kept.prepare(ask(text=f"a lighthouse {CANARY}", values={"subject": "sea"}, overlays={"ui": "wide shot"}))
    assert [message.role for message in done.messages] == ["system", "user"]
    assert done.messages[0].content == "Describe sea."
    assert done.budget is not None
    assert done.budget.target + sum(done.budget.reserved.values()) <= done.budget.limit
    row = logged(kept, 1)[0]
    assert row.request_id == done.request_id
    assert (row.template_name, row.template_version, row.cache_hit) == ("enhancement_sdxl_sfw", 1, True)
    assert row.execution_time_ms == row.latency_ms["total"] > 0
    assert (row.resolution_level_int, row.fallback_level) == (0, 0)
    assert row.ui_tokens
    assert CANARY not in str(row)
    assert CANARY in json.dumps(done.to_dict())


def test_builtins_prepare(library: Library) -> None:
    """Every template that comes with Innkeeper is prepared for a plain request."""
    for row in packaged_labels():
        key = row.version.key
        if key.use_case == PARTIAL:
            continue
        values = {variable.name: "calm" for variable in row.version.variables}
        found = library.prepare(
            ask(
                use_case=key.use_case,
                job_type=key.job_type,
                target_model=key.target_model,
                enhancer_model=key.enhancer_model,
                text="a lighthouse at dawn",
                values=values,
            )
        )
        assert found.resolution.template == row.version
        assert found.tier.decision is Decision.ALLOW


def test_passthrough_is_fitted(library: Library) -> None:
    """Where no template answers, the text is made to fit as it is, and what was cut is counted."""
    published(library, draft("other", "x", use_case="chat", variables=()))
    wanted = ask(job_type="audio", target_model="none", text="One sentence here. " * 40, target_budget=20)
    done = library.prepare(wanted)
    assert (done.resolution.level, done.messages) == ("passthrough", ())
    assert done.fitted is not None
    assert done.fitted.size <= 20
    assert done.compressed
    row = logged(library, 1)[0]
    assert (row.status, row.compressed, row.dropped_segments[0]["reason"]) == ("degraded", True, "cut")
    with pytest.raises(OverBudgetError):
        library.prepare(ask(job_type="audio", target_model="none", text="x" * 5_000, target_budget=1))
    assert logged(library, 1)[0].error_code == "over_budget"


def test_prepare_ends_in_a_plan(kept: Library) -> None:
    """The prompt is a plan: for any dialect, with the origin of each range, built again from its bundle alone."""
    done = kept.prepare(ask(text="a boat", values={"subject": "Wren"}))
    assert done.messages == done.plan.messages
    assert done.plan.to_messages("anthropic")["system"] == "Describe Wren."
    pieces = {piece.text: piece.origin for piece in done.plan.blocks[0].pieces}
    name = f"{draft().name}@1"
    assert pieces == {
        text: Origin("template", "system_prompt", macro=macro, name=name)
        for text, macro in (("Describe ", None), ("Wren", "subject"), (".", None))
    }
    again = replay(done.plan.replay())
    assert again.blocks == done.plan.blocks
    assert done.input_tokens == Costing(counter=kept.counter, model="sdxl", framing=OPENAI).total(done.messages)


def test_a_prompt_for_the_target_is_a_plan(library: Library) -> None:
    """Where no template answers, the plan holds the text as it was made to fit."""
    published(library, draft("other", "x", use_case="chat", variables=()))
    done = library.prepare(
        ask(job_type="audio", target_model="none", text="One sentence here. " * 40, target_budget=20)
    )
    assert done.fitted is not None
    assert [block.content for block in done.plan.blocks] == [done.fitted.text]


def test_a_stored_copy_of_the_message_is_sent_once(kept: Library) -> None:
    """It is known by the id that its client gave it."""
    stored = Message("user", "a boat", metadata=FrozenDict(client_msg_id="7"))
    wanted = ask(text="a boat", values={"subject": "x"}, history=(stored,), client_msg_id="7")
    assert [message.content for message in kept.prepare(wanted).messages] == ["Describe x.", "a boat"]


def test_segments_for_the_target_are_compressed(library: Library) -> None:
    """Where no template answers, what may go of the segments goes, is listed without its text, and is judged like all texts."""
    published(library, draft("other", "x", use_case="chat", variables=()))
    parts = (Segment("Wenna, grey braid", Role.IDENTITY), Segment("sharp focus " * 20, Role.QUALITY))
    wanted = ask(job_type="audio", target_model="none", segments=parts, target_budget=20)
    done = library.prepare(wanted)
    assert done.fitted is not None
    assert (done.fitted.text, [each.reason for each in done.fitted.dropped]) == ("Wenna, grey braid", ["budget"])
    assert [block.content for block in done.plan.blocks] == ["Wenna, grey braid"]
    (dropped,) = logged(library, 1)[0].dropped_segments
    assert (dropped["role"], dropped["reason"], "text" in dropped) == ("quality", "budget", False)
    with pytest.raises(TierBlockedError):
        library.prepare(msgspec.structs.replace(wanted, segments=(Segment(BLOCKED, Role.ACTION),)))


def test_the_window_keeps_the_newest(library: Library) -> None:
    """Of a long chat the newest turns go in, the current message once, within the window; what does not fit is listed."""
    provider = ProviderStore(library.db).put({"name": "p"})
    window = {"model_key": "chat/1", "provider_id": provider.id, "modality": "chat", "context_window": 700}
    ModelStore(library.db).put(window)
    published(
        library, draft("c", "Talk.", use_case="chat", target_model=None, job_type=None, variables=(), token_limit=100)
    )
    history = tuple(Message(role="user", content=f"turn {number} of many words") for number in range(500))
    wanted = ask(use_case="chat", job_type=None, target_model="chat/1", text="now", history=history)
    done = library.prepare(wanted)
    assert done.window_limit == 600
    assert done.input_tokens <= 600
    assert [message.content for message in done.messages[-2:]] == ["turn 499 of many words", "now"]
    assert len(done.evicted) + len(done.messages) == 502
    with pytest.raises(MaxTokensExceededError):
        library.prepare(ask(use_case="chat", job_type=None, target_model="chat/1", text="word " * 5_000))


def test_negative_prompts(kept: Library) -> None:
    """An image request gets its negative prompt, in the tier that was granted; a model without such an input gets none."""
    store = NegativeStore(kept.db)
    for text, more in (("blurry", {"priority": 2}), ("text", {}), ("secret", {"content_mode": "nsfw"})):
        store.add({"model_type": "sdxl", "negative_prompt": text, **more})
    provider = ProviderStore(kept.db).put({"name": "p"})
    row = {"model_key": "none", "provider_id": provider.id, "modality": "image", "model_family": "sdxl"}
    ModelStore(kept.db).put({**row, "capabilities": {"negative_prompt": False}})
    kept.refresh()
    wanted = {"values": {"subject": "x"}, "content_mode": "nsfw"}
    found = kept.prepare(ask(**wanted, negative="fog")).negative
    assert found is not None
    assert found.text == "text, blurry, fog"
    assert kept.negatives("sdxl", "nsfw").text == "text, blurry"
    assert kept.negatives("", model="none").skipped == "no_negative_input"
    assert kept.prepare(ask(**wanted, target_model="none")).negative == kept.negatives("", model="none")


def test_strict_prepare(kept: Library) -> None:
    """With strict a lowered tier is an error with its reasons, and its row says so."""
    with pytest.raises(StrictModeError) as caught:
        kept.prepare(ask(values={"subject": "x"}, content_mode="nsfw"), strict=True)
    assert caught.value.details["reasons"] == ["ceiling:account", "ceiling:policy"]
    assert logged(kept, 1)[0].error_code == "strict_mode"


def test_a_log_that_fails(kept: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers are flagged while the log cannot be written; with strict it is the error. Afterwards nothing is missing."""

    def refuse(*_: object, **__: object) -> None:
        raise DatabaseLockedError("held")

    monkeypatch.setattr(EnhancementLog, "add", refuse)
    assert kept.prepare(ask(values={"subject": "x"})).reasons == ()
    assert not kept.flush()
    assert kept.prepare(ask(values={"subject": "x"})).reasons == ("log_failed",)
    assert kept.cache.show()["log"] == {"waiting": 2, "written": 0, "dropped": 0, "problem": "database_locked"}
    assert kept.metrics.value("library_log_failures_total") >= 1
    with pytest.raises(DatabaseLockedError, match="held"):
        kept.prepare(ask(values={"subject": "x"}), strict=True)
    monkeypatch.undo()
    assert len(logged(kept)) == 2
    assert kept.prepare(ask(values={"subject": "x"})).reasons == ()


def test_record_after_a_model(kept: Library) -> None:
    """Who calls the model writes the row once it has answered: one row, with output, usage and added times."""
    prepared = kept.prepare(ask(values={"subject": "x"}, text="sea"), log=False)
    assert logged(kept) == ()
    done = Done(
        output="a calm sea",
        output_tokens=3,
        latency_ms={"model": 10.0},
        usage={"total": 30},
        cost_usd=0.01,
        cost_source="provider",
        attempts=[{"model": "m"}],
    )
    assert kept.record(prepared, done).log_id is None
    (row,) = logged(kept)
    assert (row.output_tokens, row.cost_source, row.usage["total"]) == (3, "provider", 30)
    assert row.latency_ms["total"] == pytest.approx(prepared.latency_ms["total"] + 10)
    failed = kept.record(prepared, Done(error=InnkeeperError("no answer")), strict=True)
    row = logged(kept, 1)[0]
    assert (row.id, row.status, row.error_detail_redacted) == (failed.log_id, "error", "no answer")


def test_texts_are_stored_only_where_wanted(kept: Library) -> None:
    """Texts are kept apart, until their date, and only where the operator has them stored."""
    log = EnhancementLog(kept.db)
    kept.prepare(ask(values={"subject": "x"}, text=CANARY))
    assert log.contents(logged(kept, 1)[0].id) == {}
    SettingsStore(kept.db).set(STORE_CONTENT_DAYS, 1)
    kept.refresh()
    kept.prepare(ask(values={"subject": "x"}, text=f"{CANARY}\0"))
    assert log.contents(logged(kept, 1)[0].id) == {"input": CANARY}
    assert log.purge() == 0
    SettingsStore(kept.db).set(STORE_CONTENT_DAYS, "many")
    SettingsStore(kept.db).set(OPERATOR_VALUES, 3)
    kept.refresh()
    problems = ("operator_values_unreadable", "store_content_days_unreadable")
    assert kept.prepare(ask(values={"subject": "x"})).reasons == problems


def test_the_documents_query(kept: Library) -> None:
    """The requirement document's "Log Analysis" runs as printed, on what was logged."""
    for _ in range(3):
        kept.prepare(ask(values={"subject": "x"}))
    assert kept.flush()
    text = (
        "SELECT \n  template_name,\n  AVG(execution_time_ms) as avg_time,\n  COUNT(*) as usage_count,\n"
        "  AVG(fallback_level) as avg_fallback\nFROM enhancement_logs \n"
        "WHERE created_at > NOW() - INTERVAL '24 hours'\nGROUP BY template_name;"
    )
    (row,) = query(kept.db, text).rows
    assert (row[0], row[2], float(row[3])) == ("enhancement_sdxl_sfw", 3, 0.0)
    assert float(row[1]) > 0


# ---------------------------------------------------------------------------------------------------------------- following


PUBLISHING = """
import sys
from innkeeper.library import Library
from tests.library.drafts import draft
with Library.open(sys.argv[1], watch=False) as library:
    library.authoring.add_version(draft(text=sys.argv[2]))
    library.authoring.publish("enhancement_sdxl_sfw", force=True)
"""


@pytest.mark.slow
def test_a_publication_is_seen_elsewhere(url: str) -> None:
    """What another process publishes answers here at the next look, four a second; requests go on from memory."""
    assert POLL <= 0.5
    with opened(url) as made:
        published(made)
    with Library.open(url) as library:
        library.refresh()
        subprocess.run([sys.executable, "-c", PUBLISHING, url, "Paint {{subject}}."], check=True, cwd=ROOT)
        until = time.monotonic() + 120
        text = ""
        while text != "Paint sea." and time.monotonic() < until:
            text = library.render(ask(values={"subject": "sea"})).rendered.text
            time.sleep(0.02)
        assert text == "Paint sea."
        assert library.sources.tally.hit_rate >= 0.95


def test_close_twice(url: str) -> None:
    """A library that follows stops when it is closed, and may be closed again."""
    library = Library.open(url)
    library.close()
    library.close()
    with pytest.raises(DatabaseError, match="closed"):
        _ = library.db
    assert library.resolve(ask()).degraded
    follower = library._follower
    assert follower is not None
    assert not follower._thread.is_alive()


def test_read_only(kept: Library) -> None:
    """A library that may only read answers; its log says that it could not be written."""
    url = str(kept.db.target.path) if kept.db.dialect == "sqlite" else kept.db.target.url
    with opened(url, read_only=True) as library:
        assert library.prepare(ask(values={"subject": "x"})).reasons == ("log_failed",)


def test_one_answer_from_every_database(db: Database) -> None:
    """A library over an open database's URL sees the same revision."""
    url = str(db.target.path) if db.dialect == "sqlite" else db.target.url
    with opened(url) as library:
        assert library.db.revision() == db.revision()
        assert library.vault.list() == ()


# ----------------------------------------------------------------------------------------------- what nobody knows a limit of


LONG = "One sentence here, and then another. " * 240


@pytest.mark.parametrize("segments", [False, True])
def test_a_target_without_a_limit_is_sent_everything(library: Library, *, segments: bool) -> None:
    """Where neither template nor catalogue knows a limit, no text is shortened."""
    parts = tuple(Segment(f"lantern number {n}", Role.SETTING) for n in range(400)) if segments else ()
    done = library.prepare(ask(target_model="none", job_type="audio", text="" if segments else LONG, segments=parts))
    assert done.fitted is not None
    assert done.fitted.text == (", ".join(part.text for part in parts) if segments else LONG)
    assert (done.budget, done.compressed, done.reasons) == (None, False, ("database_empty", "passthrough"))
    assert logged(library, 1)[0].budget_tokens is None


def test_a_limit_of_the_catalogue_shortens_and_says_so(library: Library) -> None:
    """The window of a model that is known, or what is asked for, is a limit; a text that loses something says ``shortened``."""
    provider = ProviderStore(library.db).add({"name": "p"}).id
    row = {"provider_id": provider, "modality": "chat", "context_window": 100}
    ModelStore(library.db).add({"model_key": "small", **row})
    ModelStore(library.db).add(
        {"model_key": "short", **row, "context_window": None, "capabilities": {"char_limit": 200}}
    )
    library.refresh()
    for asked in ({"target_model": "small"}, {"target_model": "none", "target_budget": 100}):
        done = library.prepare(ask(**asked, job_type="audio", text=LONG))
        assert done.budget is not None
        assert done.budget.limit == 100
        assert "shortened" in done.reasons
    done = library.prepare(ask(target_model="short", job_type="audio", text=LONG))
    assert done.fitted is not None
    assert 0 < len(done.fitted.text) <= 200


def test_a_chat_of_an_unknown_window_says_so(library: Library) -> None:
    """Where nobody knows the window of who reads, the whole history is sent, and the answer says that it is so."""
    published(library, draft("talk", "Be kind.", use_case="chat", job_type=None, target_model=None, variables=()))
    history = tuple(Message("user" if n % 2 else "assistant", LONG) for n in range(20))
    asked = {"use_case": "chat", "job_type": "chat", "text": "and now?"}
    done = library.prepare(ask(**asked, target_model="unknown/one", history=history))
    assert (len(done.messages), done.evicted, "window_unknown" in done.reasons) == (22, (), True)
    assert library.prepare(ask(**asked, target_model="unknown/one")).reasons == ()
    provider = ProviderStore(library.db).add({"name": "p"}).id
    ModelStore(library.db).add(
        {"model_key": "known/one", "provider_id": provider, "modality": "chat", "context_window": 8_000}
    )
    library.refresh()
    done = library.prepare(ask(**asked, target_model="known/one", history=history))
    assert done.reasons == ()
    assert done.evicted


def test_an_output_that_is_too_long_says_so(kept: Library) -> None:
    """What a model wrote beyond what its target reads is flagged, in the answer and in the log, and can be made to fit."""
    prepared = kept.prepare(ask(values={"subject": "x"}, text="sea"), log=False)
    assert prepared.budget is not None
    done = kept.record(prepared, Done(output=LONG))
    assert done.reasons == ("output_over_budget",)
    row = logged(kept, 1)[0]
    assert (row.status, row.error_code) == ("degraded", "output_over_budget")
    fitted = kept.fit_output(prepared, LONG)
    assert 0 < fitted.size <= prepared.budget.target == 75
    assert kept.record(prepared, Done(output=fitted.text)).reasons == ()
    chat = kept.prepare(ask(use_case="chat", job_type="chat", target_model=None, text="hello"), log=False)
    assert kept.record(chat, Done(output=LONG)).notes == chat.notes
    assert kept.fit_output(chat, LONG).text == LONG


# ------------------------------------------------------------------------------------------------------------ after a restore


@pytest.mark.parametrize("part", [False, True], ids=["text", "part"])
def test_a_restored_library_renders_what_it_resolves(library: Library, tmp_path: Path, *, part: bool) -> None:
    """After a restore, another version 2 is rendered as it stands, not as the version 2 of before; so it is with its parts."""
    library.authoring.create(_rules("one"))
    published(library, draft("t", "one", variables=()))
    back_up(library.db, tmp_path / "b")
    _publish_second(library, "before", part=part)
    assert library.render(ask()).rendered.text == "before"
    url = str(library.db.target.path) if library.db.dialect == "sqlite" else library.db.target.url
    restore(tmp_path / "b", url, force=True)
    library.refresh()
    assert library.render(ask()).rendered.text == "one"
    _publish_second(library, "after", part=part)
    for _ in range(2):
        assert library.render(ask()).rendered.text == "after"
        assert library.prepare(ask()).messages[0].content == "after"


def _rules(text: str) -> TemplateDraft:
    """A part of other templates."""
    return draft("rules", text, use_case=PARTIAL, job_type=None, target_model=None, variables=())


def _publish_second(library: Library, text: str, *, part: bool) -> None:
    """A version 2 that renders to this text, by itself or by its part."""
    library.authoring.add_version(_rules(text))
    pinned = draft("t", "{{> rules}}", partials=(("rules", 2),), variables=())
    library.authoring.add_version(pinned if part else draft("t", text, variables=()))
    library.authoring.publish("t")


def test_a_model_out_of_use_is_answered_and_says_so(kept: Library) -> None:
    """For a model that is not active there is an answer, which says so, from every source alike."""
    provider = ProviderStore(kept.db).add({"name": "p"}).id
    model = {"model_key": "sdxl", "provider_id": provider, "modality": "image", "is_active": False}
    ModelStore(kept.db).add(model)
    kept.refresh()
    assert kept.resolve(ask()).reasons == ("inactive_model",)
    assert kept.prepare(ask(values={"subject": "x"})).reasons == ("inactive_model",)
    assert kept.resolve(ask(target_model="none", job_type="audio")).reasons == ("passthrough",)
    url = str(kept.db.target.path) if kept.db.dialect == "sqlite" else kept.db.target.url
    with opened(url) as cold:
        found = cold.resolve(ask())
        assert (found.resolution.source, found.reasons) == ("database", ("inactive_model",))
    kept.sources.settle()
    with opened("no/such/place.db", create=False, snapshot=kept.snapshot) as lost:
        assert "inactive_model" in lost.resolve(ask()).reasons
    ModelStore(kept.db).update("sdxl", {"is_active": True})
    kept.refresh()
    assert kept.resolve(ask()).reasons == ()


def test_an_option_that_there_is_not(url: str) -> None:
    """It is refused, not passed over."""
    with pytest.raises(UsageError, match="unknown option 'wach'"):
        Library.open(url, wach=False)  # type: ignore[call-arg]


def test_deciding_builds_nothing(library: Library) -> None:
    """Tier, template and text are told without a prompt; what has no template is no error; a block is one, and is recorded."""
    request = PrepareRequest(use_case="enhancement", text="a boat", job_type="image", target_model="sdxl")
    decided, prepared = library.decide(request), library.prepare(request, log=False)
    assert (decided.tier, decided.rendered) == (prepared.tier, prepared.rendered)
    assert decided.resolution.template == prepared.resolution.template
    assert library.decide(PrepareRequest(use_case="enhancement", text="x", target_model="none")).rendered is None
    with pytest.raises(TemplateNotFoundError):
        library.decide(PrepareRequest(use_case="nothing", text="x"))
    with pytest.raises(TierBlockedError):
        library.decide(msgspec.structs.replace(request, text="a nude child"))
    assert logged(library)[0].status == "blocked"
