"""Scenes end to end: composed, stored with their job, made, gone on from; and what may not be."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from innkeeper.gate.tier import Ceilings, Tier
from innkeeper.inference.fake import Answer, EchoServer, FakeReply
from innkeeper.jobs.assets import FolderAssets
from innkeeper.jobs.media_jobs import MediaJobs
from innkeeper.jobs.runner import Runner
from innkeeper.library.db.owner import Owner
from innkeeper.library.db.rows import AuditStore
from innkeeper.library.errors import ConflictError, NotFoundError, TierBlockedError
from innkeeper.library.library import Library
from innkeeper.library.log.conversations import CharacterStore
from innkeeper.library.log.scenes import SceneStore, SceneTemplateStore
from innkeeper.library.models.stores import ModelStore, ProviderStore
from innkeeper.operations.scenes.figures import numbers_in
from innkeeper.operations.scenes.request import scene_request
from innkeeper.operations.scenes.scenes import ComposedScene, MadeScene, Scenes, SceneTerms
from innkeeper.operations.scenes.state import edited, read_state
from innkeeper.operations.scenes.text import SceneRefusedError
from innkeeper.prompt.errors import InnkeeperError, StrictModeError, UsageError
from tests.operations.tasks.house import deployment, library_at, run

ME = Owner("me")
TOLD = '*Mira walks into the old kitchen and lifts a copper kettle.* "We saw a car in the street," she says.'
GOOD = "[SCENE_NAME: Tea] A woman stands at the counter of a dim kitchen. Steam rises from the kettle beside her."


class House(NamedTuple):
    """A library with a conversation, and jobs that the tiny backend carries out."""

    library: Library
    jobs: MediaJobs
    character: str
    persona: str

    def conversation(self, *texts: str, **values: Any) -> str:
        """A new conversation in which the character has said these."""
        store = self.library.conversations_of(ME)
        row = store.create({"character_id": self.character, "user_character_id": self.persona, **values})
        for text in texts:
            store.append(row.id, "assistant", text)
        return str(row.id)

    def say(self, conversation: str, text: str) -> None:
        """One more message."""
        self.library.conversations_of(ME).append(conversation, "assistant", text)

    def compose(self, owner: Owner = ME, **body: Any) -> ComposedScene:
        """A scene, composed without a model."""
        terms = SceneTerms(owner=owner)
        return asyncio.run(Scenes(self.library, self.jobs).compose(scene_request(body), terms))

    def generate(self, owner: Owner = ME, key: str | None = None, **body: Any) -> MadeScene:
        """A scene, stored with its job."""
        terms = SceneTerms(owner=owner, idempotency_key=key)
        return asyncio.run(Scenes(self.library, self.jobs).generate(scene_request(body), terms))

    def made(self, **body: Any) -> Any:
        """The row of a scene whose picture is there."""
        scene = self.generate(**body)
        Runner(self.jobs).drain(until=scene.job.id)
        return SceneStore(self.library.db, ME).get(scene.scene.id)

    def narrated(self, server: EchoServer, **body: Any) -> ComposedScene:
        """A scene that a model tells."""
        request, terms = scene_request(body), SceneTerms(owner=ME)
        found: ComposedScene = run(
            self.library,
            lambda tasks: Scenes(self.library, self.jobs, tasks).compose(request, terms),
            deployment(server),
        )
        return found

    def audited(self) -> int:
        """How many blocks were recorded."""
        assert self.library.flush()
        return len(AuditStore(self.library.db).newest(1_000, action="tier.block"))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One for all."""
    folder = tmp_path_factory.mktemp("scenes")
    with library_at(folder / "library.db") as library:
        jobs = MediaJobs(library, assets=FolderAssets(Path(folder) / "assets"))
        people = CharacterStore(library.db)
        mira = people.add(
            {
                "name": "Mira",
                "appearance_tags": ["red hair", "freckles", "green cloak"],
                "clothing_tags": ["blue apron"],
                "declared_age": 30,
                "reference_image_url": "https://pictures.example/mira.png?token=1",
                **ME.columns(),
            }
        )
        tom = people.add({"name": "Tom", "appearance_tags": ["beard"], "declared_age": 40, **ME.columns()})
        yield House(library, jobs, mira.id, tom.id)
        jobs.wire.close()


# ------------------------------------------------------------------------------------------------------------- composed


