"""The acceptance checks of the dynamic-prompting reference (§12), end to end on both databases, by their numbers."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from innkeeper.gate.gate import TierPolicy
from innkeeper.gate.tier import Ceilings, Decision, Tier, effective_tier
from innkeeper.library.builtins import packaged
from innkeeper.library.catalogue.catalogue import Catalogue
from innkeeper.library.catalogue.database_source import POLL, DatabaseSource
from innkeeper.library.catalogue.resolver import ResolveRequest, resolve
from innkeeper.library.catalogue.snapshot import SnapshotFile
from innkeeper.library.db.queries import query
from innkeeper.library.db.rows import AuditStore
from innkeeper.library.errors import AlreadyExistsError, InvalidTemplateError, MissingVariablesError, TierBlockedError
from innkeeper.library.library import Library
from innkeeper.library.log.conversations import CharacterStore, ConversationStore
from innkeeper.library.log.enhancements import Done
from innkeeper.library.log.logs import EnhancementLog
from innkeeper.library.models.facts import CLIP
from innkeeper.library.models.stores import ModelStore, ProviderStore
from innkeeper.library.prepare.segments import Role, Segment, compress
from innkeeper.library.templates.store import TemplateStore
from innkeeper.library.templates.template import TemplateKey, Variable
from innkeeper.library.vault.keys import FileKeys, KeyRing, VaultKey
from innkeeper.library.vault.vault import Vault
from innkeeper.prompt.errors import FormatError, InnkeeperError, UnknownNameError
from innkeeper.prompt.message import Message
from tests import shared
from tests.library.drafts import draft
from tests.library.opening import ADULT, ask, enable_adults, logged, opened, published
from tests.library.outsides import Counted

BAD = "a nude child, Marigold"


@pytest.fixture
def library(url: str) -> Iterator[Library]:
    """An open, empty library that follows nothing by itself."""
    with opened(url) as found:
        yield found


def blocks(library: Library) -> list[Any]:
    """The audit events of blocks, newest first."""
    assert library.flush()
    return list(AuditStore(library.db).newest(action="tier.block"))


# ------------------------------------------------------------------------------------------------------------ 1: the lattice


def test_1_every_ceiling_holds(library: Library) -> None:
    """For every combination of ceilings the tier is at most each of them, and what answers is of that tier or lower."""
    enable_adults(library)
    for tier in Tier:
        published(library, name=tier.value, text=f"{tier.value} {{{{subject}}}}", content_mode=tier)
    sides = Ceilings.__struct_fields__
    for given in itertools.product((None, *Tier), repeat=len(sides)):
        ceilings = Ceilings(*given)
        found = library.resolve(ask(content_mode="nsfw", ceilings=ceilings))
        least = min(tier.rank for _, tier in ceilings.known())
        assert found.tier.effective.rank <= least
        assert found.resolution.template is not None
        assert found.resolution.template.key.content_mode.rank <= least


@pytest.mark.parametrize(
    "asked",
    [
        None,
        "",
        "sfw",
        "SFW",
        "NSFW",
        "nsfw ",
        " nsfw",
        "ｎｓｆｗ",
        "n\u200bsfw",
        "adult",
        1,
        True,
        float("nan"),
        b"nsfw",
        ["nsfw"],
    ],
    ids=repr,
)
def test_1_no_adult_row_without_the_word(library: Library, asked: Any) -> None:
    """What does not name the adult tier exactly never renders an adult row, even where no other row is left."""
    enable_adults(library)
    published(library, name="adult", text="ADULT {{subject}}", content_mode="nsfw")
    published(library, name="general", text="GENERAL {{subject}}")
    library.authoring.remove_label("general", "production")
    request = ask(content_mode=asked, ceilings=ADULT, values={"subject": "a boat"}, text="a boat")
    prepared = library.prepare(request)
    assert prepared.resolution.level == "builtin"
    assert prepared.rendered is None or "ADULT" not in prepared.rendered.text
    with pytest.raises(TierBlockedError):
        library.render_version(TemplateStore(library.db).get("adult"), request)


@pytest.mark.parametrize("body", [{}, {"adult_enabled": "true"}, {"adult_enabled": 1}, {"absolute": []}, {"sfw": {}}])
def test_1_no_policy_of_another_form_enables_it(library: Library, body: Any) -> None:
    """Only ``true`` enables the adult tier; a policy that is none allows nothing."""
    from innkeeper.library.tiers.documents import PolicyStore

    PolicyStore(library.db).add("default", body, activate=True)
    library.refresh()
    assert library.rules.policy.ceiling is Tier.SFW
    with pytest.raises(TierBlockedError):
        library.prepare(ask(text=BAD, content_mode="nsfw", ceilings=ADULT))


@pytest.mark.parametrize("name", ["unheard-of", " small", "SMALL"])
def test_1_no_name_gets_around_a_models_ceiling(library: Library, name: str) -> None:
    """A model that the catalogue does not know, or a known one in another spelling, is for the general tier (S7)."""
    provider = ProviderStore(library.db).add({"name": "p"})
    ModelStore(library.db).add(
        {"model_key": "small", "modality": "image", "provider_id": provider.id, "tier_ceiling": "sfw"}
    )
    enable_adults(library)
    published(library, name="adult", content_mode="nsfw", target_model=None, job_type=None)
    for field in ("target_model", "target_family", "enhancer_model", "enhancer_family"):
        request = ask(**{"target_model": None, "content_mode": "nsfw", "ceilings": ADULT, field: name})
        try:
            assert library.resolve(request).tier.effective is Tier.SFW
        except UnknownNameError:
            continue


# ------------------------------------------------------------------------------------------------------------------ 2: blocks


WAYS_IN: dict[str, Any] = {
    "text": {"text": BAD},
    "value": {"values": {"subject": BAD}},
    "values": {"values": {"subject": "nude", "other": "a child"}},
    "history": {"history": (Message(role="user", content="a child"),), "text": "nude"},
    "a name in the history": {"history": (Message(role="user", content="nude", name="child"),)},
    "negative": {"negative": BAD},
    "overlay": {"overlays": {"ui": BAD}},
}


@pytest.mark.parametrize("given", WAYS_IN.values(), ids=WAYS_IN)
@pytest.mark.parametrize("asked", ["sfw", "nsfw"])
def test_2_input(library: Library, given: dict[str, Any], asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it comes in, it is blocked: nothing is looked up or rendered, one audit event and one row tell of it."""
    published(library)
    enable_adults(library)
    monkeypatch.setattr("innkeeper.library.prepare.preparation.rendered_version", lambda *_: pytest.fail("rendered"))
    request = ask(**{"values": {"subject": "x"}, **given}, request_id="r1", content_mode=asked)
    with pytest.raises(TierBlockedError):
        library.prepare(request)
    monkeypatch.undo()
    (event,) = blocks(library)
    (row,) = logged(library)
    assert (event.resource_id, row.request_id, row.status) == ("r1", "r1", "blocked")
    assert "Marigold" not in json.dumps(event.to_dict()) + json.dumps(row.to_dict())


