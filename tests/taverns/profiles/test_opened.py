"""A profile with its files read."""

from pathlib import Path

import pytest

from innkeeper.prompt import ConfigError, InnkeeperError, LimitError, UnavailableError, UnknownNameError, UsageError
from innkeeper.taverns.profiles import opened
from innkeeper.taverns.profiles.files import FileNameError
from innkeeper.taverns.profiles.opened import Profiles, open_profile, profile_folders
from tests.taverns.profiles.folders import EXAMPLES, WENNA, profile_folder


def test_files_become_a_request(tmp_path: Path) -> None:
    """What the files hold is in the request that all turns have in common."""
    profile = open_profile(profile_folder(tmp_path / "wenna", WENNA + '[variables.local]\nmood = "calm"\n'))
    request = profile.request
    assert (profile.name, request.tavern) == ("wenna", "silly")
    assert (request.character.name, request.user.name) == ("Wenna Carrow", "Ansel")
    assert [book.name for book in request.lorebooks] == ["The Lark Islands"]
    assert request.preset.raw["temperature"] == 0.7
    assert request.variables == {"local": {"mood": "calm"}}
    assert profile.findings == ()


def test_content_can_stand_in_a_profile() -> None:
    """A mapping with content, or with files by their names, is a profile as well."""
    inline = open_profile(
        {"name": "a", "character": {"name": "Ann"}, "persona": {"name": "Bo", "description": "a clerk"}}
    )
    assert inline.request.character["name"] == "Ann"
    data = (EXAMPLES / "wenna.png").read_bytes()
    assert open_profile({"name": "a", "character": "c.png"}, {"c.png": data}).request.character.name == "Wenna Carrow"


def test_a_group(tmp_path: Path) -> None:
    """Members of a group are cards, with their files' names and the settings of the group."""
    text = '[group]\nmembers = ["wenna.png", {card = "tobin.json", tags = ["boy"]}]\nactivation_strategy = 1\n'
    request = open_profile(profile_folder(tmp_path / "both", text)).request
    assert request.group["activation_strategy"] == 1
    wenna, tobin = request.group["members"]
    assert wenna.name == "Wenna Carrow"
    assert (tobin["filename"], tobin["tags"]) == ("tobin.json", ("boy",))


def test_templates_are_settings(tmp_path: Path) -> None:
    """Templates beside a preset become settings, and the profile's own go over them."""
    folder = profile_folder(tmp_path / "a", 'preset = ["skerrow.preset.json", "c.json"]\n[settings]\nchat_id = "x"\n')
    (folder / "c.json").write_bytes((EXAMPLES / "plain.context.json").read_bytes())
    settings = open_profile(folder).request.settings
    assert set(settings) == {"text", "chat_id"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('character = "../wenna.png"', FileNameError),
        ('character = "none.png"', UnavailableError),
        ('character = "skerrow.preset.json"', InnkeeperError),
        ('tavernn = "silly"', ConfigError),
    ],
)
def test_what_cannot_be_opened_names_the_file(tmp_path: Path, text: str, kind: type[InnkeeperError]) -> None:
    """An error of a profile says which of its files it is about."""
    with pytest.raises(kind) as error:
        open_profile(profile_folder(tmp_path / "a", text))
    assert error.value.where is not None
    assert error.value.where.asset


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and their sizes are bounded, and so is how many profiles there are."""
    folder = profile_folder(tmp_path / "a")
    for name in ("MAX_FILES", "MAX_VOLUME"):
        with monkeypatch.context() as patch:
            patch.setattr(opened, name, 2)
            with pytest.raises(LimitError, match=name):
                open_profile(folder)
    monkeypatch.setattr(opened, "MAX_PROFILES", 0)
    with pytest.raises(LimitError, match="MAX_PROFILES"):
        Profiles([folder])


def test_profiles_are_read_once_until_they_change(tmp_path: Path) -> None:
    """A profile is the same until one of its files changes."""
    folder = profile_folder(tmp_path / "inn" / "wenna")
    profiles = Profiles([tmp_path / "inn"])
    before = profiles["wenna"]
    assert profiles["wenna"] is before
    (folder / "ansel.persona.json").write_text('{"name": "Bo", "description": "a clerk"}')
    assert profiles["wenna"].request.user.name == "Bo"
    assert profiles["wenna"].digest != before.digest
    (folder / "profile.toml").write_text("nonsense = 1")
    with pytest.raises(ConfigError):
        profiles["wenna"]


def test_profiles_by_name(tmp_path: Path) -> None:
    """A folder of profiles gives each by its name; one name is one profile."""
    for name in ("ann", "bo"):
        profile_folder(tmp_path / "inn" / name, 'character = "wenna.png"')
    profiles = Profiles([tmp_path / "inn", tmp_path / "inn" / "bo"])
    assert list(profiles) == ["ann", "bo"]
    assert len(profiles) == 2
    assert "bo" in profiles
    assert profiles.folder("bo") == tmp_path / "inn" / "bo"
    for ask in (profiles.__getitem__, profiles.folder):
        with pytest.raises(UnknownNameError) as error:
            ask("an")
        assert error.value.hint == "did you mean 'ann'?"
    profile_folder(tmp_path / "other", 'name = "ann"')
    with pytest.raises(UsageError, match="two profiles"):
        Profiles([tmp_path / "inn", tmp_path / "other"])


def test_a_new_profile_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that comes later is looked for when its name is asked for, but not with every wrong name."""
    moment = [0.0]
    monkeypatch.setattr(opened, "monotonic", lambda: moment[0])
    profile_folder(tmp_path / "inn" / "ann", 'character = "wenna.png"')
    profiles = Profiles([tmp_path / "inn"])
    profile_folder(tmp_path / "inn" / "bo", 'character = "wenna.png"')
    assert "bo" not in profiles
    moment[0] = 2.0
    assert profiles["bo"].name == "bo"
    (tmp_path / "inn" / "bo" / "profile.toml").write_text("nonsense = 1")
    moment[0] = 4.0
    assert "cy" not in profiles
    assert "ann" in profiles


def test_no_profile(tmp_path: Path) -> None:
    """A folder without a profile says how one is made."""
    for ask in (open_profile, profile_folders):
        with pytest.raises(UnavailableError) as error:
            ask(tmp_path)
        assert "profile new" in (error.value.hint or "")
