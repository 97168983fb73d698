"""Bodies of media requests: what a model takes, the nearest where it does not, and a note for each difference."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.gate.tier import Tier
from innkeeper.jobs.job import Mode
from innkeeper.jobs.limits import MAX_PICTURES, MAX_PIXELS
from innkeeper.jobs.media import MediaRequest, MediaRequestError, build, pictures_read
from innkeeper.library.catalogue.rows import CatalogueModel, read_row
from innkeeper.prompt.errors import LimitError, Where

SCHEMA: dict[str, Any] = {
    "prompt": {"type": "string", "required": True},
    "negative_prompt": {"type": "string"},
    "seed": {"type": "integer", "min": 0, "max": 2**31 - 1},
    "num_images": {"type": "integer", "min": 1, "max": 4},
    "num_inference_steps": {"type": "integer", "min": 1, "max": 50},
    "guidance_scale": {"type": "number", "min": 1, "max": 20},
    "image_size": {"type": "string", "options": ["square_hd", "landscape_16_9", "portrait_16_9"]},
    "image_urls": {"type": "array"},
    "strength": {"type": "number", "min": 0.1, "max": 1},
    "scheduler": {"type": "string", "options": ["euler", "ddim"]},
    "enable_safety_checker": {"type": "boolean", "default": True},
    "off": {"type": "string", "active": False},
}
MODEL: dict[str, Any] = {
    "input_defaults": {"num_inference_steps": 28, "prompt": "", "enable_safety_checker": False, "gone": 1}
}


def model_row(**columns: Any) -> CatalogueModel:
    """A row of the catalogue with these columns."""
    return read_row({"model_key": "m", **columns}, CatalogueModel)


def made(wanted: MediaRequest, schema: dict[str, Any] | None = SCHEMA, tier: Tier = Tier.SFW, **more: Any) -> Any:
    """The body and its notes."""
    capabilities = {**more, **({} if schema is None else {"input_schema": schema})}
    return build(wanted, model_row(**MODEL, capabilities=capabilities), tier)


@dataclass
class Case:
    """A field, what is sent for it, and whether there is a note."""

    name: str
    asked: dict[str, Any]
    sent: dict[str, Any]
    noted: tuple[str, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)
    schema: dict[str, Any] | None = None


CASES = [
    Case("seed 0 is a seed", {"seed": 0}, {"seed": 0}),
    Case("a seed too large", {"seed": 2**31 + 5}, {"seed": 5}, ("seed",)),
    Case("two are two", {"count": 2}, {"num_images": 2}),
    Case("as many as it makes", {"count": 9}, {"num_images": 4}, ("num_images",)),
    Case("a default of the row", {}, {"num_inference_steps": 28}),
    Case("steps", {"steps": 80}, {"num_inference_steps": 50}, ("num_inference_steps",)),
    Case("guidance", {"guidance": 0.5}, {"guidance_scale": 1}, ("guidance_scale",)),
    Case("a shape", {"aspect_ratio": "16:9"}, {"image_size": "landscape_16_9"}),
    Case("the nearest shape", {"width": 1200, "height": 1000}, {"image_size": "square_hd"}, ("image_size",)),
    Case("a list of pictures", {"image": "https://a/b", "mode": Mode.I2I}, {"image_urls": ["https://a/b"]}),
    Case("an option", {"extra": {"scheduler": "EULER"}}, {"scheduler": "euler"}),
    Case("no such option", {"extra": {"scheduler": "magic"}}, {"scheduler": "euler"}, ("scheduler",)),
    Case("no such input", {"extra": {"lora": "x"}}, {"lora": None}, ("lora",)),
    Case("an input that is off", {"extra": {"off": "x"}}, {"off": None}, ("off",)),
    Case("no such field", {"duration": 3}, {"duration": None}, ("duration",)),
    Case("another prompt", {"extra": {"prompt": "other"}}, {"prompt": "a barn"}, ("prompt",)),
    Case("its own name", {"steps": 7}, {"n_steps": 7}, (), {"input_key_mappings": {"steps": "n_steps"}}, {"n_steps": {}}),
    Case("a range beside", {"steps": 99}, {"steps": 60}, ("steps",), {"input_ranges": {"steps": {"max": 60}}}, {"steps": {}}),
    Case("frames", {"duration": 2, "mode": Mode.T2V}, {"num_frames": 33}, ("num_frames",), {},
         {"num_frames": {"type": "integer", "min": 9, "max": 121, "multipleOf": 8, "offset": 1}}),
    Case("frames by itself", {"mode": Mode.T2V}, {"num_frames": 16}, (), {}, {"num_frames": {"default": 16}}),
    Case("resolutions", {"extra": {"resolution": "500p"}}, {"resolution": "480p"}, ("resolution",), {},
         {"resolution": {"options": ["480p", "720p"]}}),
    Case("a ratio for sides", {"width": 1600, "height": 900}, {"aspect_ratio": "16:9"}, ("aspect_ratio",), {},
         {"aspect_ratio": {"options": ["1:1", "16:9"]}}),
    Case("sides for a ratio", {"aspect_ratio": "1:1"}, {"width": 1024, "height": 1024}, (), {},
         {"width": {"type": "integer"}, "height": {"type": "integer"}}),
    Case("a text of a number", {"seed": 5}, {"seed": "5"}, (), {}, {"seed": {"type": "string"}}),
    Case("a size of two", {"width": 100, "height": 50}, {"image_size": {"width": 100, "height": 50}}, (), {},
         {"image_size": {"type": "object"}}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fields(case: Case) -> None:
    """A field goes by the model's name, as the nearest value that it takes; whatever is another value has a note."""
    wanted = MediaRequest(**{"prompt": "a barn", **case.asked})
    built = made(wanted, SCHEMA if case.schema is None else {"prompt": {}, **case.schema}, **case.more)
    assert {name: built.body.get(name) for name in case.sent} == case.sent
    assert {note.parameter for note in built.notes} == set(case.noted)


