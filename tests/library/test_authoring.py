"""Shelving: what is published was checked, and what was published can be taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from innkeeper.library.db.audit import AuditStore
from innkeeper.library.errors import (
    AmbiguousTemplateError,
    ConflictError,
    InvalidTemplateError,
    TierBlockedError,
    UnknownLabelError,
    UnknownTemplateError,
    UnknownVersionError,
)
from innkeeper.library.library import Library
from innkeeper.library.models.stores import ModelStore, ProviderStore
from innkeeper.library.templates.template import Variable
from innkeeper.prompt.errors import InnkeeperError
from tests.library.drafts import draft
from tests.library.opening import opened, published

NAME = "enhancement_sdxl_sfw"


@pytest.fixture
def library(url: str) -> Iterator[Library]:
    """An open library with one published template."""
    with opened(url) as found:
        published(found)
        yield found


def test_rollback_goes_back(library: Library) -> None:
    """A rollback moves the label to the version that held it before; a second one to that before it; then there is none."""
    for text in ("Second {{subject}}.", "Third {{subject}}."):
        library.shelving.add_version(draft(text=text))
        library.shelving.publish(NAME)
    assert library.shelving.rollback(NAME, who="ann").to_version == 2
    assert library.shelving.store.history(NAME)[-1].why == "back from version 3"
    assert library.shelving.rollback(NAME, to=1, why="safest").to_version == 1
    assert library.shelving.rollback(NAME).to_version == 2
    with pytest.raises(UnknownLabelError):
        library.shelving.rollback(NAME, label="staging")


def test_nothing_to_go_back_to(library: Library) -> None:
    """A label that never moved cannot go back; the error says how to name a version."""
    with pytest.raises(UnknownLabelError, match="before version 1") as caught:
        library.shelving.rollback(NAME)
    assert "--to" in str(caught.value.hint)


def test_what_is_wrong_is_not_published(library: Library) -> None:
    """A version with problems gets no label; all problems are told; memory and database are as they were."""
    library.shelving.add_version(draft(text="{{nam}} {{> rules}}"))
    with pytest.raises(InvalidTemplateError) as caught:
        library.shelving.publish(NAME)
    assert caught.value.problems
    assert library.shelving.store.labels(NAME) == {"production": 1}
    found = library.shelving.validate(library.shelving.get(NAME))
    assert {problem.code for problem in found} == {"unknown_partial"}


def test_parts_are_checked(library: Library) -> None:
    """A part that is pinned and not there is a problem of the version."""
    library.shelving.add_version(draft(text="{{subject}} {{> rules}}", partials=(("rules", 3),)))
    assert {one.code for one in library.shelving.validate(library.shelving.get(NAME))} == {"unknown_partial"}


def test_the_window_counts(library: Library) -> None:
    """A template that cannot fit the window of the model that reads it is not published."""
    provider = ProviderStore(library.db).put({"name": "p"})
    row = {"model_key": "small", "provider_id": provider["id"], "modality": "chat", "context_window": 100}
    ModelStore(library.db).put(row)
    library.refresh()
    library.shelving.create(draft("t", "word " * 200, use_case="chat", enhancer_model="small", variables=()))
    with pytest.raises(InvalidTemplateError, match="too_long"):
        library.shelving.publish("t")


def test_a_blocked_text_is_not_published(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that would block every request gets no label; the block is an audit event, also when it cannot be written."""
    library.shelving.add_version(draft(text="A nude 12 year old {{subject}}."))
    with pytest.raises(TierBlockedError):
        library.shelving.publish(NAME)
    event = AuditStore(library.db).newest(1, action="tier.block")[0]
    assert event["resource_id"].endswith("@2")
    assert "nude" not in str(event["details"]).replace("sexual.nude", "")
    assert {problem.code for problem in library.shelving.validate(library.shelving.get(NAME))} == {"tier"}

    variables = (Variable(name="subject", default="a nude 12 year old", required=False),)
    library.shelving.add_version(draft(variables=variables))
    with pytest.raises(TierBlockedError):
        library.shelving.publish(NAME)

    def refuse(*_: object, **__: object) -> None:
        raise InnkeeperError("away")

    monkeypatch.setattr(AuditStore, "append", refuse)
    with pytest.raises(TierBlockedError):
        library.shelving.publish(NAME)
    assert library.metrics.value("library_blocks_total") == 3
    assert library.shelving.store.labels(NAME) == {"production": 1}


def test_ambiguity_is_refused(library: Library) -> None:
    """Two templates with one key under one label are never published."""
    library.shelving.create(draft("other"))
    with pytest.raises((AmbiguousTemplateError, InvalidTemplateError)):
        library.shelving.publish("other")


def test_unknown_names_offer_near_ones(library: Library) -> None:
    """An unknown template's error offers names like it, whoever raises it."""
    calls: list[Callable[[], object]] = [
        lambda: library.shelving.get("enhancement_sdxl_sfv"),
        lambda: library.shelving.publish("enhancement_sdxl_sfv"),
        lambda: library.shelving.rollback("enhancement_sdxl_sfv"),
        lambda: library.shelving.remove_label("enhancement_sdxl_sfv", "production"),
        lambda: library.shelving.add_version(draft("enhancement_sdxl_sfv")),
    ]
    for call in calls:
        with pytest.raises(UnknownTemplateError) as caught:
            call()
        assert caught.value.hint == f"did you mean {NAME!r}?"
    with pytest.raises(UnknownVersionError):
        library.shelving.publish(NAME, 9)
    with pytest.raises(UnknownTemplateError) as caught:
        library.shelving.get("quite another")
    assert caught.value.hint == UnknownTemplateError.HINT


def test_changes_of_others_are_not_overruled(library: Library) -> None:
    """A version that was made from an older one than the latest is refused."""
    library.shelving.add_version(draft(text="Second {{subject}}."), base=1)
    with pytest.raises(ConflictError):
        library.shelving.add_version(draft(text="Third {{subject}}."), base=1)


def test_labels_come_off(library: Library) -> None:
    """A label that is taken off answers no more, at once."""
    assert library.shelving.remove_label(NAME, "production", who="ann").to_version is None
    assert len(library.catalogue) == 0
