"""Specs of tokenizers: what measures a text, how far it may be off, and limits that leave room."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.gate.tier import Ceilings, Tier
from innkeeper.library.catalogue.catalogue import Catalogue
from innkeeper.library.catalogue.rows import CatalogueModel, CatalogueNegative, CatalogueProvider, catalogue_rows
from innkeeper.library.models.facts import (
    CLIP,
    Measure,
    TokenizerSpec,
    ceilings_of,
    facts_of,
    join_negatives,
    require_known,
)
from innkeeper.prompt.errors import ConfigError, UnknownNameError
from innkeeper.tokens import VOCABULARIES, Counter
from innkeeper.tokens.table.vocabulary import Vocabularies

BARE = Counter(vocabularies=Vocabularies(*(v for v in VOCABULARIES.values() if v.name != "clip")))
"""A counter without the vocabulary of CLIP."""


def test_characters_are_counted_as_such() -> None:
    """A provider that limits characters is measured in them."""
    measure = TokenizerSpec("chars", limit_usable=8000).measure()
    assert (measure.count("naïve"), measure.exact) == (5, True)


def test_chat_models_are_counted_by_their_own() -> None:
    """A byte-pair spec counts as its model does."""
    assert TokenizerSpec("bpe", "gpt-4o", 1000).measure().count("The lamp is lit.") == 5


def test_an_estimate_says_how_far_it_may_be_off() -> None:
    """Without the vocabulary a named estimate with its error counts, and budgets use its upper edge."""
    measure = CLIP.measure(BARE)
    assert (measure.exact, measure.error_percent) == (False, 30)
    assert measure.name.startswith("heuristic")
    text = "a quiet harbour at dawn, soft light, wide view"
    assert measure.most(text) == -(-measure.count(text) * 130 // 100)


def test_an_unknown_error_adds_nothing() -> None:
    """Where nobody knows the error, the count is all there is."""
    assert Measure("mine", len, None).most("four") == 4


@pytest.mark.parametrize(("limit", "reserve"), [(0, 0), (75, 75), (75, -1)])
def test_limits_must_leave_room(limit: int, reserve: int) -> None:
    """A spec without room is refused when it is made."""
    with pytest.raises(ConfigError):
        TokenizerSpec("clip", "clip", limit, reserve)


def test_windows() -> None:
    """Only a runtime that reads several windows has more than one."""
    assert [CLIP.windows(size) for size in (0, 75, 76)] == [1, 1, 1]
    compel = TokenizerSpec("clip", "clip", 75, chunking="compel")
    assert [compel.windows(size) for size in (0, 75, 76, 151)] == [1, 1, 2, 3]


WORDS = Measure("words", lambda text: len(text.split()))


def row(text: str, priority: int = 1, **more: object) -> CatalogueNegative:
    """A row for SDXL in the general tier."""
    row_id = str(more.pop("id", text))
    return CatalogueNegative(id=row_id, model_type="sdxl", negative_prompt=text, priority=priority, **more)  # type: ignore[arg-type]


ROWS = (
    row("jpeg artifacts", 3),
    row("blurry", 1),
    row("worst quality", 2),
    row("bad anatomy", 4),
    row("off", 0, is_active=False),
    row("grain", 1, generation_mode="i2i"),
    CatalogueNegative(id="other", model_type="wan", negative_prompt="static"),
    row("adult row", 1, content_mode=Tier.NSFW),
)


def test_lower_numbers_come_first() -> None:
    """The most important fragments are first, since a full window loses its end."""
    done = join_negatives(ROWS, "sdxl", Tier.SFW, "txt2img")
    assert done.text == "blurry, worst quality, jpeg artifacts, bad anatomy"
    assert [fragment.priority for fragment in done.kept] == [1, 2, 3, 4]
    assert (done.tier, done.skipped, done.dropped) == (Tier.SFW, "", ())
    assert done.tokens == CLIP.measure().count(done.text)


def test_equal_priorities_are_in_the_order_of_ids() -> None:
    """The same table gives the same prompt, whatever order its rows are read in."""
    rows = [row("b", id="2"), row("a", id="1")]
    assert join_negatives(rows, "sdxl", Tier.SFW, "txt2img").text == "a, b"
    assert join_negatives(rows[::-1], "sdxl", Tier.SFW, "txt2img").text == "a, b"


@pytest.mark.parametrize(
    ("tier", "mode", "text", "used"),
    [
        (Tier.NSFW, "txt2img", "adult row", Tier.NSFW),
        (Tier.NSFW, "i2i", "grain", Tier.SFW),
        (Tier.SFW, "i2i", "grain", Tier.SFW),
        (Tier.SFW, "inpaint", "", None),
    ],
    ids=["own tier", "falls to general", "own mode", "nothing"],
)
def test_fallback_goes_down_only(tier: Tier, mode: str, text: str, used: Tier | None) -> None:
    """The tier's rows, else the general tier's of the same family and mode, else none."""
    done = join_negatives(ROWS, "sdxl", tier, mode, measure=WORDS)
    assert (done.text, done.tier, bool(done.skipped)) == (text, used, not text)


def test_a_general_request_never_takes_an_adult_row() -> None:
    """Even when no other row is left."""
    done = join_negatives([row("adult row", content_mode=Tier.NSFW)], "sdxl", Tier.SFW, "txt2img")
    assert (done.text, done.skipped) == ("", "no_rows")


def test_an_image_takes_three() -> None:
    """Image to image: three fragments, the rest is listed."""
    rows = [row("blurry, worst quality", 1, generation_mode="i2i"), row("a, b", 2, generation_mode="i2i", id="x")]
    done = join_negatives(rows, "sdxl", Tier.SFW, "i2i", user_text="c", measure=WORDS)
    assert done.text == "blurry, worst quality, a"
    assert [(d.fragment.text, d.reason) for d in done.dropped] == [("b", "i2i_limit"), ("c", "i2i_limit")]


def test_repeats_are_left_out() -> None:
    """Of two that differ in case or spaces only, the first stays."""
    done = join_negatives(
        [row("Blurry, soft", 1), row("blurry ,  SOFT", 2)], "sdxl", Tier.SFW, "txt2img", user_text="soft"
    )
    assert done.text == "Blurry, soft"
    assert [d.reason for d in done.dropped] == ["duplicate"] * 3


def test_weights_in_brackets_are_one_fragment() -> None:
    """A comma in brackets parts nothing, and a bracket left open ends with the text."""
    done = join_negatives([row("(blurry, soft:1.2), ), (open, end", 1)], "sdxl", Tier.SFW, "txt2img", measure=WORDS)
    assert [fragment.text for fragment in done.kept] == ["(blurry, soft:1.2)", ")", "(open, end"]


def test_the_window_is_kept() -> None:
    """What does not fit is listed; what is smaller and comes later still may."""
    spec = TokenizerSpec("clip", "clip", 5, reserve=1)
    done = join_negatives(
        [row("a b", 1), row("c d e", 2), row("f g", 3)], "sdxl", Tier.SFW, "txt2img", spec=spec, measure=WORDS
    )
    assert (done.text, done.tokens) == ("a b, f g", 4)
    assert [(d.fragment.text, d.reason) for d in done.dropped] == [("c d e", "budget")]


def test_clip_prompts_fit_their_window() -> None:
    """Counted by CLIP's own vocabulary, a hundred rows give at most 75."""
    done = join_negatives([row(f"fault number {n}", n) for n in range(100)], "sdxl", Tier.SFW, "txt2img")
    assert 60 < done.tokens <= 75


