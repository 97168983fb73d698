"""What counts are remembered under."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import TokenCounter
from innkeeper.prompt.allowance import AllowanceError, BuildLimits, allowed
from innkeeper.prompt.errors import UnavailableError
from innkeeper.tokens import (
    MODELS,
    VOCABULARIES,
    BoundedCache,
    Counter,
    Foreign,
    Vocabularies,
    counter,
    default_counter,
)
from innkeeper.tokens.counter import DIGEST_ABOVE, TextKey, key_bytes, text_key
from tests.tokens.doubles import Broken, Panic, Words
from tests.tokens.engines.test_model_files import words
from tests.tokens.texts import HOSTILE, LANGUAGES


@pytest.mark.parametrize(("length", "kind"), [(DIGEST_ABOVE, str), (DIGEST_ABOVE + 1, bytes)])
def test_long_texts_are_kept_as_digests(length: int, kind: type) -> None:
    """Up to the limit a key holds the text, above it 20 bytes."""
    assert isinstance(text_key("a", "x" * length)[1], kind)
    assert key_bytes(text_key("a", "x" * length)) < DIGEST_ABOVE + 100


def test_keys_differ_by_tokenizer_and_text() -> None:
    """The same text under another tokenizer is another key; so is one lone surrogate beside another."""
    assert len({text_key("a", "x"), text_key("b", "x"), text_key("a", "y")}) == 3
    assert text_key("a", "\ud800" * 2000) != text_key("a", "\ud801" * 2000)


ANY_MODEL = st.sampled_from(
    [None, "gpt-4o", "gpt-4", "claude-3-opus", "claude-2", "qwen3-8b", "my-model", "", "\0*[", "ÿ/:"]
)
ANY_TEXT = st.text(st.characters(codec=None), max_size=200)


@dataclass(frozen=True)
class Case:
    """A count anybody can check by the published tokenizer of the model."""

    model: str
    text: str
    tokens: int


KNOWN = [
    Case("gpt-4o", "", 0),
    Case("gpt-4o", "hello world", 2),
    Case("gpt-4", "hello world", 2),
    Case("gpt-4", "tiktoken is great!", 6),
    Case("gpt-4o", "a" * 64, 8),
    Case("gpt-4o", "!" * 64, 4),
    Case("gpt-4o", "1234567890", 4),  # three digits a token
    Case("gpt-4", "お誕生日おめでとう", 9),
    Case("gpt-4o", "お誕生日おめでとう", 8),
    Case("gpt-4", "<|endoftext|>", 7),
    Case("qwen3-8b", "1234567890", 10),  # a digit a token
    Case("claude-2.1", "hello world!", 3),
]


@pytest.mark.parametrize("case", KNOWN, ids=lambda case: f"{case.model}: {case.text[:12]}")
def test_known_counts(case: Case) -> None:
    """Counts that are known from elsewhere."""
    assert default_counter().count(case.text, case.model) == case.tokens


@pytest.mark.parametrize(
    ("model", "tokenizer"), [("gpt2", "gpt2"), ("gpt-2", "gpt2"), ("openai-community/gpt2", "gpt2")]
)
def test_a_vocabulary_that_is_installed_counts_its_models(model: str, tokenizer: str) -> None:
    """What an extra brings is used for the names that its models go by, and is exact."""
    counter = default_counter()
    if counter.choose(model).skipped:
        pytest.skip(f"the vocabulary of {model} is not installed")
    assert (counter.describe(model)["tokenizer"], counter.describe(model)["exact"]) == (tokenizer, True)


def test_it_keeps_the_contract() -> None:
    """A counter is what builds take for one."""
    taken: TokenCounter = default_counter()
    assert taken.count("lamp", "gpt-4o") == 1
    assert default_counter() is default_counter()


@given(ANY_TEXT, ANY_MODEL)
def test_never_raises_and_repeats_itself(text: str, model: str | None) -> None:
    """Any text for any model has a count of at least 0, the same from the cache, fresh, in a batch and taken apart."""
    kept, fresh = Counter(cache=BoundedCache()), Counter(cache=BoundedCache(size=1))
    count = kept.count(text, model)
    assert count >= 0
    assert kept.count(text, model) == fresh.count(text, model) == count
    assert fresh.count_many([text, "x", text], model)[::2] == [count, count]
    assert kept.tokenize(text, model).count == count
    json.dumps(kept.describe(model))


@given(st.text(max_size=80), st.text(max_size=80))
def test_joining_costs_little(first: str, second: str) -> None:
    """Two texts joined cost about what they cost apart: a join saves or costs few tokens."""
    count = default_counter().count
    both, apart = count(first + second, "gpt-4o"), count(first, "gpt-4o") + count(second, "gpt-4o")
    assert apart - 16 <= both <= apart + 16


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts(name: str) -> None:
    """Texts that tokenizers trip over have a count; only the empty one has none."""
    assert (default_counter().count(HOSTILE[name], "gpt-4o") == 0) is (HOSTILE[name] == "")


@pytest.mark.parametrize("value", [None, b"lamp \xff", 7, ["a"], object()])
def test_what_is_no_text(value: Any) -> None:
    """Other values are counted as they print, None as nothing."""
    assert (default_counter().count(value) > 0) is (value is not None)


def test_what_cannot_be_printed() -> None:
    """An object whose text fails has none."""

    class Mute:
        def __str__(self) -> str:
            raise RuntimeError

    assert default_counter().count(Mute()) == 0  # type: ignore[arg-type]


def test_lone_surrogates_are_replaced() -> None:
    """Half of a surrogate pair counts as the replacement character."""
    count = default_counter().count
    assert count("a\ud800b", "gpt-4o") == count("a\ufffdb", "gpt-4o")


# ------------------------------------------------------------------------------------------------------ cache and batch


def test_a_text_is_counted_once() -> None:
    """What was counted before, alone or in a batch, is not counted again, also by another counter with the same cache."""
    engine, cache = Words("once"), BoundedCache[TextKey, int]()
    first, second = Counter(engine, cache=cache), Counter(engine, cache=cache)
    assert first.count_many(["a b", "c", "a b"]) == [2, 1, 2]
    assert second.count("c") == 1
    assert second.count_many(["c", "a b", "d"]) == [1, 2, 1]
    assert engine.asked == ["a b", "c", "d"]


def test_an_empty_batch() -> None:
    """No texts, no counts."""
    assert default_counter().count_many([]) == []


@pytest.mark.parametrize("error", [RuntimeError("x"), MemoryError(), Panic("panic")], ids=type)
def test_a_failing_engine_is_rescued(error: BaseException) -> None:
    """A text on which the engine fails is counted by the default; others of the batch by the engine; nothing is remembered."""
    engine = Broken(error, bad="!")
    counter = Counter(engine, cache=BoundedCache())
    exact = default_counter().count("the lamp!", "gpt-4o")
    assert counter.count("the lamp!") == exact
    assert counter.count_many(["one two three", "the lamp!"]) == [3, exact]
    assert counter.tokenize("the lamp!").count == exact
    engine.bad = "?"
    assert counter.count("the lamp!") == 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_interrupts_pass(error: type[BaseException]) -> None:
    """Ctrl-C and exits are not swallowed."""
    with pytest.raises(error):
        Counter(Broken(error()), cache=BoundedCache()).count("x")


def test_the_last_way_is_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where even the estimate fails, the count is 0."""
    monkeypatch.setattr(counter, "estimator", lambda _profile: Broken())
    assert Counter(Broken(), default="no-such", cache=BoundedCache()).count("x") == 0


