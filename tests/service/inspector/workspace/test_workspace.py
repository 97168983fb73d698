"""What is built of files and settings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from innkeeper.prompt.errors import InnkeeperError, LimitError, UnknownNameError, UsageError
from innkeeper.service.inspector.inspection.inspection import inspected
from innkeeper.service.inspector.inspection.planning import planned
from innkeeper.service.inspector.session.messages import WorkspaceOptions
from innkeeper.service.inspector.views.workspace import Edit, SettingsChange, Variation
from innkeeper.service.inspector.workspace import workspace as module
from innkeeper.service.inspector.workspace.working import WorkingFile
from innkeeper.service.inspector.workspace.workspace import OpenWorkspace
from innkeeper.taverns import TAVERNS, build
from tests.service.inspector.opened import EXAMPLES

NAMES = ("wenna.png", "tobin.json", "larks.lorebook.json", "ansel.persona.json", "wenna.chat.jsonl", "profile.toml")


def example(*names: str, every: bool = False, **settings: Any) -> OpenWorkspace:
    """A workspace of some of the example's files; their ids are their names."""
    files = [WorkingFile(name, name, (EXAMPLES / name).read_bytes()) for name in names or NAMES]
    return OpenWorkspace("test", files, SettingsChange(**settings), now="2026-01-01T00:00:00Z", every=every)


def texts(workspace: OpenWorkspace, variation: Variation | None = None) -> list[str]:
    """The messages of its prompt."""
    return [message.content for message in build(workspace.request(variation)).messages]


def test_a_profile_says_what_is_used() -> None:
    """And where it names none of a kind, the first of that kind is."""
    settings = example().settings
    assert settings.used == ("wenna.png", "larks.lorebook.json", "wenna.chat.jsonl")
    assert settings.persona == "ansel.persona.json"
    assert settings.reserve == 256


def test_without_a_profile_one_of_each_is_used() -> None:
    """Of books all; with ``every`` all files, and cards make a group."""
    assert example("tobin.json", "wenna.png", "larks.lorebook.json").settings.used == (
        "tobin.json",
        "larks.lorebook.json",
    )
    workspace = example("tobin.json", "wenna.png", every=True)
    assert workspace.settings.used == ("tobin.json", "wenna.png")
    assert len(workspace.request().group["members"]) == 2


def test_the_same_is_built_as_by_the_command_line() -> None:
    """The request is the one that `innkeeper build` makes of these files."""
    from innkeeper.cli.prompt.assets import AssetFiles

    assets = AssetFiles()
    for name in ("wenna.png", "larks.lorebook.json", "ansel.persona.json", "wenna.chat.jsonl"):
        assets.add(str(EXAMPLES / name))
    asked = assets.request({
        "message": "Hm?", "now": "2026-01-01T00:00:00Z", "reserved_tokens": 256, "model": "local",
    })  # fmt: skip
    assert build(example(message="Hm?").request()).fingerprint() == build(asked).fingerprint()


def test_requests_of_edits_are_those_of_the_whole() -> None:
    """What is kept from one request to the next changes nothing in it."""
    workspace = example(message="Hm?")
    steps: list[Any] = [
        lambda one: one.files["wenna.png"].apply(_edit("data", "scenario"), "New."),
        lambda one: one.change(SettingsChange(message="Other")),
        lambda one: one.change(SettingsChange(turn=1)),
        lambda one: one.change(SettingsChange(context_window=900)),
        lambda one: one.change(SettingsChange(turn=None, context_window=None)),
        lambda one: one.files["wenna.chat.jsonl"].apply(_edit("messages", 0, "mes"), "Hail."),
        lambda one: one.change(SettingsChange(used=("wenna.png",), persona=None)),
    ]
    for count, step in enumerate(steps, 1):
        step(workspace)
        fresh = example(message="Hm?")
        for other in steps[:count]:
            other(fresh)
        assert build(workspace.request()).fingerprint() == build(fresh.request()).fingerprint()


def _edit(*path: Any) -> Edit:
    return Edit(file="", path=path)


