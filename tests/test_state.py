"""What the pages say of the product's state is true: extras, what is not there yet, and ourselves beside others."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from typing import Final

import pytest

from innkeeper.inference.adapters.providers import PROVIDERS
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.lazy import EXTRAS
from innkeeper.service.guard.grants import Grant
from innkeeper.service.inspector.surface import Inspector
from innkeeper.service.telemetry import spans
from innkeeper.tokens import default_counter
from tests.shared import ROOT

README: Final = (ROOT / "README.md").read_text("utf-8")
COMPARISON: Final = (ROOT / "docs" / "comparison.md").read_text("utf-8")
PYPROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
FOR_DEVELOPERS: Final = {"docs", "test", "dev"}


@cache
def sources() -> str:
    """All that the package is made of, in one text."""
    files = (ROOT / "src" / "innkeeper").rglob("*")
    return "\n".join(path.read_text("utf-8") for path in files if path.suffix in {".py", ".json"})


def requirements(extra: str) -> set[str]:
    """The distributions that an extra brings, those of the extras that it names among them."""
    names: set[str] = set()
    for line in PYPROJECT[extra]:
        name, inner = re.match(r"([\w.-]+)(?:\[([\w,-]+)\])?", line).groups()  # type: ignore[union-attr]
        names |= set().union(*map(requirements, inner.split(","))) if name == "innkeeper" else {name.lower()}
    return names


@cache
def installed() -> dict[str, set[str]]:
    """The distributions of each module that is installed."""
    distributions = packages_distributions().items()
    return {module: {name.lower().replace("_", "-") for name in names} for module, names in distributions}


def modules(distribution: str) -> set[str]:
    """The modules of a distribution: those that are installed, else the one of its name."""
    there = {module for module, names in installed().items() if distribution in names}
    return there or {distribution.replace("-", "_")}


def test_extras_are_listed() -> None:
    """The table has each extra for users once, and no other; nothing else is said of extras."""
    rows = re.findall(r"^\| (`[^|]+`) \|", README, re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"`([\w-]+)`", row)]
    assert sorted(listed) == sorted(PYPROJECT.keys() - FOR_DEVELOPERS)


@pytest.mark.parametrize("extra", sorted(PYPROJECT.keys() - FOR_DEVELOPERS))
def test_what_extras_bring_is_used(extra: str) -> None:
    """Each distribution of an extra has a module that the source names."""
    used = {
        name for name in requirements(extra) if any(re.search(rf"\b{module}\b", sources()) for module in modules(name))
    }
    assert requirements(extra) - used == set()


@pytest.mark.parametrize("module", EXTRAS)
def test_missing_libraries_name_their_extra(module: str) -> None:
    """The extra that an error names is there, and brings the library."""
    assert any(module in modules(name) for name in requirements(EXTRAS[module]))


@pytest.mark.parametrize(
    ("extra", "model"),
    [
        ("vocab", "deepseek-chat"),
        ("vocab", "qwen2.5"),
        ("vocab-mistral", "open-mixtral-8x22b"),
        ("vocab-gpt2", "gpt2"),
        ("vocab-clip", "clip"),
        ("vocab-more", "glm-4.6"),
        ("vocab-more", "minimax-m2"),
    ],
)
def test_vocabularies_count_exactly(extra: str, model: str) -> None:
    """With an extra's vocabulary the models of its row are counted exactly; without it the description names the extra."""
    facts = default_counter().describe(model)
    assert facts["exact"] or extra in str(facts["fallbacks"])
    if all(find_spec(module) for name in requirements(extra) for module in modules(name)):
        assert facts["exact"]


def test_examples_in_the_wheel() -> None:
    """The wheel has the files of the project's examples by name, and Git passes over what else lies there."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    listed = [name for name in wheel["force-include"] if name.startswith("examples")]
    allowed = re.findall(r"^!/(examples/\S+)", (ROOT / ".gitignore").read_text("utf-8"), re.MULTILINE)
    assert all((ROOT / name).is_file() for name in listed)
    assert all(f"{name.rpartition('/')[0]}/" in allowed or name in allowed for name in listed)
    assert {name for name in allowed if not name.endswith("/")} <= {*listed}
    assert {f"examples/smart/{path.name}" for path in (ROOT / "examples" / "smart").iterdir()} <= {*listed}


NOT_YET: Final = {
    "extensions in JavaScript": find_spec("innkeeper.extensions") is None,
}
"""What is not there, and that it is not."""


def test_what_is_not_there_yet() -> None:
    """The README names what is not there, and nothing that is."""
    said = re.search(r"Not there yet: ([^.]*)\.", README)
    assert said is not None
    assert [" ".join(item.split()) for item in said[1].split(",")] == [*NOT_YET]
    assert all(NOT_YET.values())


CLAIMS: Final = {
    "providers": (
        f"{len(PROVIDERS)} by name and any address of your own, {len(ADAPTERS.keys() - {'local', 'worker'})} protocols"
    ),
    "quotas, budgets and keys for many people": "keys with scopes, rates, tokens and money",
    "a page to look at": "the inspector: prompts, reasons, templates",
    "traces and scores of what was sent": "a log and spans, without scores",
}
"""What the comparison says of us, where it can be counted or looked up."""


@pytest.mark.parametrize("row", CLAIMS)
def test_claims_about_ourselves(row: str) -> None:
    """A row of the comparison says of us what is so."""
    assert f"| {row} | {CLAIMS[row]} |" in COMPARISON


def test_what_the_claims_name_is_there() -> None:
    """A key has scopes and quotas, and there are an inspector and spans, as the comparison says."""
    assert {"scope", "rate", "tokens", "spend"} <= {*Grant.__struct_fields__}
    assert callable(Inspector)
    assert callable(spans)