def test_from_what_was_told(house: House) -> None:
    """3.7: what the newest message tells is composed with card and state; what it says in speech counts for nothing."""
    scene = house.compose(conversation_id=house.conversation(TOLD))
    facts = scene.to_dict()
    assert facts["scene_prompt"] == (
        "Figure 1 is Mira; old kitchen; Mira: red hair, freckles, green cloak; Mira wears blue apron; "
        "Mira walks into the old kitchen and lifts a copper kettle; exactly one person is in the picture; "
        "no mirror images of persons, no doubles, no bystanders"
    )
    assert (facts["scene_mode"], facts["generation_mode"], facts["text_source"]) == ("none", "i2i", "composed")
    assert facts["state"]["location"]["value"] == "old kitchen"
    assert facts["state"]["location"]["origin"] == "extractor"
    assert {one["change"]["fact"]["value"] for one in facts["changes"]["ignored"]} >= {"street"}
    assert facts["figures"] == [
        {"number": 1, "roles": ["character"], "names": ["Mira"], "key": "pictures.example/mira.png"}
    ], "without what the address was signed with"
    assert facts["model"] == "tiny-seed-picture"


def test_looking_changes_nothing(house: House) -> None:
    """Composing stores no scene and no state."""
    here = house.conversation(TOLD)
    house.compose(conversation_id=here)
    store = SceneStore(house.library.db, ME)
    assert (store.list(conversation_id=here), store.state(here).version) == ((), 0)


@pytest.mark.parametrize(
    ("body", "source", "text"),
    [
        (
            {"scene_prompt_override": "a rainy harbour", "scene_context": "x", "message": TOLD},
            "override",
            "a rainy harbour",
        ),
        ({"scene_context": "an attic full of clocks", "message": TOLD}, "template", "an attic full of clocks"),
        ({"message": TOLD}, "composed", "old kitchen"),
        ({"message": '"Hello."', "character": {"name": "Ann"}}, "fallback", "Ann"),
    ],
)
def test_where_the_text_comes_from(house: House, body: dict[str, Any], source: str, text: str) -> None:
    """The first source that has a text gives it, and it is told which that was."""
    scene = house.compose(**body)
    assert (scene.text.source, scene.text.tags.text) == (source, text)
    assert scene.reasons == (("no_model",) if source == "fallback" else ())


def test_a_template(house: House) -> None:
    """A template gives the first scene its text, its picture, its place, its clothes and its words."""
    row = SceneTemplateStore(house.library.db).add(
        {
            "name": "Clocks",
            "description": "Late.",
            "scene_prompt": "an attic full of clocks",
            "setting": "attic",
            "time_of_day": "dusk",
            "default_clothing": "grey dress",
            "preview_image_url": "https://pictures.example/attic.png",
            **ME.columns(),
        }
    )
    scene = house.compose(conversation_id=house.conversation(), scene_template_id=row.id)
    assert (scene.environment.mode.value, scene.name, scene.description) == ("first_from_template", "Clocks", "Late.")
    assert [figure.picture for figure in scene.composition.figures.figures] == ["https://pictures.example/attic.png"]
    assert scene.reasons == ("figure_not_sent",), "the model reads one picture"
    assert "Mira wears grey dress" in scene.composition.prompt
    assert "green cloak" not in scene.composition.prompt
    assert scene.state.location is not None
    assert (scene.state.location.value, scene.state.location.origin) == ("attic", "template")
    assert scene.media.strength == 0.7


def test_how_a_template_is_seen(house: House) -> None:
    """A template says through whose eyes, in which mood, and for how many persons it is; a request goes before it."""
    row = SceneTemplateStore(house.library.db).add(
        {
            "name": "Shore",
            "scene_prompt": "a shore",
            "perspective_hint": "pov",
            "atmosphere": {"mood": "calm"},
            "min_characters": 2,
            "character_clothing_overrides": {"Mira": "cape"},
            **ME.columns(),
        }
    )
    scene = house.compose(character_id=house.character, scene_template_id=row.id)
    assert "seen through the eyes of the viewer" in scene.composition.prompt
    assert "calm mood" in scene.composition.prompt
    assert "Mira wears cape" in scene.composition.prompt
    assert scene.reasons == ("persons_of_template",)
    both: dict[str, Any] = {"user_character_id": house.persona, "scene_style": "both_characters"}
    assert house.compose(character_id=house.character, scene_template_id=row.id, **both).reasons == ()


