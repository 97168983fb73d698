"""The application: made of settings that go together; without the extra it says what to install."""

import sys

import pytest

from innkeeper.prompt.errors import ConfigError, UnavailableError
from innkeeper.service import Gateway, Request, Settings, create_app
from innkeeper.service.app import library


@pytest.mark.parametrize("name", ["starlette", "uvicorn", "websockets"])
def test_missing(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A library that is not installed is named, with the extra that brings it."""
    for module in [found for found in sys.modules if found.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    with pytest.raises(UnavailableError) as caught:
        library(f"{name}.applications")
    assert (caught.value.hint, name in caught.value.message) == ("pip install 'innkeeper[serve]'", True)


def test_other_missing_module() -> None:
    """A module that an installed library lacks is not taken for a missing extra."""
    with pytest.raises(ModuleNotFoundError):
        library("starlette.nothing")


def test_settings_are_checked() -> None:
    """No application is made from settings that do not go together."""
    for make in (create_app, Gateway):
        with pytest.raises(ConfigError):
            make(Settings(host="0.0.0.0"))  # noqa: S104 - to be refused


def test_in_process() -> None:
    """The gateway answers without a server."""
    assert Gateway().answer(Request.of("GET", "/api/health")).status == 200
