"""ModelFacts: what a model's row says, and what is taken where it says nothing."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.library.catalogue.catalogue import Catalogue
from innkeeper.library.models.facts import ceilings_of, facts_of, negative_rows, require_known
from innkeeper.library.models.measure import CLIP, TokenizerSpec
from innkeeper.library.tier import Ceilings, Tier
from innkeeper.prompt.errors import UnknownNameError


def catalogue(**row: Any) -> Catalogue:
    """A catalogue with one model."""
    model = {"model_key": "m", "modality": "image", "provider_id": "p", **row}
    return Catalogue.build((), tables={"models": [model], "providers": [{"id": "p", "tier_ceiling": "sfw"}]})


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
    assert facts_of(catalogue(), "other").measured(9).limit_usable == 9
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
    assert len(negative_rows(Catalogue.build((), tables={"negatives": rows}))) == 1
