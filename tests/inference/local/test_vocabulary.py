"""Vocabulary: a model's file alone counts as the model that is loaded from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.errors import ModelFileError
from innkeeper.inference.local.gguf import read_gguf_vocabulary
from innkeeper.inference.local.vocabulary import local_counter
from innkeeper.prompt.machine import HOME_VARIABLE
from tests.inference.gguf_files import fact, gguf
from tests.inference.local.test_model import installed, model  # noqa: F401 - the fixture

PAIRS = ["Ġ a", "a b", "Ã ¤"]


def file_of(**facts: object) -> bytes:
    """A file whose vocabulary is said by these facts."""
    return gguf(fact("general.name", "Tiny"), *(fact(f"tokenizer.ggml.{name}", value) for name, value in facts.items()))


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the models of a home of its own."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    folder = tmp_path / "models"
    folder.mkdir()
    return folder


def test_a_file_counts_by_its_pairs(models: Path) -> None:
    """Bytes, pairs in the order of their ranks, and each digit by itself; lists besides are passed over."""
    raw = file_of(model="gpt2", pre="smollm", tokens=["a", "b"], merges=PAIRS)
    (models / "tiny.gguf").write_bytes(raw)
    counter = local_counter("tiny")
    assert counter is not None
    assert [counter.count(text, "tiny") for text in ("", "ab", " ab", "ä", "ä2 11", "a  1")] == [0, 1, 2, 1, 5, 4]
    assert counter.describe("tiny")["exact"] is True
    assert "tiny" in str(counter.describe("tiny")["tokenizer"])


@pytest.mark.parametrize(
    "raw",
    [
        file_of(model="gpt2", pre="other", merges=PAIRS),
        file_of(model="llama", pre="smollm", merges=PAIRS),
        file_of(model="gpt2"),
        file_of(model="gpt2", pre="smollm", merges=7),
        b"GGUF",
    ],
    ids=["split", "kind", "no pairs", "pairs of no list", "cut"],
)
def test_what_a_file_does_not_say_is_estimated(models: Path, raw: bytes) -> None:
    """By no counter of its own, and without an error."""
    (models / "tiny.gguf").write_bytes(raw)
    assert local_counter("tiny") is None
    assert local_counter("absent") is None
    assert local_counter("../x") is None


def test_pairs_are_texts(tmp_path: Path) -> None:
    """Anything else is an error of the file."""
    (tmp_path / "m.gguf").write_bytes(file_of(merges=7))
    with pytest.raises(ModelFileError):
        read_gguf_vocabulary(tmp_path / "m.gguf")


@installed
@given(text=st.text(st.sampled_from("ab 12\n\t'sé漢🙂.<|>im_  "), max_size=60))
def test_the_file_counts_as_the_engine(request: pytest.FixtureRequest, text: str) -> None:
    """Of any text the same number."""
    counter = local_counter()
    assert counter is not None
    assert counter.count(text, "m") == request.getfixturevalue("model").counter().count(text, "m")