def test_no_schema() -> None:
    """Where a row has no schema, fields go by their usual names as they are."""
    wanted = MediaRequest(prompt="a barn", seed=0, count=2, width=10, height=20, guidance=3.5, extra={"x": 1})
    built = made(wanted, None)
    assert built.body == {
        "prompt": "a barn",
        "seed": 0,
        "num_images": 2,
        "width": 10,
        "height": 20,
        "guidance_scale": 3.5,
        "x": 1,
        "num_inference_steps": 28,
        "gone": 1,
    }
    assert not built.notes


@given(
    asked=st.dictionaries(
        st.sampled_from(["enable_safety_checker", "disable_safety_checker", "safety_tolerance", "safety_checker"]),
        st.sampled_from([True, False, 0, 6, "6", None]),
    ),
    default=st.booleans(),
    may=st.sampled_from([None, False, "yes", 1]),
    tier=st.sampled_from(list(Tier)),
)
def test_safety_is_not_the_clients(asked: dict[str, Any], default: bool, may: Any, tier: Tier) -> None:
    """Whatever a request and the row's defaults say, the checker is on, unless the tier and the operator's row allow less."""
    schema = {
        **SCHEMA,
        "disable_safety_checker": {"type": "boolean"},
        "safety_tolerance": {"type": "string", "min": 1, "max": 6, "default": "2"},
    }
    capabilities = {"input_schema": schema, "safety_checker_may_be_off": may}
    row = {"input_defaults": {"enable_safety_checker": default}, "capabilities": capabilities}
    body = build(MediaRequest(prompt="a barn", extra=asked), model_row(**row), tier).body
    assert (body["enable_safety_checker"], body["disable_safety_checker"]) == (True, False)
    assert body["safety_tolerance"] == "1"
    allowed = {**row, "capabilities": {**capabilities, "safety_checker_may_be_off": True}}
    lowered = build(MediaRequest(prompt="a barn", extra=asked), model_row(**allowed), tier).body
    assert lowered["enable_safety_checker"] is (tier is Tier.SFW)


