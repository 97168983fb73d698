"""The guarded reader: nothing is read past a named limit."""

import os
import zlib
from pathlib import Path
from threading import Thread

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content import LIMITS, DamagedFileError, MissingFileError, Reader
from innkeeper.content.files.reader import BLOCK
from innkeeper.prompt.errors import FormatError, LimitError
from tests.content.builders import attempt

SMALL = msgspec.structs.replace(LIMITS, file_bytes=8, png_text_bytes=BLOCK)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_memory_is_read(kind: type) -> None:
    """Any bytes-like object is a source, and has no name."""
    with Reader(kind(b"abc")) as reader:
        assert (reader.size, reader.name, reader.all(), reader.head(2)) == (3, None, b"abc", b"ab")


def test_a_file_is_read_and_named(tmp_path: Path) -> None:
    """Errors about a file carry its path as it was given."""
    path = tmp_path / "card.json"
    path.write_bytes(b"abc")
    with Reader(path) as reader:
        assert reader.all() == b"abc"
        assert reader.name == str(path)


@pytest.mark.parametrize("name", ["nowhere/card.json", "", "a\0b", "\ud800"], ids=repr)
def test_a_file_that_cannot_be_opened(name: str) -> None:
    """A missing file, and a name that no file can have, are one typed error."""
    with pytest.raises(MissingFileError) as caught:
        Reader(name)
    assert caught.value.exit_code == 69


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """A folder is refused like a missing file."""
    with pytest.raises(MissingFileError):
        Reader(tmp_path)


def test_the_size_of_the_source_is_limited(tmp_path: Path) -> None:
    """A source that is too large is refused before it is read, from memory and from disk."""
    path = tmp_path / "big"
    path.write_bytes(b"x" * 9)
    for source in (path, b"x" * 9):
        with pytest.raises(LimitError) as caught:
            Reader(source, SMALL)
        assert caught.value.limit == "file_bytes"


def test_a_file_that_grows_stops_at_the_limit(tmp_path: Path) -> None:
    """What is appended after opening does not get past the limit either."""
    path = tmp_path / "growing"
    path.write_bytes(b"x")
    with Reader(path, SMALL) as reader:
        path.write_bytes(b"x" * 100)
        with pytest.raises(LimitError):
            reader.all()


def test_take_refuses_more_than_there_is() -> None:
    """A length that lies is refused without asking for that much memory."""
    with Reader(b"abc") as reader:
        assert reader.take(2, "the head") == b"ab"
        with pytest.raises(DamagedFileError, match="announces 1,000,000,000,000 bytes, 1 are left"):
            reader.take(10**12, "the tail")


def test_charges_add_up() -> None:
    """A limit that is counted over many parts holds for their sum."""
    reader = Reader(b"", msgspec.structs.replace(LIMITS, png_text_chunks=2))
    reader.charge("png_text_chunks", 1, "chunks")
    reader.charge("png_text_chunks", 1, "chunks")
    with pytest.raises(LimitError):
        reader.charge("png_text_chunks", 1, "chunks")


@given(data=st.binary(max_size=5_000), times=st.integers(1, 13))
def test_inflate_gives_back_what_was_compressed(data: bytes, times: int) -> None:
    """Any bytes within the limit come out as they went in."""
    data = (data * times)[:BLOCK]
    assert Reader(b"", SMALL).inflate(zlib.compress(data), "png_text_bytes", "it") == data


def test_inflate_stops_at_its_limit() -> None:
    """A bomb is stopped when its limit is reached, not when it is unpacked."""
    bomb = zlib.compress(b"\0" * (20 * BLOCK), 9)
    with pytest.raises(LimitError) as caught:
        Reader(b"", SMALL).inflate(bomb, "png_text_bytes", "the bomb")
    assert caught.value.limit == "png_text_bytes"


@given(data=st.binary(max_size=200))
def test_inflate_of_anything_is_typed(data: bytes) -> None:
    """Whatever the bytes are, the answer is bytes or an error of ours."""
    assert isinstance(attempt(lambda: Reader(b"").inflate(data, "png_text_bytes", "it")), (bytes, FormatError))


def test_inflate_needs_the_end() -> None:
    """A stream that is cut off is an error, not a shorter text."""
    with pytest.raises(DamagedFileError):
        Reader(b"").inflate(zlib.compress(b"abc" * 100)[:-5], "png_text_bytes", "it")


def test_json_where_a_path_is_wanted() -> None:
    """The error is short, and says where JSON text is read."""
    with pytest.raises(MissingFileError) as caught:
        Reader('{"name": "' + "x" * 10_000 + '"}')
    assert "of" in (caught.value.hint or "")
    assert len(caught.value.message) < 400


def test_a_pipe_is_read(tmp_path: Path) -> None:
    """A source that cannot be rewound is read once, up to the limit."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=lambda: pipe.write_bytes(b"abc"))
    writer.start()
    with Reader(pipe) as reader:
        assert (reader.size, reader.all()) == (3, b"abc")
    writer.join()


def test_what_is_left_in_the_engine_comes_out() -> None:
    """Output that outlasts its input is not lost."""
    data = b"x" * (3 * BLOCK)
    own = msgspec.structs.replace(LIMITS, png_text_bytes=4 * BLOCK)
    assert Reader(b"", own).inflate(zlib.compress(data, 9), "png_text_bytes", "it") == data