CARDS: dict[str, dict[str, Any]] = {
    "one field": {"description": BAD},
    "two fields": {"description": "nude", "persona": "a child"},
    "a list": {"voice_examples": ["nude", "a child"]},
    "a key of a map": {"metadata": {"nude": ["child"]}},
    "a declared age": {"description": "A romantic soul.", "declared_age": 16},
    "adult tier": {"description": "Went to high school.", "content_rating": "nsfw", "declared_age": 30},
}


@pytest.mark.parametrize("card", CARDS.values(), ids=CARDS)
def test_2_cards(library: Library, card: dict[str, Any]) -> None:
    """A card is judged as a whole, in its own tier, before it is saved; what is blocked leaves an event and no row."""
    store = CharacterStore(library.db)
    for save in (store.add, store.put):
        with pytest.raises(TierBlockedError):
            save({"id": "c", "name": "Wren", **card}, who="ann")
    assert store.list() == ()
    assert [(event.actor, event.resource_type, event.resource_id) for event in blocks(library)] == [
        ("ann", "characters", "c")
    ] * 2
    assert "Marigold" not in json.dumps(blocks(library)[0].to_dict())


def test_2_cards_that_change(library: Library) -> None:
    """A change is judged with what stands already; the card stays as it was, also inside a transaction that goes on."""
    store = CharacterStore(library.db)
    before = store.add({"id": "c", "name": "Wren", "persona": "a child", "description": "Plays the harp."})
    with pytest.raises(TierBlockedError):
        store.update("c", {"mood": "sexual"})
    with library.db.transaction():
        with pytest.raises(TierBlockedError):
            store.put({"id": "c", "mood": "sexual"})
        store.add({"id": "d", "name": "Dove"})
    assert store.get("c") == before
    assert store.get("d").name == "Dove"
    assert [event.resource_id for event in blocks(library)] == ["c", "c"]