def test_models_without_such_an_input_are_skipped() -> None:
    """The reason says why there is none."""
    done = join_negatives(ROWS, "sdxl", Tier.SFW, "txt2img", spec=None, user_text="mine")
    assert (done.text, done.kept, done.skipped) == ("", (), "no_negative_input")


def test_the_users_own_come_last() -> None:
    """They have no row."""
    done = join_negatives([row("blurry")], "sdxl", Tier.SFW, "txt2img", user_text="fog,, rain")
    assert [(fragment.text, fragment.row) for fragment in done.kept] == [
        ("blurry", "blurry"),
        ("fog", ""),
        ("rain", ""),
    ]


def catalogue(**row: Any) -> Catalogue:
    """A catalogue with one model."""
    model = {"model_key": "m", "modality": "image", "provider_id": "p", **row}
    return Catalogue.build(
        (),
        models=catalogue_rows([model], CatalogueModel),
        providers=catalogue_rows([{"id": "p", "tier_ceiling": "sfw"}], CatalogueProvider),
    )


def test_a_row_counts() -> None:
    """Family, window, tokenizer, limits and inputs are those of the row."""
    spec = {"kind": "clip", "id": "clip", "limit_usable": 75}
    found = facts_of(
        catalogue(model_family="sdxl", context_window=99, tokenizer=spec, capabilities={"char_limit": 500}), "m"
    )
    assert (found.family, found.window, found.char_limit, found.known) == ("sdxl", 99, 500, True)
    assert found.measured(9) == TokenizerSpec("clip", "clip", 75)
    assert found.negative
    assert found.visual


