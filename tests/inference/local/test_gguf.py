"""The head of GGUF files: read where it is sound, refused with a typed error where it is not."""

import contextlib
import struct
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.errors import MAX_GGUF_FACTS, MAX_GGUF_TEXT_BYTES, ModelFileError
from innkeeper.inference.local.gguf import read_gguf_head
from innkeeper.prompt import InputError, LimitError
from tests.inference.gguf_files import fact, gguf, text, tiny_model


def read(folder: Path, raw: bytes) -> object:
    """The head of a file with these bytes."""
    path = folder / "m.gguf"
    path.write_bytes(raw)
    return read_gguf_head(path)


def test_facts_before_the_vocabulary(tmp_path: Path) -> None:
    """Facts are read up to the vocabulary; lists are passed over."""
    path = tmp_path / "m.gguf"
    path.write_bytes(tiny_model(512))
    head = read_gguf_head(path)
    assert (head.version, head.tensors, head.context_window) == (3, 2, 512)
    assert (head.architecture, head.title, head.licence) == ("llama", "Tiny", "apache-2.0")
    assert "general.tags" not in head.facts
    assert not any(key.startswith("tokenizer.") for key in head.facts)


@pytest.mark.parametrize("facts", [(), (fact("general.architecture", "llama"),), (fact("llama.context_length", 9),)])
def test_window_unknown(tmp_path: Path, facts: tuple[bytes, ...]) -> None:
    """A model that does not say its window, or its family, has none."""
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf(*facts))
    assert read_gguf_head(path).context_window is None


@dataclass(frozen=True)
class Case:
    name: str
    raw: bytes
    error: type[InputError]
    says: str


REFUSED = [
    Case("empty", b"", ModelFileError, "begins with other bytes"),
    Case("other magic", b"PNG!" + bytes(40), ModelFileError, "begins with other bytes"),
    Case("version 1", gguf(version=1), ModelFileError, "version 1"),
    Case("cut in the numbers", gguf()[:9], ModelFileError, "ends too early"),
    Case("cut in a text", gguf(fact("general.name", "Tiny"))[:-2], ModelFileError, "in the middle"),
    Case("fewer facts than announced", gguf(count=3), ModelFileError, "ends too early"),
    Case("not UTF-8", gguf(struct.pack("<Q", 2) + b"\xff\xfe"), ModelFileError, "damaged"),
    Case("unknown type", gguf(text("k") + struct.pack("<I", 77)), ModelFileError, "unknown type"),
    Case("list of lists", gguf(text("k") + struct.pack("<IIQ", 9, 9, 1)), ModelFileError, "list of lists"),
    Case("too many facts", gguf(count=MAX_GGUF_FACTS + 1), LimitError, "MAX_GGUF_FACTS"),
    Case("huge list", gguf(text("k") + struct.pack("<IIQ", 9, 0, 2**60)), LimitError, "MAX_GGUF_FACTS"),
    Case("huge text", gguf(struct.pack("<Q", MAX_GGUF_TEXT_BYTES + 1)), LimitError, "MAX_GGUF_TEXT_BYTES"),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_refused(tmp_path: Path, case: Case) -> None:
    """What is not a sound GGUF file is refused, naming the file."""
    with pytest.raises(case.error, match=case.says) as caught:
        read(tmp_path, case.raw)
    assert caught.value.where is not None
    assert caught.value.where.asset == str(tmp_path / "m.gguf")


def test_missing_file(tmp_path: Path) -> None:
    """A file that cannot be opened is refused in the same way."""
    with pytest.raises(ModelFileError, match="No such file"):
        read_gguf_head(tmp_path / "none.gguf")


@given(st.binary(max_size=200), st.integers(0, 60))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, noise: bytes, place: int) -> None:
    """Any bytes, and a sound head with noise in it, give a head or a typed error."""
    sound = tiny_model()
    for raw in (noise, b"GGUF" + noise, sound[:place] + noise + sound[place + len(noise) :]):
        with contextlib.suppress(InputError):
            read(tmp_path_factory.mktemp("gguf"), raw)
