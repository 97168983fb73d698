"""The safety rules S1 to S10 of the dynamic-prompting reference (§0.1), as properties: of rows, labels, fallbacks, caches, jobs.

What they say of one path alone stands with its tests; here is what no row, label, cache or request can get around.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from innkeeper.gate.detector import default_detector
from innkeeper.gate.gate import AgeVerification, TierPolicy
from innkeeper.gate.tier import Ceilings, Decision, Tier, effective_tier
from innkeeper.inference.fake import EchoServer, FakeReply
from innkeeper.inference.routing.price import Price
from innkeeper.jobs.media import SAFETY, MediaRequest, MediaRequestError, build
from innkeeper.library.catalogue.catalogue import AnswerSource, Catalogue
from innkeeper.library.catalogue.resolver import ResolveRequest, resolve
from innkeeper.library.catalogue.rows import CatalogueModel, read_row
from innkeeper.library.db.engine import Database
from innkeeper.library.errors import TierBlockedError
from innkeeper.library.library import Library
from innkeeper.library.prepare.request import PrepareRequest
from innkeeper.library.templates.template import Labelled
from innkeeper.operations.tasks.execution import TextTask
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.message import Message
from tests.library import drawing
from tests.library.drafts import draft
from tests.library.opening import ADULT, ask, opened, published
from tests.operations.tasks.house import deployment, run

ADULTS = TierPolicy(adult_enabled=True)
FORBIDDEN = st.sampled_from(
    ["a nude 15 year old", "a naked child", "sexual, aged 14", "an erotic schoolgirl of thirteen"]
)
INNOCENT = st.lists(
    st.sampled_from(
        [
            "class",
            "classic",
            "museum",
            "medical",
            "anatomy",
            "history",
            "penguins",
            "Essex",
            "doctor",
            "assassin",
            "art",
            "lesson",
        ]
    ),
    max_size=12,
).map(" ".join)
TIERS = st.sampled_from([None, *Tier])
CEILINGS = st.builds(Ceilings, account=TIERS, workspace=TIERS, character=TIERS, scene=TIERS, region=TIERS)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library whose operator allows the adult tier, with one template a tier."""
    path = tmp_path_factory.mktemp("safety") / "library.db"
    Database.open(path).close()
    with opened(str(path), policy=ADULTS) as made:
        for tier in Tier:
            published(made, draft(tier.value, f"{tier.value.upper()} {{{{subject}}}}", content_mode=tier))
        yield made


def _carried(place: str, text: str) -> PrepareRequest:
    """A request that says a text somewhere."""
    ways: dict[str, dict[str, Any]] = {
        "text": {"text": text},
        "value": {"values": {"subject": text}},
        "negative": {"negative": text},
        "history": {"history": (Message("user", text),)},
        "assistant": {"history": (Message("assistant", text),)},
        "overlay": {"overlays": {"ui": text}},
    }
    return ask(**{"values": {"subject": "x"}, **ways[place]})


PLACES = st.sampled_from(["text", "value", "negative", "history", "assistant", "overlay"])


@example(said="a naked child", before="", after="class", place="text", ceilings=Ceilings(), asked="sfw")
@given(
    said=FORBIDDEN,
    before=INNOCENT,
    after=INNOCENT,
    place=PLACES,
    ceilings=CEILINGS,
    asked=st.sampled_from(["sfw", "nsfw"]),
)
def test_s1_a_minor_beside_sexual_content_is_blocked(
    library: Library, said: str, before: str, after: str, place: str, ceilings: Ceilings, asked: str
) -> None:
    """S1, S9: wherever it stands, whatever stands around it, in every tier, under every ceiling; nothing is rendered."""
    request = _carried(place, f"{before}. {said}. {after}")
    with pytest.raises(TierBlockedError):
        library.prepare(msgspec.structs.replace(request, content_mode=asked, ceilings=ceilings), log=False)