def test_nothing_to_show(house: House) -> None:
    """Where nothing says what is to be seen, it is the caller's mistake."""
    with pytest.raises(UsageError, match="nothing says"):
        house.compose()


# ------------------------------------------------------------------------------------------------------------------ made


def test_made_and_gone_on_from(house: House) -> None:
    """9.3, 9.5, 9.6: what is stored is what is sent; the next scene starts from the picture; place and clothes stay."""
    here = house.conversation(TOLD)
    first = house.made(conversation_id=here)
    job = house.jobs.get(first.job_id)
    assert job.body["prompt"] == first.scene_prompt == job.request["prompt"]
    assert (job.mode.value, job.request["seed"]) == (first.generation_mode, first.seed)
    assert (first.status, first.image_url) == ("succeeded", f"asset:{job.results[0].name}")
    assert house.library.conversations_of(ME).get(here).current_location == "old kitchen"
    house.say(here, '*She is wearing a grey dress and sits at the table.* "I once lived in a castle."')
    second = house.made(conversation_id=here)
    assert (second.scene_mode, second.previous_scene_id) == ("continuation", first.id)
    assert house.jobs.get(second.job_id).request["image"] == first.image_url
    assert house.jobs.get(second.job_id).request["strength"] == 0.45
    state = read_state(second.state)
    assert (state.location.value if state.location else None) == "old kitchen"
    assert "Mira wears grey dress" in second.scene_prompt
    house.say(here, "*She smiles.*")
    third = house.compose(conversation_id=here)
    assert "grey dress" not in third.composition.prompt, "the picture shows it already"
    assert SceneStore(house.library.db, ME).state(here).seq == 2


def test_a_modification(house: House) -> None:
    """A change in words to a scene of one's own starts from its picture, wherever the client has its address from."""
    here = house.conversation(TOLD)
    first = house.made(conversation_id=here)
    for said in (
        {"current_scene_id": first.id},
        {"current_scene_image_url": f"/v1/jobs/{first.job_id}/results/0"},
        {"current_scene_image_url": first.image_url},
    ):
        scene = house.compose(conversation_id=here, scene_prompt_override="make it night", **said)
        assert scene.environment.mode == "modification"
        assert (scene.media.image, scene.media.strength) == (first.image_url, 0.5)
        assert scene.composition.prompt.startswith("Figure 1 is the picture to change; make it night")
    with pytest.raises(NotFoundError, match="no scene of yours"):
        house.compose(scene_prompt_override="x", current_scene_image_url="https://pictures.example/x.png")


def test_the_scene_before_is_verified(house: House) -> None:
    """A scene without a picture is no scene to go on from: named, it is an error; else one before it is taken."""
    here = house.conversation(TOLD)
    first = house.made(conversation_id=here)
    waiting = house.generate(conversation_id=here).scene
    with pytest.raises(ConflictError, match="is not made yet"):
        house.compose(conversation_id=here, previous_scene_id=waiting.id)
    assert house.compose(conversation_id=here).sources.before == SceneStore(house.library.db, ME).get(first.id)
    scene = house.compose(conversation_id=here, previous_scene_image_url="https://pictures.example/forged.png")
    assert scene.media.image == first.image_url, "the record counts, not the client's word"
    assert house.compose(conversation_id=here, scene_continuity_enabled=False).environment.mode == "none"
    other = house.conversation()
    with pytest.raises(NotFoundError, match="in this conversation"):
        house.compose(conversation_id=other, previous_scene_id=first.id)


def test_a_picture_that_is_gone(house: House) -> None:
    """A picture that is not there any more is told, and an error where the scene was named."""
    here = house.conversation(TOLD)
    first = house.made(conversation_id=here, consistency_settings={"seed_value": 77})
    assert isinstance(house.jobs.assets, FolderAssets)
    (house.jobs.assets.folder / first.image_url.removeprefix("asset:")).unlink()
    assert house.compose(conversation_id=here).reasons == ("previous_picture_missing",)
    with pytest.raises(StrictModeError, match="previous_picture_missing"):
        house.compose(conversation_id=here, strict=True)
    with pytest.raises(ConflictError, match="is gone"):
        house.compose(conversation_id=here, previous_scene_id=first.id)


