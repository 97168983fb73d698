"""Settings: one rule of where a value comes from, whatever is asked for."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli.settings.settings import MAX_CONFIG_BYTES, PROVIDERS, SETTINGS, SettingValue, UserSettings
from innkeeper.prompt.errors import ConfigError, FormatError, InnkeeperError, LimitError, UnknownNameError
from innkeeper.tokens.table.catalogue import known_window, use_catalogue


def settings(path: Path, text: str = "", **environ: str) -> UserSettings:
    """The settings of a file with this text."""
    file = path / "config.toml"
    file.write_text(text, "utf-8")
    return UserSettings.read(environ, file)


@pytest.mark.parametrize(
    ("option", "environ", "text", "value", "source"),
    [
        ("vibe", {"INNKEEPER_TAVERN": "smart"}, 'tavern = "silly"', "vibe", "option"),
        (None, {"INNKEEPER_TAVERN": "smart"}, 'tavern = "vibe"', "smart", "environment"),
        (None, {"INNKEEPER_TAVERN": ""}, 'tavern = "vibe"', "vibe", "file"),
        ((), {}, 'tavern = "vibe"', "vibe", "file"),
        (None, {}, "", "silly", "default"),
    ],
)
def test_precedence(tmp_path: Path, option: Any, environ: dict[str, str], text: str, value: str, source: str) -> None:
    """An option wins over the environment, that over the file, that over the default; what is empty says nothing."""
    got = settings(tmp_path, text, **environ).value("tavern", option)
    assert (got.value, got.source) == (value, source)
    places = {"environment": "INNKEEPER_TAVERN", "file": str(tmp_path / "config.toml")}
    assert got.place == places.get(source, "")


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("context_window = 8192", "context_window", 8192),
        ('context_window = "8192"', "context_window", 8192),
        ("[limits]\nseconds = 0.5", "limits.seconds", 0.5),
        ("limits.steps = 7", "limits.steps", 7),
        ("logging = false", "logging", False),
        ('logging = "off"', "logging", False),
        ('model = "local:mine"', "model", "local:mine"),
        ('base_url = "openrouter"', "base_url", "openrouter"),
        ('base_url = "http://localhost:1/v1"', "base_url", "http://localhost:1/v1"),
        ('persona = "/me.json"', "persona", Path("/me.json")),
    ],
)
def test_types(tmp_path: Path, line: str, name: str, value: Any) -> None:
    """A value is read as its setting's type, from TOML and from a text."""
    assert settings(tmp_path, line).get(name) == value


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("context_window = -1", "context_window"),
        ("context_window = true", "context_window"),
        ("context_window = 1.5", "context_window"),
        ("limits.seconds = 0", "limits.seconds"),
        ("limits.seconds = nan", "limits.seconds"),
        ("limits.seconds = true", "limits.seconds"),
        ('limits.seconds = "soon"', "limits.seconds"),
        ('logging = "perhaps"', "logging"),
        ("model = 5", "model"),
        ('model = " "', "model"),
        ('model = "a\\u001bb"', "model"),
        ('base_url = "ftp://x"', "base_url"),
        ("persona = []", "persona"),
    ],
)
def test_wrong_values(tmp_path: Path, line: str, name: str) -> None:
    """A value of another type is refused where it is wanted, with file and name; other settings are not held up by it."""
    read = settings(tmp_path, line)
    with pytest.raises(ConfigError) as caught:
        read.get(name)
    assert caught.value.where is not None
    assert (caught.value.where.asset, caught.value.where.path) == (str(tmp_path / "config.toml"), name)
    assert read.get("tavern") == "silly"


def test_wrong_value_of_a_variable(tmp_path: Path) -> None:
    """A wrong value of the environment names its variable."""
    with pytest.raises(ConfigError, match="INNKEEPER_RESERVE: not a whole number from 0: 'many'"):
        settings(tmp_path, INNKEEPER_RESERVE="many").get("reserve")


@dataclass(frozen=True)
class Case:
    text: str
    error: type[InnkeeperError]
    words: str


@pytest.mark.parametrize(
    "case",
    [
        Case('modle = "x"', UnknownNameError, "did you mean 'model'"),
        Case("[limits]\nsecond = 1", UnknownNameError, "did you mean 'limits.seconds'"),
        Case('api_key = "sk-1"', UnknownNameError, "innkeeper keys set"),
        Case("[aliases.persons]\nx = 'y'", UnknownNameError, "unknown setting 'aliases.persons.x'"),
        Case("model = \n", FormatError, "config.toml:1:9"),
        Case("model = 'x'\nmodel = 'y'", FormatError, "not TOML: Cannot overwrite a value"),
        Case("#" * (MAX_CONFIG_BYTES + 1), LimitError, "MAX_CONFIG_BYTES"),
    ],
    ids=lambda case: case.words,
)
def test_files_that_cannot_be_used(tmp_path: Path, case: Case) -> None:
    """Unknown names and what is not TOML are refused, and the error says where and how to mend it."""
    with pytest.raises(case.error) as caught:
        settings(tmp_path, case.text)
    text = caught.value.render()
    assert case.words in text
    assert "sk-1" not in text


def test_no_file(tmp_path: Path) -> None:
    """Without a file all settings have their defaults."""
    read = UserSettings.read({}, tmp_path / "none" / "config.toml")
    assert list(read.values()) == [SettingValue(name, setting.default, "default") for name, setting in SETTINGS.items()]


def test_tables(tmp_path: Path) -> None:
    """Aliases and providers are read from their tables; paths are meant from its folder, unless a file here has the name."""
    text = '[aliases.models]\nfast = "m"\n"gpt-4.1" = "n"\n[aliases.cards]\nwenna = "wenna.png"\n[providers]\nmine = "http://m"'
    read = settings(tmp_path, text)
    assert read.table("aliases.models") == {"fast": "m", "gpt-4.1": "n"}
    assert read.card("wenna") == str(tmp_path / "wenna.png")
    assert read.card(str(tmp_path)) == str(tmp_path)
    assert read.card("nobody") == "nobody"
    assert (read.address("mine"), read.address("openai")) == ("http://m", PROVIDERS["openai"])
    assert read.address("https://else.example") == "https://else.example"
    with pytest.raises(UnknownNameError, match="unknown provider"):
        read.address("opnai")
    assert [value.name for value in read.values()][-4:] == [
        "aliases.models.fast",
        "aliases.models.gpt-4.1",
        "aliases.cards.wenna",
        "providers.mine",
    ]


def test_providers_are_addresses() -> None:
    """Each provider that is known by name is reached safely: over TLS, or on this machine."""
    assert all(url.startswith(("https://", "http://localhost:")) for url in PROVIDERS.values())


def test_a_catalogue_of_models_is_used_when_it_is_named(tmp_path: Path) -> None:
    """Whoever reads the settings knows the models of the operator's file; a path is meant from the configuration's folder."""
    (tmp_path / "models.json").write_text('{"date": "2026-01-01", "models": [{"names": ["tern-7b"], "window": 2048}]}')
    try:
        settings(tmp_path, 'catalogue = "models.json"')
        assert known_window("tern-7b") == 2_048
    finally:
        use_catalogue(None)
    assert known_window("tern-7b") is None