@given(
    said=FORBIDDEN,
    policy=st.builds(TierPolicy, adult_enabled=st.booleans(), sfw=st.just({}), nsfw=st.just({})),
    asked=JSON,
)
def test_s1_no_policy_turns_it_off(said: str, policy: TierPolicy, asked: Any) -> None:
    """S1: an operator's policy without a single threshold blocks it as well."""
    every = Ceilings(*[Tier.NSFW] * len(Ceilings.__struct_fields__))
    decision = effective_tier(asked, every, policy=policy, detection=default_detector().scan(said))
    assert (decision.decision, decision.passed) == (Decision.BLOCK, False)


@given(text=WORDS, value=WORDS)
def test_s2_no_word_is_changed(library: Library, text: str, value: str) -> None:
    """S2: what passes is sent letter for letter."""
    try:
        prepared = library.prepare(ask(text=text, values={"subject": value}), log=False)
    except TierBlockedError:
        assume(False)  # a text drawn by chance that the gate stops is another property's
    assert prepared.messages[0].content == f"SFW {value}"
    assert [message.content for message in prepared.messages[1:]] == ([text] if text else [])


@settings(max_examples=10)
@given(text=WORDS.filter(str.strip))
def test_s3_refusals_are_told_as_they_are(library: Library, text: str) -> None:
    """S3: word for word, marked as a refusal, and nobody else is asked."""
    task = TextTask(prompt=ask(text="a boat", values={"subject": "x"}))
    with EchoServer(FakeReply(content=text, finish_reason="content_filter")) as server, EchoServer("Yes!") as other:
        first, second = deployment(server, "there/first", price=Price()), deployment(other, "there/second")
        try:
            answer = run(library, lambda tasks: tasks.run(task), first, second)
        except TierBlockedError:
            assume(False)
        assert not other.requests
    assert (answer.text, answer.refused, answer.finish_reason) == (text, True, "content_filter")


CHECKED = {
    "capabilities": {
        "safety_checker_param": "enable_safety_checker",
        "input_schema": {"prompt": {"type": "string"}, **{name: {"type": "boolean"} for name in sorted(SAFETY)}},
    }
}


@given(
    extra=st.dictionaries(st.sampled_from(sorted(SAFETY)) | WORDS, JSON, max_size=4), tier=st.sampled_from(list(Tier))
)
def test_s4_no_request_sets_the_safety_checker(extra: dict[str, Any], tier: Tier) -> None:
    """S4: it is on, whatever a client sends; only an operator's row may lower it, and only for the adult tier."""
    try:
        body = build(
            MediaRequest(prompt="a barn", extra=extra), read_row({"model_key": "m", **CHECKED}, CatalogueModel), tier
        ).body
    except MediaRequestError:
        return
    assert (body["enable_safety_checker"], body["disable_safety_checker"]) == (True, False)
    lowered = {"model_key": "m", "capabilities": {**CHECKED["capabilities"], "safety_checker_may_be_off": True}}
    allowed = build(MediaRequest(prompt="a barn"), read_row(lowered, CatalogueModel), tier).body
    assert allowed["enable_safety_checker"] is (tier is Tier.SFW)


@given(asked=JSON.filter(lambda value: value != "nsfw"), ceilings=CEILINGS)
def test_s5_what_names_no_tier_is_general(library: Library, asked: Any, ceilings: Ceilings) -> None:
    """S5: missing, unknown and malformed values are the general tier, and so is what answers them."""
    found = library.resolve(ask(content_mode=asked, ceilings=ceilings))
    assert (found.tier.requested, found.tier.effective) == (Tier.SFW, Tier.SFW)
    assert found.resolution.template is not None
    assert found.resolution.template.key.content_mode is Tier.SFW


@given(drawing.rows, drawing.requests, st.sampled_from(list(Tier)), st.sampled_from(drawing.LABELS))
def test_s6_no_row_or_label_raises_a_tier(
    rows: list[Labelled], request: ResolveRequest, ceiling: Tier, label: str
) -> None:
    """S6: from whatever rows, under whatever label, what answers is of the tier of the request or below it."""
    asked = msgspec.structs.replace(request, label=label)
    held = Catalogue.build(rows, ceiling=ceiling, source=AnswerSource.MEMORY)
    for shipped in (None, Catalogue.build(rows, source=AnswerSource.BUILTIN)):
        template = resolve(asked, held, shipped).template
        assert template is None or template.key.content_mode.rank <= asked.content_mode.rank


