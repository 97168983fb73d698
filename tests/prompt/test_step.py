"""Step and StepConfig: typed options that fail early."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given

from innkeeper.prompt import ConfigError, FrozenDict, NoConfig, State, Step, StepConfig, UsageError, Where
from tests.prompt.doubles import JSON, objects, step


class Options(StepConfig, frozen=True, kw_only=True):
    """Options of every kind."""

    count: int = 1
    names: tuple[str, ...] = ()
    table: FrozenDict = FrozenDict()
    build: Any = None

    def __post_init__(self) -> None:
        """A rule that types cannot say."""
        if self.count < 0:
            raise ValueError("count must not be negative")


def _run(_state: State, _config: Options) -> None: ...


STEP = Step("language_policy", _run, Options)


def test_plain_values_become_a_frozen_config() -> None:
    """JSON-like options are typed; callables pass as they are."""
    config = STEP.configure({"count": 2, "names": ["a"], "table": {"a": {"b": 1}}, "build": len})
    assert config == Options(count=2, names=("a",), table=FrozenDict(a=FrozenDict(b=1)), build=len)
    with pytest.raises(AttributeError):
        config.count = 3  # type: ignore[misc]


def test_a_config_passes_through() -> None:
    """An instance of the step's own config is taken as it is (tavernkit §2.4)."""
    config = Options(count=2)
    assert STEP.configure(config) is config


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"cuont": 1}, "unknown field `cuont`"),
        ({"count": "1"}, "Expected `int`"),
        ({"count": -1}, "must not be negative"),
        ({"table": 5}, "expected FrozenDict"),
        ({5: 1}, "Expected `str`"),
        (5, "expected a mapping, got int"),
        (NoConfig(), "expected a mapping, got NoConfig"),
    ],
    ids=["unknown", "type", "rule", "table", "key", "number", "another-config"],
)
def test_options_that_do_not_fit_are_a_config_error(values: Any, says: str) -> None:
    """Unknown keys fail fast; the error names the step and lists its keys (*Step Config Reference*)."""
    with pytest.raises(ConfigError, match=f"invalid config for step language_policy: .*{says}") as caught:
        STEP.configure(values)
    assert caught.value.where == Where("configuration", "language_policy")
    assert caught.value.hint == "keys: count, names, table, build"


def test_a_step_without_options_refuses_any() -> None:
    """Every key is an error, and the hint says that there are none."""
    with pytest.raises(ConfigError) as caught:
        step("prepare").configure({"token_estimator": 1})
    assert caught.value.hint == "keys: none"


@given(objects("count", "names", "table", "build") | JSON)
def test_any_json_is_a_config_or_a_config_error(values: Any) -> None:
    """No JSON value raises anything else."""
    try:
        config = STEP.configure(values)
    except ConfigError:
        return
    assert config.count >= 0


@pytest.mark.parametrize("name", ["LanguagePolicy", "language-policy", "", " x"])
def test_names_are_snake_case(name: str) -> None:
    """A name is what configurations spell."""
    with pytest.raises(UsageError, match="must be snake case"):
        Step(name, _run, Options)


class Foreign(msgspec.Struct):
    """A struct that is no step config."""


@pytest.mark.parametrize("fields", [{"run": 5}, {"config": Foreign}, {"config": Options()}, {"config": Mapping}])
def test_a_step_needs_a_function_and_a_config_class(fields: dict[str, Any]) -> None:
    """What could only fail later fails at once."""
    with pytest.raises(UsageError, match="needs a callable run and a StepConfig class"):
        Step(**{"name": "x", "run": _run, "config": Options, **fields})