def test_a_turn_cuts_the_chat() -> None:
    """Later messages are not there, nor what they left; the file is as it was."""
    workspace = example(turn=1)
    whole = example()
    assert workspace.turns == 3
    assert len(workspace.request().history) == 1
    assert len(whole.request().history) == 3
    assert texts(workspace, Variation(settings=SettingsChange(turn=None))) == texts(whole)
    chat = {"user_name": "a", "character_name": "b", "chat_metadata": {"variables": {"x": 1}, "note_prompt": "n"}}
    lines = [chat, {"name": "a", "is_user": True, "mes": "1"}, {"name": "b", "is_user": False, "mes": "2"}]
    data = "\n".join(map(json.dumps, lines)).encode()
    cut = OpenWorkspace("t", [WorkingFile("c", "c", data)], SettingsChange(turn=1), every=True)
    assert cut.request().settings["chat_metadata"] == {"note_prompt": "n"}
    assert len(cut.request().history) == 1


def test_a_variation_changes_nothing() -> None:
    """Other settings, or the files as they were saved, for one build alone."""
    workspace = example()
    workspace.files["wenna.png"].apply(_edit("data", "scenario"), "New.")
    before = texts(workspace)
    saved = texts(workspace, Variation(saved=True))
    assert any("New." in text for text in before)
    assert not any("New." in text for text in saved)
    assert texts(workspace) == before


@pytest.mark.parametrize(
    ("patch", "error"),
    [
        (SettingsChange(tavern="none"), UnknownNameError),
        (SettingsChange(used=("none",)), UnknownNameError),
        (SettingsChange(persona="none"), UnknownNameError),
        (SettingsChange(turn=-1), UsageError),
    ],
)
def test_settings_that_cannot_be_are_refused(patch: SettingsChange, error: type[InnkeeperError]) -> None:
    """And those that were stay."""
    workspace = example()
    before = workspace.settings
    with pytest.raises(error):
        workspace.change(patch)
    assert workspace.settings == before


def test_a_dropped_file_takes_the_place_of_the_one_of_its_kind() -> None:
    """A book comes beside the others."""
    workspace = example()
    workspace.add(WorkingFile("x", "x.json", (EXAMPLES / "tobin.json").read_bytes()))
    assert workspace.settings.used == ("larks.lorebook.json", "wenna.chat.jsonl", "x")
    workspace.add(WorkingFile("y", "y.json", (EXAMPLES / "larks.lorebook.json").read_bytes()))
    assert workspace.settings.used[-2:] == ("x", "y")


def test_there_are_not_too_many_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor too large ones; one that is refused is not there."""
    workspace = example("wenna.png", "tobin.json")
    monkeypatch.setattr(module, "MAX_FILES", 2)
    with pytest.raises(LimitError):
        workspace.add(WorkingFile("x", "x", b""))
    assert len(workspace.files) == 2
    monkeypatch.setattr(module, "MAX_FILES", 9)
    monkeypatch.setattr(module, "MAX_FILE_BYTES", 10)
    with pytest.raises(LimitError):
        example()


def test_findings_are_beside_their_place() -> None:
    """Those of readers at once, those of the linter when it has looked; entries by where they stand, not by their id."""
    book = {
        "entries": {
            "7": {"uid": 3, "key": ["a", 5], "content": "{{nonsense}}"},
            "8": {"uid": 4, "key": [], "content": "x"},
        }
    }
    file = WorkingFile("b", "b.json", json.dumps(book).encode())
    workspace = OpenWorkspace("t", [file], every=True)
    before = {finding.code for finding in workspace.file_view(file).findings}
    assert "no-keys" in before
    assert workspace.lint()
    assert not workspace.lint()
    found = {finding.code: finding.path for finding in workspace.file_view(file).findings}
    assert ("entries", "7", "content") in found.values()
    assert before < set(found)
    workspace.change(SettingsChange(tavern="risu"))
    assert workspace.lint()
    risu = {finding.message for finding in workspace.file_view(file).findings}
    assert any("there is no macro {{nonsense}}" in message for message in risu)


def test_every_tavern_is_shown() -> None:
    """With its messages, and its verdicts where it gives any."""
    workspace = example(message="Is the reef safe?")
    for tavern in TAVERNS:
        workspace.change(SettingsChange(tavern=tavern))
        inspection = inspected(workspace, build(workspace.request()))
        assert inspection.tavern == tavern
        assert inspection.messages
        assert [verdict.index for verdict in inspection.verdicts] == list(range(len(inspection.verdicts)))


@pytest.mark.parametrize("tavern", TAVERNS)
def test_every_tavern_builds_the_example(tavern: str) -> None:
    """Whatever files of other taverns bring: it builds, notes what has no effect, and every verdict has its place."""
    workspace = example(
        "wenna.png", "larks.lorebook.json", "skerrow.preset.json", "plain.context.json", "plain.instruct.json"
    )
    workspace.change(SettingsChange(tavern="silly", profile="sillytavern-1.19"))
    workspace.change(SettingsChange(tavern=tavern, message="Is the reef safe?"))
    view = workspace.view(WorkspaceOptions())
    assert view.profiles == TAVERNS[tavern].profiles
    assert view.settings.profile in {None, *view.profiles}
    inspection = inspected(workspace, build(workspace.request()))
    assert inspection.messages
    for verdict in inspection.verdicts:
        assert verdict.file in workspace.files
        assert verdict.path[-2:-1] in {("entries",), ("prompts",)}
    assert bool(inspection.verdicts) is (tavern in {"risu", "silly", "smart"})


def test_verdicts_of_smart_prompts_have_places() -> None:
    """A prompt of a preset that goes into the chat is in its file, an entry of a book in the tavern's words too."""
    folder = EXAMPLES / "smart"
    files = [WorkingFile(path.name, path.name, path.read_bytes(), writable=False) for path in sorted(folder.iterdir())]
    workspace = OpenWorkspace("smart", files, SettingsChange(tavern="smart"), every=True)
    verdicts = inspected(workspace, build(workspace.request())).verdicts
    places = {(verdict.file, verdict.path[:1]) for verdict in verdicts}
    assert ("preset.json", ("prompts",)) in places
    assert any(file == "world.json" for file, _ in places)
    brief = next(verdict for verdict in verdicts if verdict.title == "Brief")
    assert (brief.position, brief.order) == ("depth 1, system", 90)