def test_a_job_that_comes_to_nothing(house: House) -> None:
    """A scene says what became of its job: cancelled, and made after all when it is asked for again."""
    made = house.generate(conversation_id=house.conversation(TOLD))
    store = SceneStore(house.library.db, ME)
    house.jobs.cancel(made.job.id)
    row = store.get(made.scene.id)
    assert (row.status, row.image_url) == ("cancelled", None)
    with pytest.raises(ConflictError, match="its job has cancelled"):
        house.compose(previous_scene_id=row.id, message=TOLD)
    Runner(house.jobs).drain(until=house.jobs.retry(made.job.id).id)
    row = store.get(made.scene.id)
    assert row.status == "succeeded"
    assert row.image_url


def test_asked_once(house: House) -> None:
    """A repeat with the same key is the same scene and the same job; another request with it is refused."""
    here = house.conversation(TOLD)
    first = house.generate(key="one", conversation_id=here)
    house.say(here, "*She leaves the kitchen.*")
    again = house.generate(key="one", conversation_id=here)
    assert (again.scene.id, again.job.id) == (first.scene.id, first.job.id)
    with pytest.raises(ConflictError):
        house.generate(key="one", conversation_id=here, message="else")


def test_nothing_is_kept_of_what_cannot_be_made(house: House) -> None:
    """Where the job is refused, no scene is stored."""
    here = house.conversation(TOLD)
    with pytest.raises(InnkeeperError):
        house.generate(conversation_id=here, selected_i2i_model="no/such")
    with pytest.raises(InnkeeperError):
        house.generate(conversation_id=here, scene_preview_image_url="file:///etc/passwd")
    assert SceneStore(house.library.db, ME).list(conversation_id=here) == ()


@pytest.mark.parametrize(
    ("settings", "seed", "image"),
    [
        ({"method": "seed_locked", "seed_value": 0}, 0, False),
        ({"method": "hybrid", "seed_value": 0}, 0, True),
        ({"method": "i2i_reference"}, None, True),
    ],
)
def test_consistency(house: House, settings: dict[str, Any], seed: int | None, image: bool) -> None:
    """6.7: the seed, the reference, or both; 0 is a seed and reaches the job."""
    scene = house.generate(conversation_id=house.conversation(TOLD), consistency_settings=settings)
    assert (scene.job.request["seed"] == seed) is (seed is not None)
    assert ("image" in scene.job.request) is image
    assert scene.scene.seed == scene.job.request["seed"]
    assert scene.scene.generation_mode == ("i2i" if image else "t2i")


def test_a_seed_is_used_again(house: House) -> None:
    """A locked seed goes on from scene to scene."""
    here = house.conversation(TOLD)
    first = house.made(conversation_id=here, consistency_settings={"method": "seed_locked"})
    second = house.compose(conversation_id=here, consistency_settings={"method": "seed_locked"})
    assert second.media.seed == first.seed


def test_several_pictures(house: House) -> None:
    """12 check 13: a model that reads several gets all, once each, in the order in which the text numbers them."""
    owner = ProviderStore(house.library.db).put({"name": "fal", "base_url": "https://fal.example"})
    capabilities = {
        "char_limit": 400,
        "safety_checker_param": "enable_safety_checker",
        "input_schema": {
            "prompt": {"type": "string", "required": True},
            "image_urls": {"type": "array", "maxItems": 3},
            "seed": {"type": "integer"},
            "enable_safety_checker": {"type": "boolean"},
        },
    }
    row = {"model_key": "several", "modality": "image", "tasks": ["i2i"], "capabilities": capabilities}
    ModelStore(house.library.db).put({**row, "provider_id": owner.id})
    house.library.refresh()
    body: dict[str, Any] = {
        "selected_i2i_model": "several",
        "scene_style": "both_characters",
        "scene_prompt_override": "Figure 2 hands a cup to Figure 3. " + "Rain falls on the roof. " * 30,
        "character": {"name": "Mira", "reference_image_url": "https://pictures.example/mira.png?token=1"},
        "user_character": {"name": "Tom", "reference_image_url": "https://pictures.example/tom.png"},
    }
    scene = house.generate(**body)
    assert list(scene.job.body["image_urls"]) == [
        "https://pictures.example/mira.png?token=1",
        "https://pictures.example/tom.png",
    ]
    assert set(numbers_in(scene.job.body["prompt"])) == {1, 2}
    assert "Figure 1 hands a cup to Figure 2" in scene.job.body["prompt"]
    assert len(scene.job.body["prompt"]) <= 400
    assert scene.job.body["prompt"] == scene.scene.scene_prompt
    assert scene.job.body["enable_safety_checker"] is True
    assert "strength" not in scene.job.request
    assert scene.composed is not None
    assert "shortened" in scene.composed.reasons
    same = house.compose(**{**body, "user_character": {**body["character"], "name": "Tom"}})
    assert len(same.media.pictures) == 1
    assert set(numbers_in(same.composition.prompt)) == {1}
    house.jobs.cancel(scene.job.id)
    ModelStore(house.library.db).remove("several")
    house.library.refresh()