def test_2_scenes(library: Library) -> None:
    """What tells of a scene is judged when it is saved; a template of scenes when it is published."""
    store = ConversationStore(library.db)
    here = store.create({"id": "s", "current_location": "an inn", "user_id": "ann"})
    with pytest.raises(TierBlockedError):
        store.update("s", {"memory_data": {"scene": BAD}})
    with pytest.raises(TierBlockedError):
        store.create({"id": "t", "current_location": BAD})
    assert store.get("s") == here
    with pytest.raises(TierBlockedError):
        published(library, text=f"{BAD} {{{{subject}}}}", use_case="scene_generation")
    assert [event.resource_type for event in reversed(blocks(library))] == [
        "conversations",
        "conversations",
        "template",
    ]


@pytest.mark.parametrize(
    ("text", "output"), [("a boat", BAD), ("sixteen years old", "a romantic evening")], ids=["alone", "together"]
)
def test_2_output(library: Library, text: str, output: str) -> None:
    """What a model answers is judged with what it answered to; a block is recorded, and no text is kept."""
    from innkeeper.library.models.stores import SettingsStore

    SettingsStore(library.db).set("store_content_days", 30)
    published(library)
    library.refresh()
    prepared = library.prepare(ask(text=text, values={"subject": "x"}), log=False)
    with pytest.raises(TierBlockedError):
        library.record(prepared, Done(output=output))
    assert library.check_output(prepared, "a lighthouse").passed
    (row,) = logged(library)
    assert (row.status, row.decision, row.error_code) == ("blocked", "block", "tier_blocked")
    assert len(blocks(library)) == 1
    assert query(library.db, "SELECT count(*) FROM enhancement_contents").rows == ((0,),)


