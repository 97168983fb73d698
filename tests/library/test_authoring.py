"""Shelving: what is published was checked, and what was published can be taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from innkeeper.library.db.rows import AuditStore
from innkeeper.library.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidTemplateError,
    NotFoundError,
    TierBlockedError,
)
from innkeeper.library.library import Library
from innkeeper.library.models.stores import ModelStore, ProviderStore
from innkeeper.library.templates.publish import Severity
from innkeeper.library.templates.template import Variable
from innkeeper.prompt.errors import InnkeeperError
from tests.library.drafts import draft
from tests.library.opening import ask, opened, published

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
        library.authoring.add_version(draft(text=text))
        library.authoring.publish(NAME, force=True)
    assert library.authoring.rollback(NAME, who="ann").to_version == 2
    assert library.authoring.store.history(NAME)[-1].why == "back from version 3"
    assert library.authoring.rollback(NAME, to=1, why="safest").to_version == 1
    assert library.authoring.rollback(NAME).to_version == 2
    with pytest.raises(NotFoundError):
        library.authoring.rollback(NAME, label="staging")


def test_nothing_to_go_back_to(library: Library) -> None:
    """A label that never moved cannot go back; the error says how to name a version."""
    with pytest.raises(NotFoundError, match="before version 1") as caught:
        library.authoring.rollback(NAME)
    assert "--to" in str(caught.value.hint)


def errors_of(library: Library) -> set[str]:
    """The codes of what keeps the newest version from being published, without warnings."""
    problems = library.authoring.validate(library.authoring.get(NAME), force=True)
    return {problem.code for problem in problems if problem.severity is Severity.ERROR}


def test_what_is_wrong_is_not_published(library: Library) -> None:
    """A version with problems gets no label; all problems are told; memory and database are as they were."""
    library.authoring.add_version(draft(text="{{nam}} {{> rules}}"))
    with pytest.raises(InvalidTemplateError) as caught:
        library.authoring.publish(NAME, force=True)
    assert caught.value.problems
    assert library.authoring.store.labels(NAME) == {"production": 1}
    assert errors_of(library) == {"unknown_partial"}


def test_parts_are_checked(library: Library) -> None:
    """A part that is pinned and not there is a problem of the version."""
    library.authoring.add_version(draft(text="{{subject}} {{> rules}}", partials=(("rules", 3),)))
    assert errors_of(library) == {"unknown_partial"}


def test_the_window_counts(library: Library) -> None:
    """A template that cannot fit the window of the model that reads it is not published."""
    provider = ProviderStore(library.db).put({"name": "p"})
    row = {"model_key": "small", "provider_id": provider.id, "modality": "chat", "context_window": 100}
    ModelStore(library.db).put(row)
    library.refresh()
    library.authoring.create(draft("t", "word " * 200, use_case="chat", enhancer_model="small", variables=()))
    with pytest.raises(InvalidTemplateError, match="too_long"):
        library.authoring.publish("t")


def test_a_blocked_text_is_not_published(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that would block every request gets no label; the block is an audit event, also when it cannot be written."""
    library.authoring.add_version(draft(text="A nude 12 year old {{subject}}."))
    with pytest.raises(TierBlockedError):
        library.authoring.publish(NAME, force=True)
    event = AuditStore(library.db).newest(1, action="tier.block")[0]
    assert event.resource_id.endswith("@2")
    assert "nude" not in str(event.details).replace("sexual.nude", "")
    assert errors_of(library) == {"tier"}

    variables = (Variable(name="subject", default="a nude 12 year old", required=False),)
    library.authoring.add_version(draft(variables=variables))
    with pytest.raises(TierBlockedError):
        library.authoring.publish(NAME, force=True)

    def refuse(*_: object, **__: object) -> None:
        raise InnkeeperError("away")

    monkeypatch.setattr(AuditStore, "append", refuse)
    with pytest.raises(TierBlockedError):
        library.authoring.publish(NAME, force=True)
    assert library.metrics.value("library_blocks_total") == 3
    assert library.authoring.store.labels(NAME) == {"production": 1}


def test_ambiguity_is_refused(library: Library) -> None:
    """Two templates with one key under one label are never published."""
    library.authoring.create(draft("other"))
    with pytest.raises((AlreadyExistsError, InvalidTemplateError)):
        library.authoring.publish("other", force=True)


def test_unknown_names_offer_near_ones(library: Library) -> None:
    """An unknown template's error offers names like it, whoever raises it."""
    calls: list[Callable[[], object]] = [
        lambda: library.authoring.get("enhancement_sdxl_sfv"),
        lambda: library.authoring.publish("enhancement_sdxl_sfv"),
        lambda: library.authoring.rollback("enhancement_sdxl_sfv"),
        lambda: library.authoring.remove_label("enhancement_sdxl_sfv", "production"),
        lambda: library.authoring.add_version(draft("enhancement_sdxl_sfv")),
    ]
    for call in calls:
        with pytest.raises(NotFoundError) as caught:
            call()
        assert caught.value.hint == f"did you mean {NAME!r}?"
    with pytest.raises(NotFoundError):
        library.authoring.publish(NAME, 9)
    with pytest.raises(NotFoundError) as caught:
        library.authoring.get("quite another")
    assert caught.value.hint == "`innkeeper admin template list` shows what there is"


def test_changes_of_others_are_not_overruled(library: Library) -> None:
    """A version that was made from an older one than the latest is refused."""
    library.authoring.add_version(draft(text="Second {{subject}}."), base=1)
    with pytest.raises(ConflictError):
        library.authoring.add_version(draft(text="Third {{subject}}."), base=1)


def test_labels_come_off(library: Library) -> None:
    """A label that is taken off answers no more, at once."""
    assert library.authoring.remove_label(NAME, "production", who="ann").to_version is None
    assert len(library.catalogue) == 0


def test_what_callers_send(library: Library) -> None:
    """A template that recorded callers of its key would fail with, or send to in vain, is published by force alone."""
    published(library, draft("tones", "Say {{what}}.", use_case="tones", variables=(Variable(name="what"),)))
    library.prepare(ask(use_case="tones", values={"what": "hello"}))
    assert library.flush()
    library.authoring.add_version(draft("tones", "{{tone}}", use_case="tones", variables=(Variable(name="tone"),)))
    with pytest.raises(InvalidTemplateError) as caught:
        library.authoring.publish("tones")
    assert [problem.code for problem in caught.value.problems] == ["unread", "unsupplied"]
    assert "who had 1 answer of tones@1 gives tone no value" in str(caught.value.problems[1])
    assert library.authoring.store.labels("tones") == {"production": 1}
    assert library.authoring.publish("tones", force=True).to_version == 2
    assert library.authoring.rollback("tones").to_version == 1
    optional = (Variable(name="what"), Variable(name="tone", required=False))
    library.authoring.add_version(draft("tones", "{{tone}} {{what}}", use_case="tones", variables=optional))
    assert library.authoring.publish("tones").to_version == 3


def test_nobody_has_called(library: Library) -> None:
    """Where the log has no call of a key, each version is free to require what it likes."""
    for name in ("first", "second"):
        made = draft("quiet", f"{{{{{name}}}}}", use_case="quiet", variables=(Variable(name=name),))
        (library.authoring.create if name == "first" else library.authoring.add_version)(made)
        library.authoring.publish("quiet")
    assert library.authoring.store.labels("quiet") == {"production": 2}