# -------------------------------------------------------------------------------------------------------------- narrative


def test_a_model_tells_it(house: House) -> None:
    """Where no action is told, a model tells the moment; its tags name the scene and are no part of its text."""
    with EchoServer(FakeReply(content=GOOD)) as server:
        scene = house.narrated(server, conversation_id=house.conversation('"Sit down, please."'))
        sent = server.requests[0].body["messages"]
    assert scene.text.source == "narrative"
    assert scene.name == "Tea"
    assert "SCENE_NAME" not in scene.composition.prompt
    assert "at most 60 words" in sent[-1]["content"]
    assert "Sit down, please." in sent[0]["content"]


def test_a_continuation_has_a_template_of_its_own(house: House) -> None:
    """9.4: what is told of a scene that goes on from a picture is told by the template for that."""
    here = house.conversation(TOLD)
    house.made(conversation_id=here)
    house.say(here, '"And now?"')
    with EchoServer(FakeReply(content=GOOD)) as server:
        scene = house.narrated(server, conversation_id=here)
        system = server.requests[0].body["messages"][0]["content"]
    assert "what has changed since that picture" in system
    assert scene.text.answer is not None
    assert scene.text.answer.prepared.request.use_case == "scene_iteration"


def test_a_short_window_is_told_in_phrases(house: House) -> None:
    """For a model that reads CLIP's window the document's template for scenes asks for phrases; the prompt fits 75 tokens."""
    owner = ProviderStore(house.library.db).put({"name": "fal", "base_url": "https://fal.example"})
    row = {
        "model_key": "small",
        "modality": "image",
        "tasks": ["t2i"],
        "model_family": "sdxl",
        "provider_id": owner.id,
    }
    ModelStore(house.library.db).put(row)
    house.library.refresh()
    phrases = "red-haired woman at a counter, dim kitchen, copper kettle, steam, warm light, " * 4
    body = {"message": '"Sit down."', "character": {"name": "Mira"}, "selected_image_model": "small"}
    with EchoServer(*[FakeReply(content=phrases)] * 2) as server:
        scene = house.narrated(server, **body)
        system = server.requests[0].body["messages"][0]["content"]
    ModelStore(house.library.db).remove("small")
    house.library.refresh()
    assert "comma-separated phrases" in system
    assert "Sit down." in system
    assert scene.composition.tokens <= 75
    assert "shortened" in scene.reasons
    assert "bystanders" in scene.media.negative_prompt


def test_faults_are_told_once(house: House) -> None:
    """9.10: a narrative with faults is asked for once more, and then cut."""
    with EchoServer(FakeReply(content='"Hello!" I say in the doorway. ' + GOOD), FakeReply(content=GOOD)) as server:
        scene = house.narrated(server, message='"Sit down."', character={"name": "Mira"})
        assert len(server.requests) == 2
        assert "leave out all speech" in server.requests[1].body["messages"][-1]["content"]
    assert scene.text.faults == ()
    with EchoServer(*[FakeReply(content='"Hello!" I say in the doorway. ' + GOOD)] * 3) as server:
        scene = house.narrated(server, message='"Sit down."', character={"name": "Mira"})
        assert len(server.requests) == 2
    assert scene.text.tags.text.startswith("A woman stands at the counter")
    assert {"narrative:dialogue", "narrative:first_person"} <= set(scene.reasons)


@pytest.mark.parametrize("second", [FakeReply(content="A kitchen."), Answer(status=500)], ids=["too short", "down"])
def test_what_is_left_of_nothing(house: House, second: Any) -> None:
    """Where nothing of a narrative can be taken, what is known stands in; a second try that fails changes nothing."""
    with EchoServer(FakeReply(content="I am. I was."), *[second] * 3) as server:
        scene = house.narrated(server, message='"Sit down."', character={"name": "Mira"})
    assert (scene.text.source, scene.text.tags.text) == ("fallback", "Mira")
    assert "narrative:too_short" in scene.reasons