def test_refused() -> None:
    """What a model cannot be asked is refused before anything is sent, naming what is missing."""
    with pytest.raises(MediaRequestError, match="reads 5"):
        made(MediaRequest(prompt="a barn"), char_limit=5)
    with pytest.raises(MediaRequestError) as needed:
        made(MediaRequest(prompt="a barn"), {**SCHEMA, "image_urls": {"type": "array", "required": True}})
    assert needed.value.missing_fields == ("image_urls",)
    with pytest.raises(MediaRequestError, match="takes integer"):
        made(MediaRequest(prompt="a barn", extra={"num_inference_steps": "many"}))
    with pytest.raises(MediaRequestError, match="takes boolean"):
        made(MediaRequest(prompt="a barn", extra={"flag": 1}), {"prompt": {}, "flag": {"type": "boolean"}})
    with pytest.raises(MediaRequestError, match="takes integer"):
        made(MediaRequest(prompt="a barn", extra={"num_images": True}))
    with pytest.raises(MediaRequestError, match="empty"):
        MediaRequest(prompt=" ").checked()
    with pytest.raises(MediaRequestError, match="to start from"):
        MediaRequest(prompt="a", mode=Mode.I2V).checked()
    with pytest.raises(LimitError):
        MediaRequest(prompt="a", count=0).checked()


SEVERAL = {"input_schema": {"prompt": {"type": "string"}, "image_urls": {"type": "array", "maxItems": 3}}}


def test_several_pictures() -> None:
    """Further pictures go after the first, in their order, to a model that reads so many; to others they are refused."""
    request = MediaRequest(prompt="x", mode=Mode.I2I, image="https://a/1", references=("https://a/2",)).checked()
    assert request.pictures == ("https://a/1", "https://a/2")
    assert build(request, model_row(capabilities=SEVERAL), Tier.SFW).body["image_urls"] == [
        "https://a/1",
        "https://a/2",
    ]
    assert (pictures_read(SEVERAL), pictures_read({}), pictures_read({"input_schema": {"image_url": {}}})) == (3, 1, 1)
    assert pictures_read({"input_schema": {"images": {}}}) == MAX_PICTURES
    others: tuple[dict[str, Any], ...] = ({"input_schema": {"image_url": {}}}, {"input_schema": {"prompt": {}}}, {})
    for capabilities in others:
        with pytest.raises(MediaRequestError, match="reads 1 pictures"):
            build(request, model_row(capabilities=capabilities), Tier.SFW)
    many = MediaRequest(prompt="x", mode=Mode.I2I, image="https://a/1", references=("https://a/2",) * 3)
    with pytest.raises(MediaRequestError, match="reads 3 pictures"):
        build(many, model_row(capabilities=SEVERAL), Tier.SFW)


@pytest.mark.parametrize(("mode", "other"), [(Mode.T2I, "i2i"), (Mode.T2V, "i2v")])
def test_a_picture_that_nothing_starts_from_is_refused(mode: Mode, other: str) -> None:
    """It is not thrown away without a word: the error names the mode that starts from one."""
    with pytest.raises(MediaRequestError) as refused:
        MediaRequest(prompt="x", mode=mode, image="https://a/1").checked()
    assert refused.value.where == Where(path="image")
    assert other in str(refused.value.hint)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("width", -4),
        ("height", 0),
        ("steps", 0),
        ("guidance", -1.0),
        ("duration", -2.0),
        ("fps", -1.0),
        ("strength", 1.5),
        ("strength", -0.1),
    ],
)
def test_values_out_of_range_are_refused(field: str, value: float) -> None:
    """What no picture can have is refused at the door, with its field, and reaches no provider."""
    wrong: dict[str, Any] = {field: value}
    with pytest.raises(MediaRequestError) as refused:
        MediaRequest(prompt="x", **wrong).checked()
    assert refused.value.where == Where(path=field)


def test_a_size_that_no_row_bounds_is_bounded_here() -> None:
    """A model whose row says nothing of sizes is sent the nearest that is made, with a note; a seed is folded, with one."""
    made = build(MediaRequest(prompt="x", width=64, height=100_000, seed=2**70), model_row(), Tier.SFW)
    assert (made.body["width"], made.body["height"], made.body["seed"]) == (64, MAX_PIXELS, 0)
    assert {note.parameter for note in made.notes} == {"height", "seed"}


def test_pictures_refused() -> None:
    """Further pictures need a first one, and there are so many at most."""
    with pytest.raises(MediaRequestError, match="go with a first"):
        MediaRequest(prompt="x", references=("https://a/2",)).checked()
    with pytest.raises(LimitError, match="MAX_PICTURES"):
        MediaRequest(prompt="x", image="https://a/1", references=("https://a/2",) * MAX_PICTURES).checked()