@pytest.mark.parametrize(
    ("capabilities", "takes"),
    [({}, True), ({"negative_prompt": False}, False), ({"input_schema": {"prompt": {}}}, False)],
    ids=["nothing said", "said", "not in the schema"],
)
def test_negative_input(capabilities: dict[str, Any], *, takes: bool) -> None:
    """Whether a model takes negative prompts is what its capabilities say."""
    assert facts_of(catalogue(capabilities=capabilities), "m").negative is takes


def test_what_says_nothing() -> None:
    """A model without a row may be a family; a tokenizer or limit that cannot be read is as none."""
    assert facts_of(catalogue(), "sdxl", job_type="image").measured(9) is CLIP
    assert facts_of(catalogue(), "other").measured(9) == TokenizerSpec("bpe", "other", 9)
    assert facts_of(catalogue(), "other").measured(None) is None
    odd = facts_of(catalogue(tokenizer={"kind": "abacus"}, capabilities={"char_limit": "many"}), "m")
    assert (odd.spec, odd.char_limit) == (None, None)
    assert facts_of(catalogue(tokenizer={"kind": "clip", "limit_usable": 0}), "m").spec is None


def test_ceilings() -> None:
    """The lowest of what is given and what rows say; rows can only lower."""
    given = Ceilings(account=Tier.NSFW, model=Tier.NSFW)
    found = ceilings_of(catalogue(tier_ceiling="nsfw"), given, ("m", None, " "))
    assert (found.model, found.provider, found.account) == (Tier.NSFW, Tier.SFW, Tier.NSFW)
    assert ceilings_of(Catalogue(), Ceilings(), ("m",)) == Ceilings()
    for name in ("other", " m", "M"):
        assert ceilings_of(catalogue(tier_ceiling="nsfw"), given, ("m", name)).model is Tier.SFW
    family = catalogue(tier_ceiling="sfw", model_family="fam")
    assert ceilings_of(family, given, ("fam",)).model is Tier.SFW


def test_known_models() -> None:
    """A model that is neither a row nor a family is an error with near names; of an empty catalogue nothing is asked."""
    rows = catalogue(model_family="sdxl")
    require_known(rows, "sdxl")
    require_known(rows, "m")
    require_known(rows, None)
    require_known(Catalogue(), "anything")
    with pytest.raises(UnknownNameError) as caught:
        require_known(rows, "sdx")
    assert caught.value.hint == "did you mean 'sdxl'?"


def test_rows_of_no_known_tier_are_left_aside() -> None:
    """A fragment whose tier is not known is never taken for a general one."""
    row = {"id": "1", "model_type": "x", "negative_prompt": "y", "generation_mode": "txt2img", "priority": 1}
    rows = [{**row, "content_mode": mode, "is_active": True} for mode in ("sfw", "odd")]
    assert len(Catalogue.build((), negatives=catalogue_rows(rows, CatalogueNegative)).negatives) == 1