def test_a_refusal_reaches_the_caller(house: House) -> None:
    """S3: what a model will not tell is told, word for word, and nothing is put in its place."""
    with (
        EchoServer(FakeReply(content="I will not.", finish_reason="content_filter")) as server,
        pytest.raises(SceneRefusedError) as caught,
    ):
        house.narrated(server, message='"Sit down."', character={"name": "Mira"})
    assert caught.value.refusal == "I will not."


def test_without_an_answer(house: House) -> None:
    """Where no model answers, what is known stands in, and says so."""
    with EchoServer(*[FakeReply(content="")] * 4) as server:
        scene = house.narrated(server, message='"Sit down."', character={"name": "Mira"})
    assert scene.text.source == "fallback"
    assert any(reason.startswith("narrative:") for reason in scene.reasons)


# ----------------------------------------------------------------------------------------------------------------- safety

MINOR = {"name": "Ann", "declared_age": 12}
ADULT = "an erotic scene, naked in bed"


@pytest.mark.parametrize(
    "body",
    [
        {"character": MINOR, "scene_prompt_override": ADULT},
        {"character": {"name": "Ann", "appearance_tags": ["12 year old girl"]}, "message": f"*{ADULT}*"},
        {"scene_context": f"a 12 year old girl, {ADULT}"},
        {"scene_prompt_override": ADULT, "user_character": MINOR, "scene_style": "both_characters"},
        {"scene_clothing_overrides": {"user": "a 12 year old girl's clothes"}, "scene_prompt_override": ADULT},
        {"scene_default_clothing": "naked 12 year old girl, erotic", "message": TOLD},
        {"message": TOLD, "negative_prompt": f"12 year old girl, {ADULT}"},
        {"scene_name": f"12 year old girl, {ADULT}", "message": TOLD},
    ],
)
@pytest.mark.parametrize("tier", ["sfw", "nsfw"])
def test_blocked(house: House, body: dict[str, Any], tier: str) -> None:
    """S1: wherever the age stands and wherever the rest, nothing is stored or made, and an event tells of it."""
    before = house.audited()
    with pytest.raises(TierBlockedError):
        house.generate(**body, content_tier=tier)
    assert house.audited() > before


def test_what_a_model_writes_is_judged(house: House) -> None:
    """S1: a narrative that does not pass is for nobody."""
    before = house.audited()
    replies = [FakeReply(content=f"A 12 year old girl, {ADULT}, in the kitchen.")] * 3
    with EchoServer(*replies) as server, pytest.raises(TierBlockedError):
        house.narrated(server, message='"Sit down."', character={"name": "Mira"})
    assert house.audited() > before


def test_the_tier_is_not_the_clients(house: House) -> None:
    """S4, S5: what a client asks for is at most what records allow: the general tier, with the checker on."""
    body: dict[str, Any] = {
        "message": TOLD,
        "content_tier": "nsfw",
        "character": {"name": "Mira", "declared_age": 30, "content_rating": "nsfw"},
    }
    scene = house.compose(**body)
    assert scene.tier.effective is Tier.SFW
    terms = SceneTerms(owner=ME, ceilings=Ceilings(account=Tier.NSFW))
    granted = asyncio.run(Scenes(house.library, house.jobs).compose(scene_request(body), terms))
    assert granted.tier.effective is Tier.SFW, "a person who is only told is of the general tier"


# ------------------------------------------------------------------------------------------------------------- whose it is


@pytest.mark.parametrize("owner", [Owner("other"), Owner("me", "elsewhere")], ids=["user", "tenant"])
def test_foreign_records(house: House, owner: Owner) -> None:
    """Nothing of anybody else's is read: conversation, persons, template, scenes."""
    here = house.conversation(TOLD)
    scene = house.made(conversation_id=here)
    template = SceneTemplateStore(house.library.db).add({"name": "x", "scene_prompt": "An attic.", **ME.columns()})
    for body in (
        {"conversation_id": here},
        {"character_id": house.character},
        {"user_character_id": house.persona, "message": TOLD},
        {"scene_template_id": template.id},
        {"previous_scene_id": scene.id, "message": TOLD},
        {"current_scene_id": scene.id, "scene_prompt_override": "x"},
        {"current_scene_image_url": scene.image_url, "scene_prompt_override": "x"},
    ):
        with pytest.raises(NotFoundError):
            house.compose(owner=owner, **body)


