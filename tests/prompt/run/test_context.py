"""Context: the application's frozen snapshot (1-vibetavern-pipeline, *Context Contract*)."""

import copy
import pickle
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import given

from innkeeper.prompt import ConfigError, Context, FrozenDict, InnkeeperError, LimitError, UsageError
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.run.context import read_config, refuse_config, section_of, step_key, underscore
from tests.prompt.doubles import JSON, nested, objects


@dataclass(frozen=True)
class KeyCase:
    given: str
    key: str


@pytest.mark.parametrize(
    "case",
    [
        KeyCase("chatIndex", "chat_index"),
        KeyCase("use_probability", "use_probability"),
        KeyCase("JSONValue", "json_value"),
        KeyCase("a-b", "a_b"),
        KeyCase("Tavern::Kit", "tavern/kit"),
        KeyCase("LanguagePolicy", "language_policy"),
        KeyCase("model2Name", "model2_name"),
    ],
    ids=lambda case: case.given,
)
def test_keys_are_underscored(case: KeyCase) -> None:
    """The examples of tavernkit §2.2; underscoring twice changes nothing."""
    assert underscore(case.given) == case.key
    assert underscore(case.key) == case.key


def test_only_top_level_keys_are_normalised() -> None:
    """Nested keys are left as they are; blank keys are dropped (*Key normalization*)."""
    context = Context.build({"chatIndex": 1, "toggles": {"expandUserInput": True}, " ": 2})
    assert dict(context) == {"chat_index": 1, "toggles": {"expandUserInput": True}}


def test_values_are_read_as_items_and_attributes() -> None:
    """A key reads both ways; an unknown one is a KeyError or an AttributeError."""
    context = Context.build({"language_policy": {"enabled": True}})
    assert context["language_policy"] == context.language_policy == {"enabled": True}
    assert context.get("nothing", 5) == 5
    assert len(context) == 1
    with pytest.raises(KeyError):
        context["nothing"]
    with pytest.raises(AttributeError, match="nothing"):
        _ = context.nothing


def test_a_context_is_frozen_at_every_depth() -> None:
    """Neither the context, nor what is in it, nor the caller's dict afterwards can change it (*Immutability*)."""
    given: dict[str, Any] = {"a": {"b": [1]}}
    context = Context.build(given)
    given["a"]["b"].append(2)
    assert context.a == {"b": (1,)}
    for change in (lambda: setattr(context, "a", 1), lambda: context.a.update(b=2)):
        with pytest.raises((AttributeError, TypeError)):
            change()


def test_a_context_shows_no_values() -> None:
    """Its repr names keys only: values may be private."""
    assert "secret" not in repr(Context.build({"token": "secret"}))


def test_module_configs_are_apart_and_normalised() -> None:
    """Any spelling of the key and of step names; two spellings of one step merge."""
    context = Context.build({"moduleConfigs": {"LanguagePolicy": {"a": 1}, "language-policy": {"b": 2}}, "x": 1})
    assert dict(context) == {"x": 1}
    assert context.module_configs == {"language_policy": {"a": 1, "b": 2}}
    assert Context({"module_configs": {"a": {}}}, module_configs={"b": {"k": 1}}).module_configs == {"b": {"k": 1}}


@pytest.mark.parametrize("configs", [5, [], "x", {"a": 5}, {"a": [1]}])
def test_module_configs_of_another_shape_are_a_config_error(configs: Any) -> None:
    """They must map step names to mappings; B22: found when the context is built, not in mid-run."""
    with pytest.raises(ConfigError, match="module_configs must map step names"):
        Context.build({"module_configs": configs})


def test_b22_rebuilding_a_context_keeps_all_of_it() -> None:
    """B22: a context built from a context keeps type, id and module configs."""
    context = Context({"a": 1}, type="risuai", id="c1", module_configs={"s": {"k": 1}})
    assert Context.build(context) is context
    further = context.with_configs({"s": {"l": [2]}, "T": {}})
    assert (further.type, further.id, dict(further)) == ("risuai", "c1", {"a": 1})
    assert further.module_configs == {"s": {"k": 1, "l": (2,)}, "t": {}}
    assert context.module_configs == {"s": {"k": 1}}


def test_plain_data_gives_the_same_context_again() -> None:
    """`to_dict` and back, pickling and copying keep everything, type and id included."""
    context = Context({"a": [1, {"bC": 2}]}, type="risuai", id="c1", module_configs={"s": {"k": 1}})
    twins = [Context.build(context.to_dict()), copy.copy(context), copy.deepcopy(context)]
    for twin in (*twins, pickle.loads(pickle.dumps(context))):  # noqa: S301 - our own pickle
        assert twin == context
        assert hash(twin) == hash(context)
        assert (twin.type, twin.id, twin.module_configs) == ("risuai", "c1", {"s": {"k": 1}})


def test_contexts_differ_in_any_part() -> None:
    """Equality sees data, type, id and configs; against a plain mapping only the data."""
    context = Context({"a": 1})
    others = [
        Context({"a": 2}),
        Context({"a": 1}, type="x"),
        Context({"a": 1}, id="x"),
        context.with_configs({"s": {"k": 1}}),
    ]
    assert all(other != context for other in others)
    assert context == {"a": 1}


@pytest.mark.parametrize("raw", [5, "x", [1], object()])
def test_what_is_no_mapping_is_a_usage_error(raw: Any) -> None:
    """A context is a mapping or a Context; None is an empty one."""
    with pytest.raises(UsageError, match="must be a mapping"):
        Context.build(raw)
    assert Context.build(None) == Context({}, type="app")


def test_labels_must_be_text() -> None:
    """The type and id of a stored context are text or nothing."""
    with pytest.raises(UsageError):
        Context.build({"@type": 5})


def test_endless_data_is_a_limit() -> None:
    """Data nested 100,000 levels deep is a typed error."""
    for raw in ({"a": nested(100_000)}, {"module_configs": {"s": {"a": nested(100_000)}}}):
        with pytest.raises(LimitError):
            Context.build(raw)


@given(objects("moduleConfigs", "@type", "chatIndex") | JSON)
def test_any_json_is_a_context_or_a_typed_error(value: Any) -> None:
    """No JSON value raises anything else, and what is built is rebuilt from its plain data."""
    try:
        context = Context.build(value)
    except InnkeeperError:
        return
    assert Context.build(context.to_dict()) == context
    assert all(underscore(key).strip() == key for key in context)


def test_objects_in_a_context_stay_what_they_are() -> None:
    """An application may hand over objects (a token estimator); they are not taken apart."""
    thing = object()
    assert Context.build({"token_estimation": {"token_estimator": thing}}).token_estimation == FrozenDict(
        token_estimator=thing
    )


def test_step_keys_ignore_spelling() -> None:
    """Blanks, hyphens and camel case name the same step."""
    assert {step_key(name) for name in (" max_tokens ", "max-tokens", "MaxTokens", "maxTokens")} == {"max_tokens"}


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
    with pytest.raises(ConfigError, match="x: it must be a mapping, not a list"):
        section_of([], "x")
    with pytest.raises(ConfigError, match="x: no"):
        refuse_config("x", "no")
