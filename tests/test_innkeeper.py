"""The public face: which names there are, and what importing them costs."""

import importlib
import importlib.metadata
import subprocess
import sys

import pytest

import innkeeper

PUBLIC = [
    "AsyncClient",
    "AsyncPromptRunner",
    "Block",
    "BuildInputs",
    "BuildRequest",
    "Character",
    "Chat",
    "ChatDatabase",
    "ChatLog",
    "Client",
    "Context",
    "FakeClient",
    "InnkeeperError",
    "InputError",
    "Library",
    "LimitError",
    "Lorebook",
    "Message",
    "Persona",
    "Pipeline",
    "Plan",
    "Ports",
    "PrepareRequest",
    "Preset",
    "PromptRunner",
    "ProviderError",
    "ReplayBundle",
    "RouteClient",
    "RunnerConfig",
    "Session",
    "State",
    "Step",
    "StepConfig",
    "Tavern",
    "ToolLoopRunner",
    "UsageError",
    "__version__",
    "build",
    "convert",
    "create_app",
    "default_counter",
    "load_character",
    "load_chat",
    "load_lorebook",
    "load_persona",
    "load_preset",
    "replay",
    "tool",
]
"""Change this list on purpose only: it is what users import."""

HEAVY = {
    "alembic",
    "anthropic_tokenizer",
    "ahocorasick_rs",
    "asyncio",
    "click",
    "cryptography",
    "hypothesis",
    "httpx",
    "jsonschema",
    "langcodes",
    "liquid",
    "msgspec",
    "pg8000",
    "pydantic_monty",
    "quickjs",
    "rich",
    "sqlalchemy",
    "starlette",
    "tiktoken",
    "tokenizers",
    "uvicorn",
    "xllamacpp",
    "yaml",
}


def imported_by(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after running ``code``."""
    script = f"{code}\nimport sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-I", "-c", script], check=True, capture_output=True, text=True)
    return set(done.stdout.splitlines()[-1].split())


HOMES = {name: home for home, names in innkeeper._HOMES.items() for name in names}


def test_public_names_are_pinned() -> None:
    """The public list is exactly the pinned one, sorted."""
    assert innkeeper.__all__ == PUBLIC
    assert sorted(innkeeper.__all__) == innkeeper.__all__
    assert dir(innkeeper) == PUBLIC


def test_each_public_name_has_a_home() -> None:
    """The table of homes names each public name once, and nothing else."""
    assert sorted([*HOMES, "__version__"]) == innkeeper.__all__


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "__version__"])
def test_public_name_is_that_of_its_home(name: str) -> None:
    """A public name is the very object that its home publishes."""
    home = importlib.import_module(f"innkeeper.{HOMES[name]}")
    assert getattr(innkeeper, name) is getattr(home, name)


def test_unknown_name_is_an_attribute_error() -> None:
    """A name that does not exist fails as on any module."""
    with pytest.raises(AttributeError, match="no attribute 'Inn'"):
        innkeeper.Inn  # noqa: B018 - asking is the test


def test_version_is_that_of_the_package() -> None:
    """The version in the code is the one that was installed."""
    assert innkeeper.__version__ == importlib.metadata.version("innkeeper")


def test_python_m() -> None:
    """``python -m innkeeper`` is the command."""
    words = [sys.executable, "-m", "innkeeper", "--version"]
    assert subprocess.run(words, check=True, capture_output=True, text=True).stdout.endswith(
        f"{innkeeper.__version__}\n"
    )


def test_import_is_light() -> None:
    """``import innkeeper`` loads no library that a build may need later."""
    assert imported_by("import innkeeper").isdisjoint(HEAVY)


def test_help_is_light() -> None:
    """``innkeeper --help`` loads click and no other library."""
    loaded = imported_by("from innkeeper.cli import main\nmain(['--help'])")
    assert loaded & HEAVY <= {"click"}