# -------------------------------------------------------------------------------------------------------------- choices


def test_describe_an_exact_model() -> None:
    """A model with its own vocabulary is exact, without error or fallbacks."""
    assert default_counter().describe("openai/gpt-4o:extended") == {
        "model": "openai/gpt-4o:extended",
        "backend": "tiktoken",
        "tokenizer": "o200k_base",
        "family": "o200k",
        "exact": True,
        "error_percent": 0.0,
        "source": "table",
        "pattern": "gpt-4o*",
        "encoding": "o200k_base",
    }


@pytest.mark.parametrize(("model", "source"), [("gemini-2.5-pro", "table"), ("my-model", "default"), (None, "default")])
def test_describe_an_estimate(model: str | None, source: str) -> None:
    """A model without a vocabulary is an estimate that says how far it may be off, and why."""
    facts = default_counter().describe(model)
    assert facts["exact"] is False
    assert facts["error_percent"] > 0
    assert facts["source"] == source
    assert facts["basis"]


def test_missing_vocabularies_are_told() -> None:
    """Where the exact vocabulary is not installed, the estimate takes over and the reason is listed."""
    without = Vocabularies(*(entry for name, entry in VOCABULARIES.items() if name != "llama-3"))
    facts = Counter(vocabularies=without).describe("llama-3.1-8b")
    assert facts["tokenizer"] == "heuristic:llama-3"
    assert facts["fallbacks"][0]["tokenizer"] == "llama-3"


def test_a_missing_default_is_told() -> None:
    """Where not even the default is there, the generic estimate counts."""
    facts = Counter(default="no-such").describe()
    assert facts["tokenizer"] == "heuristic:generic"
    assert "no-such" in facts["fallbacks"][0]["reason"]


def test_many_models_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many ids are asked for, only so many choices are kept."""
    monkeypatch.setattr(counter, "_ROUTES", 8)
    some = Counter()
    for number in range(50):
        some.count("x", f"model-{number}")
        assert len(some._choices) <= 8


# ------------------------------------------------------------------------------------------------------------- registry


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A tokenizer file."""
    file = tmp_path / "tokenizer.json"
    file.write_bytes(words({"lamp": 1}))
    return file


