"""Sections of a context: read as typed configs, or refused with their place."""

import msgspec
import pytest

from innkeeper.inference.sections import read_config, refuse_config, section_of
from innkeeper.prompt import ConfigError, FrozenDict
from innkeeper.prompt.data import EMPTY


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    number: int = 0
    facts: FrozenDict = EMPTY


def test_read() -> None:
    """Mappings are frozen at every depth."""
    assert read_config(Config, {"number": 1, "facts": {"a": [1]}}, "x") == Config(1, FrozenDict(a=(1,)))
    assert section_of(None, "x") == {}
    assert section_of({"a": 1}, "x") == {"a": 1}


@pytest.mark.parametrize("values", [{"number": "1"}, {"facts": [1]}, {"other": 1}])
def test_wrong_values(values: dict[str, object]) -> None:
    """What does not fit names the section and the keys there are."""
    with pytest.raises(ConfigError) as caught:
        read_config(Config, values, "x")
    assert caught.value.where is not None
    assert (caught.value.where.path, caught.value.hint) == ("x", "keys: number, facts")


def test_refuse() -> None:
    """A section of another kind, and a rule of its own, are refused alike."""
    with pytest.raises(ConfigError, match="x: it must be a mapping, not list"):
        section_of([], "x")
    with pytest.raises(ConfigError, match="x: no"):
        refuse_config("x", "no")
