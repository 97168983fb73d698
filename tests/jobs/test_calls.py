"""What a backend is told of a job: its pictures come along as bytes, wherever its body names them."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from innkeeper.jobs.job import Mode
from innkeeper.jobs.media import MediaRequest
from innkeeper.library.models.stores import ModelStore
from tests.jobs.fakes import PICTURE, House, house


@pytest.fixture
def at(tmp_path: Path) -> Iterator[House]:
    """A house on a SQLite file."""
    with house(str(tmp_path / "a.db"), tmp_path) as made:
        yield made


def test_pictures(at: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures of ours go to a provider as bytes; a job that waits has their names, and others keep their addresses."""
    monkeypatch.setattr("innkeeper.jobs.steps.POLL_SECONDS", (0.02, 0.05))
    kept = f"asset:{at.jobs.assets.put(PICTURE).name}"
    wanted = MediaRequest(prompt="in snow", model="fake/one", mode=Mode.I2I, image=kept)
    at.drain(at.jobs.submit(wanted).id)
    assert at.provider.bodies[-1]["image_url"].startswith("data:image/png;base64,")
    assert at.jobs.submit(wanted).body["image_url"] == kept
    capabilities = {"input_schema": {"prompt": {"type": "string"}, "image_urls": {"type": "array"}}}
    ModelStore(at.jobs.library.db).update("fake/one", {"capabilities": capabilities})
    at.jobs.library.refresh()
    several = at.jobs.submit(msgspec.structs.replace(wanted, references=("https://a.example/2.png", kept)))
    assert list(several.body["image_urls"]) == [kept, "https://a.example/2.png", kept]
    at.drain(several.id)
    first, second, third = at.provider.bodies[-1]["image_urls"]
    assert (first[:14], second, third) == ("data:image/png", "https://a.example/2.png", first)
