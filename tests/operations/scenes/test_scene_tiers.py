"""Tiers of scenes: the lowest of what was asked for and of every ceiling, for all of them; and ages in an adult context."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.gate.tier import Ceilings, Tier
from innkeeper.jobs.assets import FolderAssets
from innkeeper.jobs.media_jobs import MediaJobs
from innkeeper.library.db.owner import Owner
from innkeeper.library.errors import TierBlockedError
from innkeeper.library.library import Library
from innkeeper.library.log.conversations import CharacterStore
from innkeeper.library.log.scenes import SceneTemplateStore
from innkeeper.operations.scenes.request import scene_request
from innkeeper.operations.scenes.scenes import ComposedScene, Scenes, SceneTerms
from tests.library.opening import enable_adults
from tests.operations.tasks.house import library_at

ME = Owner("me")
TIERS = st.sampled_from([*Tier])


class House(NamedTuple):
    """A library with an adult tier, and characters and templates of both."""

    library: Library
    jobs: MediaJobs
    characters: dict[str, str]
    templates: dict[str, str]

    def compose(self, ceilings: Ceilings, **body: Any) -> ComposedScene:
        """A scene under these ceilings."""
        terms = SceneTerms(owner=ME, ceilings=ceilings)
        return asyncio.run(Scenes(self.library, self.jobs).compose(scene_request(body), terms))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One for all."""
    folder = tmp_path_factory.mktemp("tiers")
    with library_at(folder / "library.db") as library:
        enable_adults(library)
        people, templates = CharacterStore(library.db), SceneTemplateStore(library.db)
        own = ME.columns()
        characters = {
            tier.value: people.add({"name": "Mira", "declared_age": 30, "content_rating": tier.value, **own}).id
            for tier in Tier
        }
        rated = {
            tier.value: templates.add({"name": "x", "scene_prompt": "a shore", "content_rating": tier.value, **own}).id
            for tier in Tier
        }
        jobs = MediaJobs(library, assets=FolderAssets(Path(folder) / "assets"))
        yield House(library, jobs, characters, rated)
        jobs.wire.close()


@given(
    st.sampled_from(["nsfw", "sfw", "NSFW", None, 5, ["nsfw"]]),
    st.none() | TIERS,
    st.none() | TIERS,
    TIERS,
    st.none() | TIERS,
)
def test_at_most_every_ceiling(
    house: House, asked: Any, account: Tier | None, workspace: Tier | None, character: Tier, template: Tier | None
) -> None:
    """S4, S5, S6: whatever is asked for, the tier is that of the lowest ceiling, and unverified is general."""
    body = {"character_id": house.characters[character.value], "content_tier": asked, "scene_context": "a shore"}
    if template is not None:
        body["scene_template_id"] = house.templates[template.value]
    scene = house.compose(Ceilings(account=account, workspace=workspace), **body)
    known = [Tier.of(asked), account or Tier.SFW, workspace or Tier.NSFW, character, template or Tier.NSFW]
    assert scene.tier.effective is Tier.lowest(*known)


AGED = ("12 year old girl", "a schoolgirl", "aged fourteen", "a child")
ADULT = ("naked", "an erotic scene", "having sex")


@given(
    st.sampled_from(AGED),
    st.sampled_from(ADULT),
    st.permutations(["scene_context", "scene_prompt_override", "scene_default_clothing", "message", "scene_name"]),
    TIERS,
)
def test_ages_block_wherever_they_stand(house: House, age: str, adult: str, places: list[str], tier: Tier) -> None:
    """S1: a sign of age in one field and an adult context in any other is a block in every tier; no setting lifts it."""
    body = {places[0]: f"{age}", places[1]: f"{adult}", places[2]: "a shore"}
    with pytest.raises(TierBlockedError):
        house.compose(Ceilings(account=tier), content_tier=tier.value, **body)
    inline = {"character": {"name": "Ann", "appearance_tags": [age]}, places[0]: adult}
    with pytest.raises(TierBlockedError):
        house.compose(Ceilings(account=tier), content_tier=tier.value, **inline)