@given(
    st.lists(
        st.tuples(st.sampled_from(["sfw", "nsfw", "NSFW", None]), st.sampled_from([Ceilings(), ADULT]), WORDS),
        max_size=6,
    )
)
def test_s6_caches_keep_tiers_apart(library: Library, asked: list[tuple[Any, Ceilings, str]]) -> None:
    """S6: after whatever was asked before, an answer is that of a library that was asked nothing."""
    for mode, ceilings, value in asked:
        request = ask(content_mode=mode, ceilings=ceilings, values={"subject": value}, text="a boat")
        try:
            rendered = library.render(request).rendered
        except TierBlockedError:
            continue
        adult = mode == "nsfw" and ceilings is ADULT
        assert rendered is not None
        assert rendered.text in {f"{'NSFW' if adult else 'SFW'} {value}", f"SFW {value}"}


@given(name=WORDS.filter(str.strip), field=st.sampled_from(["target_model", "target_family", "enhancer_model"]))
def test_s7_no_name_gives_a_tier(library: Library, name: str, field: str) -> None:
    """S7: a name that the catalogue does not know gives no tier that was not granted, whichever field says it."""
    try:
        found = library.resolve(ask(**{"content_mode": "sfw", "ceilings": ADULT, field: name}))
    except InnkeeperError:
        return
    assert found.tier.effective is Tier.SFW
    assert found.resolution.template is None or found.resolution.template.key.content_mode is Tier.SFW


NOW = datetime(2026, 1, 1, tzinfo=UTC)
MOMENTS = st.sampled_from([NOW - timedelta(days=1), NOW, NOW + timedelta(days=1), datetime(2027, 1, 1)])  # noqa: DTZ001 - one naive on purpose


@given(
    st.builds(
        AgeVerification,
        verified=st.sampled_from([True, False, 1, "true", None]),
        method=st.sampled_from(["", " ", "document"]),
        expiry=MOMENTS,
        verifier=st.sampled_from(["", "\t", "desk"]),
        since=st.none() | MOMENTS,
    )
)
def test_s8_only_a_whole_record_in_force_verifies(record: AgeVerification) -> None:
    """S8: a boolean is no record: verified, by a method and a verifier, begun, not expired, with moments that mean one."""
    whole = record.verified is True and record.method == "document" and record.verifier == "desk"
    begun = record.since is None or (record.since.tzinfo is not None and record.since <= NOW)
    lasting = record.expiry.tzinfo is not None and record.expiry > NOW
    assert record.holds(NOW) is (whole and begun and lasting)


@given(innocent=INNOCENT, said=FORBIDDEN, innocent_first=st.booleans())
def test_s9_innocent_words_cancel_nothing(innocent: str, said: str, *, innocent_first: bool) -> None:
    """S9: an exception is for the words it matches: everything found in a text is found beside any others, too."""
    detector = default_detector()
    text = f"{innocent}. {said}" if innocent_first else f"{said}. {innocent}"
    alone, beside = detector.scan(said), detector.scan(text)
    assert {span.category for span in alone.spans} <= {span.category for span in beside.spans}


@settings(max_examples=5)
@given(words=st.lists(st.from_regex(r"[a-z]{4,9}", fullmatch=True), min_size=1, max_size=5))
def test_s10_templates_teach_the_gate_nothing(library: Library, words: list[str]) -> None:
    """S10: what an adult template says changes neither the lists, their versions, nor one decision."""
    text = " ".join(words)
    before = library.tier_check({"user_text": text}, "nsfw", ADULT)
    name = "s10-" + "-".join(words)
    made = draft(
        name, f"ADULT {text} {{{{subject}}}}", content_mode="nsfw", use_case="chat", job_type=None, target_model=name
    )
    try:
        published(library, made)
    except TierBlockedError:
        assume(False)
    library.refresh()
    assert library.tier_check({"user_text": text}, "nsfw", ADULT) == before