def test_a_file_of_the_registry(path: Path) -> None:
    """A model of the registry is counted by its file, and described with TavernKit's fields."""
    entry = {
        "tokenizer_family": "hf_tokenizers",
        "tokenizer_path": str(path),
        "source_hint": "my-source",
        "source_repo": "me/mine",
    }
    some = Counter({"mine": entry})
    assert some.count("lamp lamp lamp", "mine:fast") == 3  # by the hint
    facts = some.describe("mine")
    assert facts["backend"] == "hf_tokenizers"
    assert {name: facts[name] for name in facts if name.startswith("registry")} == {
        "registry": True,
        "registry_tokenizer_family": "hf_tokenizers",
        "registry_tokenizer_path": str(path),
        "registry_source_hint": "my-source",
        "registry_source_repo": "me/mine",
        "registry_model_hint": "mine",
    }
    assert facts["error_percent"] is None
    assert some.tokenize("lamp", "mine").details == facts


def test_a_missing_file_falls_back(path: Path) -> None:
    """Without its file a model is counted by the table, and the reason is told; the file is seen when it comes."""
    path.rename(path.with_suffix(".away"))
    some = Counter({"qwen*": {"tokenizer_family": "tokenizers", "tokenizer_path": str(path)}})
    facts = some.describe("qwen3-8b")
    assert facts["family"] == "qwen-3"
    assert str(path) in facts["fallbacks"][0]["tokenizer"]
    path.with_suffix(".away").rename(path)
    assert some.count("lamp lamp", "qwen3-8b") == 2


FAMILIES = {
    "heuristic with characters": ({"tokenizer_family": "heuristic", "chars_per_token": 2}, "chars/2.0"),
    "heuristic with bad characters": ({"tokenizer_family": "heuristic", "chars_per_token": "x"}, "chars/4.0"),
    "heuristic": ({"tokenizer_family": "heuristic"}, "heuristic:generic"),
    "a vocabulary": ({"tokenizer_family": "cl100k_base"}, "cl100k_base"),
    "a vocabulary with hyphens": ({"tokenizer_family": "qwen-3"}, "qwen-3"),
    "a family": ({"tokenizer_family": "o200k"}, "o200k_base"),
    "another": ({"tokenizer_family": "magic"}, "o200k_base"),
    "a file without a path": ({"tokenizer_family": "hf_tokenizers"}, "o200k_base"),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_families_of_the_registry(name: str) -> None:
    """Each tokenizer family of an entry leads to its engine; an unknown one to the default."""
    entry, tokenizer = FAMILIES[name]
    facts = Counter({"mine": entry}).describe("mine")
    assert facts["tokenizer"] == tokenizer
    assert facts["registry"] is True


def test_the_registrys_heuristic_knows_the_models_family() -> None:
    """The estimate for a model that the table knows is that of its family."""
    facts = Counter({"claude*": {"tokenizer_family": "heuristic"}}).describe("claude-3-opus")
    assert facts["tokenizer"] == "heuristic:claude-3"


def test_an_engine_in_the_registry() -> None:
    """A registry may hold engines; a function makes one."""
    letters = Foreign("letters", len)
    some = Counter({"mine": letters}, cache=BoundedCache())
    assert some.count("lamp", "mine") == 4
    assert some.describe("mine")["tokenizer"] == "letters"


# -------------------------------------------------------------------------------------------------------------- preload


def test_preload(path: Path) -> None:
    """The default, the files of the registry and those of models are loaded; failures are listed, or raised when strict."""
    missing = str(path.with_name("none.json"))
    registry = {
        "a": {"tokenizer_family": "tokenizers", "tokenizer_path": str(path)},
        "b": {"tokenizer_family": "tokenizers", "tokenizer_path": missing},
    }
    done = Counter(registry).preload(["gpt-4"])
    assert done.loaded == ("o200k_base", str(path), "cl100k_base")
    assert list(done.failed) == [missing]
    with pytest.raises(UnavailableError, match=r"none\.json") as caught:
        Counter(registry).preload(strict=True)
    assert list(caught.value.details["failed"]) == [missing]


def test_importing_loads_no_tokenizer() -> None:
    """The package is there without any engine; the first count brings it."""
    code = "import innkeeper.tokens, sys; print([m for m in ('tiktoken','tokenizers','sentencepiece') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("name", LANGUAGES)
def test_families_differ_but_not_wildly(name: str) -> None:
    """Counts of one text by all families lie within a factor of 9: a wrong table would show."""
    counts = [default_counter().count(LANGUAGES[name], pattern.strip("*")) for pattern, _ in MODELS]
    assert max(counts) <= 9 * min(counts)


def test_a_spent_allowance_is_no_failing_engine() -> None:
    """Counting ends where the seconds of a build do, in the middle of a long text; no other engine is asked for its count."""
    for model in ("gpt-4o", "claude-2.1", "mixtral-8x7b", "another-model"):
        Counter().count("a", model)  # its vocabulary is read
        with pytest.raises(AllowanceError), allowed(BuildLimits(seconds=1, steps=10**9), since=-1e9):
            Counter(cache=BoundedCache()).count("word\n" * 40_000, model)
