"""The factory: what is checked, in which order, and the model that runs beside this process is loaded once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.client.model_clients import AsyncModelClient, ModelClient
from innkeeper.inference.local import model
from innkeeper.inference.local.shared import LocalModels
from innkeeper.inference.routing.models import RouteModels
from innkeeper.inference.routing.route import Routes
from innkeeper.library.prompts.llm_factory import LLMFactory
from innkeeper.library.prompts.tool_config import LOCAL_TOOL, ToolConfig
from innkeeper.prompt.errors import ConfigError, UnknownNameError, UsageError
from innkeeper.prompt.machine import Secret


@pytest.mark.parametrize(
    ("config", "error", "words"),
    [
        (None, ConfigError, "configuration is missing"),
        (ToolConfig(name="t", provider="acme"), ConfigError, "names no model"),
        (ToolConfig(name="t", model="m"), ConfigError, "names no provider"),
        (ToolConfig(name="t", model="m", provider="acme"), UnknownNameError, "acme"),
    ],
)
def test_checks(config: ToolConfig | None, error: type[Exception], words: str) -> None:
    """A model is missed before its provider is looked for."""
    with pytest.raises(error, match=words):
        LLMFactory().new_llm(config)


def test_a_provider_in_any_case() -> None:
    """Its name is taken as meant; the address is the tool's own where it has one; the key is not shown."""
    config = ToolConfig(name="t", model="m", provider=" OpenAI ", base_url="http://localhost:1")
    llm = LLMFactory().new_llm(config, Secret("sesame"))
    assert (llm.dialect, llm.base_url, llm.model) == ("openai", "http://localhost:1", "m")
    assert "sesame" not in repr(llm)
    assert llm.open().endpoint.base_url == "http://localhost:1"
    assert LLMFactory().new_llm(config, model="n").model == "n"


class FakeModel:
    """A model that counts how often it was loaded and let go."""

    opened: list[str] = []  # noqa: RUF012 - what the class counts
    closed: list[str] = []  # noqa: RUF012

    def __init__(self, name: str) -> None:
        self.name = name

    @classmethod
    def open(cls, name: str, **_: Any) -> "FakeModel":
        """Load it."""
        cls.opened.append(name)
        return cls(name)

    def close(self) -> None:
        """Let it go."""
        self.closed.append(self.name)


def test_a_local_model_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By whoever comes first, and let go by whoever had it loaded."""
    monkeypatch.setattr(model, "LocalModel", FakeModel)
    shared, config = LocalModels(), LOCAL_TOOL
    for factory in (LLMFactory(), LLMFactory(local=shared), LLMFactory(local=shared)):
        with ThreadPoolExecutor(8) as pool:
            made: list[Any] = list(pool.map(factory.new_llm, [config] * 8))
        assert len({id(llm.local) for llm in made}) == 1
        factory.close()
    assert (len(FakeModel.opened), len(FakeModel.closed)) == (2, 1)
    shared.close()
    assert len(FakeModel.closed) == 2


@pytest.mark.parametrize(
    "make",
    [
        LLMFactory,
        partial(RouteModels, Routes()),
        partial(ModelClient, ADAPTERS["openai-chat"]),
        partial(AsyncModelClient, ADAPTERS["openai-chat"]),
    ],
)
def test_a_setting_of_clients_that_there_is_not(make: Callable[..., object]) -> None:
    """It is refused at once, with the nearest, not when a model is asked."""
    with pytest.raises(UsageError) as caught:
        make(timout=1)
    assert caught.value.hint == "did you mean 'timeout'?"