def test_what_is_pinned_stays(house: House) -> None:
    """A place that a person has pinned is not changed by what is told."""
    here = house.conversation(TOLD)
    store = SceneStore(house.library.db, ME)
    seen = store.state(here)
    state = edited(read_state(seen.state), {"location": {"value": "lighthouse", "pinned": True}})
    store.put_state(here, seen, state.to_dict(), seq=0, location="lighthouse")
    house.generate(conversation_id=here)
    assert read_state(store.state(here).state).location == state.location
    assert house.library.conversations_of(ME).get(here).current_location == "lighthouse"


def test_whoever_was_quicker(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a person changes the state while a scene is made, both changes are in it, and what is pinned stays."""
    here, write = house.conversation(TOLD), SceneStore.put_state

    def slower(store: SceneStore, conversation: str, seen: Any, state: Any, **more: Any) -> Any:
        monkeypatch.setattr(SceneStore, "put_state", write)
        own = edited(read_state({}), {"location": {"value": "lighthouse", "pinned": True}, "time": "dusk"})
        write(store, conversation, seen, own.to_dict(), seq=0, location="lighthouse")
        return write(store, conversation, seen, state, **more)

    monkeypatch.setattr(SceneStore, "put_state", slower)
    house.generate(conversation_id=here)
    state = read_state(SceneStore(house.library.db, ME).state(here).state)
    assert [fact.value for fact in (state.location, state.time) if fact] == ["lighthouse", "dusk"]
    assert [fact.value for fact in state.props] == ["copper kettle"]


def test_a_location_that_was_written_by_hand(house: House) -> None:
    """What somebody writes into the conversation counts until the story moves on."""
    here = house.conversation(TOLD)
    house.generate(conversation_id=here)
    house.library.conversations_of(ME).update(here, {"current_location": "lighthouse"})
    scene = house.compose(conversation_id=here)
    assert scene.state.location is not None
    assert (scene.state.location.value, scene.state.location.origin) == ("lighthouse", "conversation")
    house.say(here, "*Mira walks into the garden.*")
    assert house.generate(conversation_id=here).scene.state["location"]["value"] == "garden"
    assert house.library.conversations_of(ME).get(here).current_location == "garden"


def test_two_at_the_same_time(house: House) -> None:
    """Two scenes of one conversation at the same time are two, and the state has what both have told."""
    here = house.conversation(TOLD)

    async def both() -> list[MadeScene]:
        scenes = Scenes(house.library, house.jobs)
        asked = scene_request({"conversation_id": here})
        return list(await asyncio.gather(*(scenes.generate(asked, SceneTerms(owner=ME)) for _ in range(4))))

    made = asyncio.run(both())
    assert sorted(one.scene.number for one in made) == [1, 2, 3, 4]
    location = read_state(SceneStore(house.library.db, ME).state(here).state).location
    assert location is not None
    assert location.value == "old kitchen"


HOSTILE = [
    "Figure 2",
    "figure",
    "a; b",
    "{{user}} ${x} \\1 %s",
    "\u202eabc\u200b",
    "» « „ “",
    "[SCENE_NAME: x]",
    "x" * 2_000,
    "0",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts(house: House, text: str) -> None:
    """Names, tags and texts of any kind give a prompt whose figures are those that are sent, or a typed error."""
    person = {"name": text[:300], "appearance_tags": [text], "reference_image_url": "https://pictures.example/x.png"}
    bodies: list[dict[str, Any]] = [
        {"character": person, "message": f"*{text} walks into the kitchen.*"},
        {"character": person, "scene_prompt_override": text, "scene_style": "pov", "user_character": person},
        {"character": person, "scene_context": text, "scene_clothing_overrides": {text: text, "user": text}},
    ]
    made = [scene for body in bodies if (scene := _attempt(house, body)) is not None]
    assert all(set(numbers_in(scene.job.body["prompt"])) == {1} for scene in made)


def _attempt(house: House, body: dict[str, Any]) -> MadeScene | None:
    try:
        return house.generate(**body)
    except InnkeeperError as error:
        if error.http_status >= 500:
            raise
        return None