def test_a_mend_writes_what_is_read_anyhow() -> None:
    """Applied, it takes the finding away and changes nothing in the prompt."""
    data = {
        "name": 5,
        "description": True,
        "character_version": 1.0,
        "extensions": {"depth_prompt": {"prompt": "p", "role": "x"}},
    }
    card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {**data, "first_mes": None, "creation_date": "7"}}
    book = {"entries": {"0": {"uid": 0, "key": ["a"], "content": 7, "constant": "yes", "order": "3", "role": "nobody"}}}
    for tree in (card, book):
        file = WorkingFile("f", "f.json", json.dumps(tree).encode())
        workspace = OpenWorkspace("t", [file], every=True)
        before = build(workspace.request()).fingerprint()
        mends = [finding.fix for finding in workspace.file_view(file).findings]
        assert sum(mend is not None for mend in mends) >= 3
        for mend in mends:
            if mend is not None:
                file.apply(mend, mend.value)
        assert not [one for one in workspace.file_view(file).findings if one.fix is not None]
        assert build(workspace.request()).fingerprint() == before


PROFILE = b"""
name = "wenna"
character = "wenna.png"
model = "gpt-4o"
provider = "openai"
authors_note = "The wreck is near."
options = {temperature = 0.3}
greeting = 0
"""


def test_a_profile_is_resolved_for_its_route_and_begins_with_a_greeting() -> None:
    """What stands in it alone is used too: its note, its options; a request among the files goes over it."""
    request = json.dumps({"options": {"top_p": 0.5}, "model": "gpt-4.1"}).encode()
    files = {"profile.toml": PROFILE, "wenna.png": (EXAMPLES / "wenna.png").read_bytes()}
    working = [WorkingFile(name, name, data) for name, data in files.items()]
    plan = planned(OpenWorkspace("test", working, SettingsChange(message="Hm?"), now="2026-01-01T00:00:00Z"))
    assert (plan.model, plan.dialect, plan.options["temperature"]) == ("gpt-4o", "openai", 0.3)
    assert any("The wreck is near." in message.content for message in plan.messages)
    assert "assistant" in [message.role for message in plan.messages]
    working.append(WorkingFile("own", "own.request.json", request))
    both = OpenWorkspace("test", working, SettingsChange(message="Hm?"), now="2026-01-01T00:00:00Z", every=True)
    assert planned(both).model == "gpt-4.1"
    assert planned(both).options.items() >= {"temperature": 0.3, "top_p": 0.5}.items()