def test_2_a_block_stands_without_its_records(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that can be written nowhere is a block all the same, for cards and for outputs."""
    published(library)
    prepared = library.prepare(ask(text="a boat", values={"subject": "x"}), log=False)

    def refuse(*_: object, **__: object) -> None:
        raise InnkeeperError("away")

    monkeypatch.setattr(AuditStore, "append", refuse)
    monkeypatch.setattr(EnhancementLog, "add", refuse)
    with pytest.raises(TierBlockedError):
        CharacterStore(library.db).add({"name": "Wren", "persona": BAD})
    with pytest.raises(TierBlockedError):
        library.record(prepared, Done(output=BAD))
    assert library.flush()
    assert library.metrics.value("library_log_failures_total") == 1
    monkeypatch.undo()
    assert ConversationStore(library.db).create({"title": ""}).title == ""


def test_2_texts_are_not_changed(library: Library) -> None:
    """What passes arrives as it was written, whatever was looked for in it."""
    text = "Ａ naked\u200b eye: n\u200bude, in the mооnlight"
    made = published(library)
    prepared = library.prepare(ask(text=text, values={"subject": text}))
    assert prepared.messages[-1].content == text
    assert prepared.rendered is not None
    assert prepared.rendered.text == made.system_prompt.replace("{{subject}}", text)


# --------------------------------------------------------------------------------------------------------------- 4: resolving


def test_4_every_source_answers_alike(library: Library, tmp_path: Path) -> None:
    """Memory, snapshot, the database's rows and a point query give one answer, trace and all, for a grid of requests."""
    enable_adults(library)
    provider = ProviderStore(library.db).add({"name": "p"})
    for model, family in (("m1", "fam"), ("q1", "qfam")):
        row = {"model_key": model, "modality": "chat", "provider_id": provider.id, "model_family": family}
        ModelStore(library.db).add(row)
    keys = itertools.product(("m1", "fam", None), ("q1", "qfam", None), ("image", None), Tier)
    for number, (target, enhancer, job, tier) in enumerate(keys):
        if number % 3:
            fields: dict[str, Any] = {
                "target_model": target,
                "enhancer_model": enhancer,
                "job_type": job,
                "content_mode": tier,
            }
            TemplateStore(library.db).publish(draft(f"t{number}", **fields))
    library.refresh()
    source = DatabaseSource(library.db, ceiling=Tier.NSFW)
    file = SnapshotFile(tmp_path / "snapshot.json", ceiling=Tier.NSFW)
    file.store(source.load())
    whole: dict[str, Catalogue] = {"memory": library.catalogue, "database": source.load(), "snapshot": file.load()}
    for target, enhancer, job, tier in itertools.product(("m1", "m2", None), ("q1", "q2", None), ("image", None), Tier):
        request = ResolveRequest(
            use_case="enhancement", target_model=target, enhancer_model=enhancer, job_type=job, content_mode=tier
        )
        answers = [resolve(request, found) for found in (*whole.values(), source.point(request))]
        assert len({(found.template, found.level, found.trace) for found in answers}) == 1


def test_4_ambiguity_is_never_published(library: Library) -> None:
    """Two templates with one key cannot both hold a label, by whatever way it is tried."""
    published(library)
    library.authoring.create(draft("other"))
    with pytest.raises(AlreadyExistsError):
        library.authoring.publish("other", force=True)
    with pytest.raises(AlreadyExistsError):
        TemplateStore(library.db).move_label("other", "production", 1)


# -------------------------------------------------------------------------------------------------- 5: snapshots, publications


def test_5_a_changed_snapshot_is_refused(library: Library, tmp_path: Path) -> None:
    """A snapshot with one character changed is no snapshot; builtins answer in its place, flagged."""
    published(library, text="Describe the {{subject}}.")
    library.refresh()
    SnapshotFile(library.snapshot).store(library.catalogue)
    kept = library.snapshot.read_bytes()
    for damaged in (kept.replace(b"Describe the", b"Describe thy"), kept[:-2], b"", b"{}", kept.replace(b'"', b"'", 1)):
        library.snapshot.write_bytes(damaged)
        with pytest.raises(FormatError):
            SnapshotFile(library.snapshot).load()
    library.snapshot.write_bytes(kept.replace(b"Describe the", b"Describe thy"))
    with opened(str(tmp_path / "none.db"), create=False, snapshot=library.snapshot) as other:
        found = other.resolve(ask())
        assert (found.resolution.source, found.degraded) == ("builtin", True)


FOLLOWER = """
import sys, time
from innkeeper.library.library import Library
from tests.library.opening import ask, logged
with Library.open(sys.argv[1]) as library:
    print(library.resolve(ask()).resolution.template.version, flush=True)
    until = time.monotonic() + 120
    for wanted in (2, 3, 4):
        while library.resolve(ask()).resolution.template.version != wanted and time.monotonic() < until:
            time.sleep(0.01)
        print(wanted, flush=True)
"""


def test_5_a_publication_is_seen_by_other_processes(library: Library, url: str) -> None:
    """Another process answers with it at its next look: within two seconds, where the machine has time for both."""
    assert POLL <= 0.5
    made = published(library)
    words = [sys.executable, "-c", FOLLOWER, url]
    with subprocess.Popen(words, cwd=shared.ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "1\n"
        for number in (2, 3, 4):
            library.authoring.add_version(draft(made.name, f"{number} {{{{subject}}}}"))
            library.authoring.publish(made.name, force=True)
            assert process.stdout.readline() == f"{number}\n"
        assert process.wait(120) == 0


def test_5_publishing_and_logging_lose_nothing(library: Library, url: str) -> None:
    """Of publications and calls at the same time, from several libraries, every version, event and row is there."""
    published(library)
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            with opened(url) as other:
                for turn in range(5):
                    if number % 2:
                        TemplateStore(other.db).publish(draft(text=f"{number}.{turn} {{{{subject}}}}"))
                    else:
                        other.prepare(
                            ask(text="a boat", values={"subject": "x"}, request_id=f"{number}.{turn}"), strict=True
                        )
        except BaseException as error:  # noqa: BLE001 - shown below
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failed == []
    assert [version.version for version in TemplateStore(library.db).versions(draft().name)] == list(range(1, 12))
    assert [event.to_version for event in TemplateStore(library.db).history(draft().name)] == list(range(1, 12))
    rows = logged(library, 100)
    assert {row.request_id for row in rows} == {f"{number}.{turn}" for number in (0, 2) for turn in range(5)}


def test_5_a_clock_set_back(url: str, outside: Counted) -> None:
    """Versions, labels and rows keep the order in which they were accepted, whatever the clock said."""
    with opened(url, outside=outside) as library:
        published(library)
        library.prepare(ask(text="a boat", values={"subject": "x"}, request_id="one"))
        outside.moment -= timedelta(days=400)
        library.authoring.add_version(draft(text="later {{subject}}"))
        library.authoring.publish(draft().name, force=True)
        found = library.prepare(ask(text="a boat", values={"subject": "x"}, request_id="two"))
        assert found.rendered is not None
        assert found.rendered.text == "later x"
        assert [event.to_version for event in TemplateStore(library.db).history(draft().name)] == [1, 2]
        assert [row.request_id for row in logged(library)] == ["two", "one"]


# ---------------------------------------------------------------------------------------------------------------- 6: variables


LITERALS = (
    "{{subject}}",
    "{{x}}",
    "$1 $& $$",
    r"\1 \g<0> \\",
    "%s {0} {}",
    "{% now %}",
    "{{{x}}}",
    "{{#a}}{{/a}}",
    "\\{{",
    "'\"<&>",
)


@pytest.mark.parametrize("syntax", ["mustache", "liquid"])
def test_6_values_are_literal(library: Library, syntax: Any) -> None:
    """Whatever a value looks like, it is put in as it is, once."""
    names = [f"v{number}" for number in range(len(LITERALS))]
    text = "|".join(f"{{{{{name}}}}}" for name in names)
    published(library, text=text, syntax=syntax, variables=tuple(Variable(name=name) for name in names))
    values = dict(zip(names, LITERALS, strict=True))
    assert library.render(ask(values=values)).rendered.text == "|".join(LITERALS)


def test_6_missing_values_are_listed(library: Library) -> None:
    """All required variables without a value, in their order, as a 422."""
    names = tuple(Variable(name=name, required=name != "c") for name in "abcd")
    published(library, text="{{a}}{{b}}{{c}}{{d}}", variables=names)
    with pytest.raises(MissingVariablesError) as caught:
        library.render(ask(values={"b": "x", "d": None}))
    assert (caught.value.missing, caught.value.http_status) == (("a", "d"), 422)


@pytest.mark.parametrize(
    ("text", "names", "code"), [("{{a}}{{b}}", "a", "undeclared"), ("{{a}}", "ab", "unused"), ("{{a", "a", "syntax")]
)
def test_6_found_when_publishing(library: Library, text: str, names: str, code: str) -> None:
    """Undeclared and unused variables stop a publication, which moves no label."""
    made = draft(text=text, variables=tuple(Variable(name=name) for name in names))
    library.authoring.create(made)
    with pytest.raises(InvalidTemplateError) as caught:
        library.authoring.publish(made.name)
    assert code in {problem.code for problem in caught.value.problems}
    assert TemplateStore(library.db).history(made.name) == ()


# ------------------------------------------------------------------------------------------------------------------- 7: budgets


@pytest.mark.parametrize("template", packaged().labelled, ids=lambda row: row.version.name)
def test_7_prompts_of_every_template_fit(template: Any) -> None:
    """Compressed to a template's budget, a prompt fits, keeps who and what, and lists all that went."""
    budget = min(template.version.token_limit, CLIP.limit_usable)
    measure = CLIP.measure()
    words = "golden light over the quiet harbour while gulls circle and ropes creak"
    parts = [Segment("an old fisherman", Role.IDENTITY), Segment("mending a net", Role.ACTION)]
    parts += [
        Segment(f"{role} {number} {words}", role)
        for role in Role
        for number in range(3)
        if role not in {"identity", "action"}
    ]
    done = compress(parts, budget, measure)
    assert measure.count(done.text) == done.tokens <= budget
    assert "an old fisherman" in done.text
    assert "mending a net" in done.text
    gone = {drop.place for drop in done.dropped if drop.reason in {"budget", "duplicate", "empty"}}
    assert len(done.segments) + len(gone) == len(parts)
    for drop in done.dropped:
        assert drop.text in parts[drop.place].text


def test_7_the_answer_of_a_template_keeps_its_budget(library: Library) -> None:
    """A prepared request never promises more to its target than CLIP reads."""
    prepared = library.prepare(ask(text="a boat " * 200, target_budget=500))
    assert prepared.budget is not None
    assert prepared.budget.target <= CLIP.limit_usable


# ---------------------------------------------------------------------------------------------------------------- 8: the window


def test_8_five_hundred_messages(library: Library) -> None:
    """A stored conversation of 500: the newest turns are sent, the current message once, equal ones kept."""
    provider = ProviderStore(library.db).add({"name": "p"})
    row = {"model_key": "small", "modality": "chat", "provider_id": provider.id, "context_window": 1500}
    ModelStore(library.db).add(row)
    store = ConversationStore(library.db)
    here = store.create({}).id
    with library.db.transaction():
        for number in range(500):
            store.append(here, "user" if number % 2 else "assistant", "Yes." if number % 5 == 0 else f"Turn {number}.")
    published(library, text="Chat.", variables=(), use_case="chat", job_type="chat", target_model=None, token_limit=400)
    library.refresh()
    history = tuple(Message(role=found.role, content=found.content) for found in store.newest(here, 500))
    request = ask(use_case="chat", job_type="chat", target_model="small", text="And now?", history=history)
    prepared = library.prepare(request)
    sent = [message.content for message in prepared.messages]
    assert sent[0] == "Chat."
    assert sent[-2:] == ["Turn 499.", "And now?"]
    assert sent.count("And now?") == 1
    assert sent[1:-1] == [message.content for message in history[-(len(sent) - 2) :]]
    assert sent.count("Yes.") > 1
    assert len(sent) - 2 + len(prepared.evicted) == 500
    assert prepared.input_tokens + 400 <= 1500


# ------------------------------------------------------------------------------------------------------------------ 12: secrets


def test_12_secrets_are_nowhere(library: Library, tmp_path: Path) -> None:
    """A secret is in no row, log, error, export or snapshot, nor in the database's bytes."""
    from innkeeper.library.transfer.exporting import export_library
    from innkeeper.library.transfer.format import dumps

    secret = "sk-very-secret-8472"
    keys = FileKeys(tmp_path / "key")
    keys.store(KeyRing([VaultKey.fresh()]))
    vault = Vault(library.db, keys)
    vault.set("OPENROUTER", secret, who="ann")
    published(library)
    library.prepare(ask(text="a boat", values={"subject": "x"}))
    with pytest.raises(InnkeeperError) as caught:
        vault.set("bad name!", secret)
    told = [str(caught.value), json.dumps(caught.value.to_dict()), dumps(export_library(library.db)).decode()]
    told += [repr(vault.list()), str(library.metrics), repr(library.catalogue)]
    for table in ("secrets", "audit_events", "enhancement_logs", "settings"):
        told.append(repr(query(library.db, f"SELECT * FROM {table}").rows))
    SnapshotFile(tmp_path / "snapshot.json").store(library.catalogue)
    told.append((tmp_path / "snapshot.json").read_text())
    assert not any(secret in text for text in told)
    if library.db.target.path is not None:
        assert not any(secret.encode() in file.read_bytes() for file in library.db.target.path.parent.glob("*.db*"))


def test_12_the_password_of_a_database_is_nowhere() -> None:
    """An error about a server that does not answer names it without its password."""
    with pytest.raises(InnkeeperError) as caught, opened("postgresql://ann:hunter2@127.0.0.1:1/none", strict=True):
        pass
    assert "hunter2" not in str(caught.value) + json.dumps(caught.value.to_dict(), default=str)


def test_no_function_of_the_gate_takes_a_way_around() -> None:
    """Whatever a caller says of a tier, a policy and ceilings: ages in an adult context are a block (S1)."""
    from innkeeper.gate.detector import default_detector

    found = default_detector().scan(BAD)
    for enabled, asked in itertools.product((True, False), ("sfw", "nsfw", None, object())):
        policy = TierPolicy(adult_enabled=enabled, sfw={}, nsfw={})
        every = Ceilings(*[Tier.NSFW] * len(Ceilings.__struct_fields__))
        decision = effective_tier(asked, every, policy=policy, detection=found)
        assert (decision.decision, decision.passed) == (Decision.BLOCK, False)
    assert TemplateKey.of("chat").content_mode is Tier.SFW
