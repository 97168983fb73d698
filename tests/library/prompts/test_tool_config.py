"""Tools and secrets: the same whatever they are kept in, with settings of the right types or an error that names the place."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from innkeeper.library.db.engine import Database
from innkeeper.library.errors import NotFoundError
from innkeeper.library.models.stores import ToolStore
from innkeeper.library.prompts.tool_config import (
    Secrets,
    ToolConfig,
    ToolDAO,
    ToolNotFoundError,
    Tools,
)
from innkeeper.library.vault.keys import FileKeys
from innkeeper.library.vault.vault import Vault
from innkeeper.prompt.errors import ConfigError, UnavailableError

SETTINGS: Mapping[str, Any] = {
    "provider": "ollama",
    "model": "gemma3:1b",
    "base_url": "http://127.0.0.1:11434",
    "api_key_secret": "gemma",
    "temperature": 0,
    "max_output_tokens": 64.0,
    "top_p": 0.5,
    "tools": [{"type": "function", "name": "sum"}],
    "stop": ["\n"],
}


def test_settings() -> None:
    """Every known key has its field, zeros included; the others go along."""
    tool = ToolConfig.of("t", SETTINGS)
    assert (tool.provider, tool.model, tool.base_url, tool.api_key_secret) == tuple(SETTINGS.values())[:4]
    assert (tool.temperature, tool.max_output_tokens, tool.top_p) == (0, 64, 0.5)
    assert [dict(one) for one in tool.tools] == SETTINGS["tools"]
    assert dict(tool.settings) == {"stop": ("\n",)}
    assert ToolConfig.of("t", {}) == ToolConfig(name="t")


def test_columns_win() -> None:
    """What a row says itself counts before its settings."""
    tool = ToolConfig.of("t", SETTINGS, model="other", provider=None)
    assert (tool.model, tool.provider) == ("other", "ollama")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", "0.2"),
        ("temperature", True),
        ("max_output_tokens", 64.9),
        ("max_output_tokens", "64"),
        ("top_p", [1]),
        ("model", 5),
        ("base_url", {}),
        ("tools", {"name": "sum"}),
        ("tools", ["sum"]),
    ],
)
def test_a_setting_of_the_wrong_type(field: str, value: Any) -> None:
    """Nothing is made of something else, or passed over."""
    with pytest.raises(ConfigError) as failed:
        ToolConfig.of("t", {field: value})
    assert failed.value.where is not None
    assert failed.value.where.path == f"t.settings.{field}"


@pytest.fixture(params=["memory", "database"])
def tools(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ToolDAO]:
    """Tools in memory and in a database."""
    if request.param == "memory":
        yield Tools(ToolConfig.of("gemma", SETTINGS))
        return
    with Database.open(tmp_path / "library.db") as db:
        ToolStore(db).put({"name": "gemma", "settings": SETTINGS})
        ToolStore(db).put({"name": "asleep", "settings": SETTINGS, "is_active": False})
        yield Tools(db=db)


def test_found(tools: ToolDAO) -> None:
    """The same tool."""
    assert tools.get_tool_by_name("gemma") == ToolConfig.of("gemma", SETTINGS)


@pytest.mark.parametrize("name", ["gema", "", "asleep", "x" * 1000, "\0", "'; --"])
def test_not_found(tools: ToolDAO, name: str) -> None:
    """Always the same error: 404, with its code, and a name that was probably meant."""
    with pytest.raises(ToolNotFoundError) as failed:
        tools.get_tool_by_name(name)
    assert (failed.value.http_status, failed.value.exit_code, failed.value.code) == (404, 2, "tool_not_found")
    assert name != "gema" or "gemma" in str(failed.value.hint)


def test_secrets(tmp_path: Path) -> None:
    """A secret is given as one that does not show itself; one that is not set is `NotFoundError`."""
    with Database.open(tmp_path / "library.db") as db:
        vault = Vault(db, FileKeys(tmp_path / "key"))
        vault.init()
        vault.set("gemma", "open sesame")
        for where in (Secrets(vault), Secrets({"gemma": "open sesame"})):
            assert where.get_secret("gemma").reveal() == "open sesame"
            assert "sesame" not in repr(where.get_secret("gemma"))
            with pytest.raises(NotFoundError):
                where.get_secret("other")
    with pytest.raises(UnavailableError):
        Secrets(None).get_secret("gemma")
