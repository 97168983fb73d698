"""Archives that nobody trusts: each rule refuses, each limit is counted while reading."""

import io
import stat
import struct
import warnings
import zipfile
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content import LIMITS, DamagedFileError, Limits, Reader
from innkeeper.content.files.archive import SMALL, Archive
from innkeeper.prompt.errors import FormatError, InnkeeperError, LimitError
from tests.content.builders import archive, archive_with, attempt, entry_fields, patched

SOUND = archive({"card.json": b"{}", "assets/a.bin": b"\x00\x01" * 100})


def opened(data: bytes, limits: Limits = LIMITS) -> Archive:
    """An archive in memory."""
    return Archive(Reader(data, limits, size_limit="archive_bytes"))


def read_all(data: bytes, limits: Limits = LIMITS) -> dict[str, bytes]:
    """Every file of an archive."""
    found = opened(data, limits)
    return {name: found.read(name) for name in found.names}


def named(name: str) -> bytes:
    """A zip whose one file has this very name, whatever the zip library thinks of it."""
    safe = "n" * len(name.encode())
    return archive({safe: b"x"}).replace(safe.encode(), name.encode())


def with_mode(mode: int) -> bytes:
    """A zip with one file of a kind."""
    info = zipfile.ZipInfo("link")
    info.external_attr = mode << 16
    return archive_with(info)


def with_flags(flags: int) -> bytes:
    """A zip whose one file has flags."""
    data = archive({"a": b"x"})
    return patched(patched(data, entry_fields(data, 0) + 8, struct.pack("<H", flags)), 6, struct.pack("<H", flags))


def with_method(method: int) -> bytes:
    """A zip whose one file is compressed in some way."""
    info = zipfile.ZipInfo("a")
    info.compress_type = method
    return archive_with(info, b"x" * 100)


def twice() -> bytes:
    """A zip with two files of one name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return archive([("a", b"1"), ("a", b"2")])


def overlapping() -> bytes:
    """A zip whose second file points at the bytes of the first, as bombs do."""
    data = archive([("a", b"x" * 50), ("b", b"x" * 50)], stored=True)
    return patched(data, entry_fields(data, 1) + 42, struct.pack("<L", 0))


def quoted() -> bytes:
    """A zip whose first file announces the bytes of the second as its own."""
    data = archive([("a", b"x" * 50), ("b", b"x" * 50)], stored=True)
    first = entry_fields(data, 0)
    return patched(data, first + 20, struct.pack("<LL", 100, 100))


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "sound"),
    "no zip": (lambda: b"hello" * 20, "sound"),
    "cut at the end": (lambda: SOUND[:-30], "sound"),
    "cut at the start": (lambda: SOUND[20:], "sound"),
    "directory size lies": (lambda: patched(SOUND, len(SOUND) - 10, struct.pack("<L", 2**31)), "sound"),
    "directory offset lies": (lambda: patched(SOUND, len(SOUND) - 6, struct.pack("<L", 2**31)), "sound"),
    "offset of a file lies": (lambda: patched(SOUND, entry_fields(SOUND, 1) + 42, struct.pack("<L", 7)), "sound"),
    "offset beyond the file": (lambda: patched(SOUND, entry_fields(SOUND, 1) + 42, struct.pack("<L", 2**31)), "sound"),
    "absolute": (lambda: named("/etc/passwd"), "safe-paths"),
    "up": (lambda: named("../evil"), "safe-paths"),
    "up in the middle": (lambda: named("a/../../b"), "safe-paths"),
    "only up": (lambda: named("a/.."), "safe-paths"),
    "drive": (lambda: named("C:evil"), "safe-paths"),
    "backslash": (lambda: named("a\\..\\b"), "safe-paths"),
    "nul": (lambda: named("a\0.png"), "safe-paths"),
    "newline": (lambda: named("a\nb"), "safe-paths"),
    "link": (lambda: with_mode(stat.S_IFLNK | 0o777), "no-links"),
    "pipe": (lambda: with_mode(stat.S_IFIFO | 0o600), "no-links"),
    "device": (lambda: with_mode(stat.S_IFCHR | 0o600), "no-links"),
    "encrypted": (lambda: with_flags(0x1), "no-encryption"),
    "strongly encrypted": (lambda: with_flags(0x41), "no-encryption"),
    "masked": (lambda: with_flags(0x2000), "no-encryption"),
    "nested by name": (lambda: archive({"inner.ZIP": b"x"}), "no-nesting"),
    "nested by content": (lambda: archive({"inner.bin": SOUND}), "no-nesting"),
    "gzip inside": (lambda: archive({"data": b"\x1f\x8b\x08" + b"x" * 9}), "no-nesting"),
    "lzma": (lambda: with_method(zipfile.ZIP_LZMA), "stored-or-deflated"),
    "bzip2": (lambda: with_method(zipfile.ZIP_BZIP2), "stored-or-deflated"),
    "twice": (twice, "no-duplicates"),
    "overlap": (overlapping, "no-overlap"),
    "quoted overlap": (quoted, "no-overlap"),
    "large format": (lambda: SOUND[:-22] + b"PK\6\7" + b"\0" * 16 + SOUND[-22:], "no-zip64"),
    "checksum": (lambda: patched(SOUND, entry_fields(SOUND, 0) + 16, b"\0\0\0\0"), "sound"),
    "other name in front": (lambda: patched(SOUND, 30, b"CARD"), "sound"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_each_rule_refuses(name: str) -> None:
    """What breaks a rule is refused with the rule's name, before or while it is read."""
    build, rule = HOSTILE[name]
    with pytest.raises(DamagedFileError) as caught:
        read_all(build())
    assert caught.value.rule == rule
    assert caught.value.to_dict()["details"]["rule"] == rule


@pytest.mark.parametrize(
    ("limit", "data"),
    [
        ("archive_entries", archive({str(n): b"" for n in range(4)})),
        ("archive_name_bytes", archive({"n" * 40: b""})),
        ("archive_entry_bytes", archive({"a": b"x" * 101})),
        ("archive_total_bytes", archive({"a": b"x" * 90, "b": b"x" * 90})),
        ("archive_bytes", archive({"a": bytes(range(256)) * 4}, stored=True)),
    ],
    ids=["entries", "name", "entry", "total", "file"],
)
def test_limits(limit: str, data: bytes) -> None:
    """Each limit has an error with its name."""
    small = msgspec.structs.replace(
        LIMITS,
        archive_entries=3,
        archive_name_bytes=30,
        archive_entry_bytes=100,
        archive_total_bytes=150,
        archive_bytes=900,
    )
    with pytest.raises(LimitError) as caught:
        read_all(data, small)
    assert caught.value.limit == limit


def test_the_ratio_is_limited() -> None:
    """What unpacks to two hundred times its size and more is refused, unless it is small."""
    with pytest.raises(LimitError) as caught:
        read_all(archive({"a": b"\0" * (4 * SMALL)}))
    assert caught.value.limit == "archive_ratio"
    assert read_all(archive({"a": b"\0" * SMALL}))["a"] == b"\0" * SMALL


def test_sizes_that_lie_do_not_matter() -> None:
    """A file that announces less than it holds is cut off by its checksum, not trusted."""
    data = archive({"a": b"x" * 1000})
    place = entry_fields(data, 0) + 24
    with pytest.raises(DamagedFileError):
        read_all(patched(data, place, struct.pack("<L", 10)))
    with pytest.raises(DamagedFileError):
        read_all(patched(data, place, struct.pack("<L", 2**31)))


def test_a_directory_of_millions_is_stopped_early() -> None:
    """Entries are counted before memory is spent on them."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        made.writestr("a", b"")
    data = out.getvalue()
    start = entry_fields(data, 0)
    entry, end = data[start:-22], data[-22:]
    many = entry * 300_000
    lying = data[:start] + many + patched(end, 12, struct.pack("<L", len(many)))
    with pytest.raises(LimitError) as caught:
        opened(lying)
    assert caught.value.limit == "archive_entries"


@pytest.mark.parametrize(
    "prefix", [b"", b"\xff\xd8\xff" + b"jpeg" * 500, b"#!/bin/sh\n"], ids=["none", "jpeg", "script"]
)
def test_a_sound_archive_is_read(prefix: bytes) -> None:
    """Files come out as they went in, also behind something else; folders are no files."""
    data = archive({"card.json": b"{}", "folder/": b"", "folder/b": b"\x01" * 5_000}, prefix=prefix)
    assert read_all(data) == {"card.json": b"{}", "folder/b": b"\x01" * 5_000}


def test_a_comment_is_passed_over() -> None:
    """An archive may have a comment at its end."""
    out = io.BytesIO(SOUND)
    with zipfile.ZipFile(out, "a") as made:
        made.comment = b"made by hand" * 100
    assert set(read_all(out.getvalue())) == {"card.json", "assets/a.bin"}


def test_a_file_that_is_not_there() -> None:
    """Asking for a file that the archive has not is a typed error."""
    with pytest.raises(DamagedFileError):
        opened(SOUND).read("nowhere")


@given(
    files=st.dictionaries(
        st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8})?\.txt", fullmatch=True), st.binary(max_size=300), max_size=5
    )
)
def test_what_was_packed_is_read(files: dict[str, bytes]) -> None:
    """Any files come back as they were, except those that begin like an archive."""
    found = attempt(lambda: read_all(archive(files)))
    assert found == files or (isinstance(found, DamagedFileError) and found.rule == "no-nesting")


@given(data=st.binary(max_size=120), sound=st.booleans())
def test_any_bytes(data: bytes, sound: bool) -> None:
    """Whatever the bytes are, the answer is files or an error of ours."""
    found = attempt(lambda: read_all(data + SOUND if sound else data))
    assert isinstance(found, (dict, FormatError, LimitError))


@given(position=st.integers(0, len(SOUND) - 1), value=st.integers(0, 255))
def test_any_changed_byte(position: int, value: int) -> None:
    """A sound archive with one byte changed is read or refused with a typed error."""
    found = attempt(lambda: read_all(patched(SOUND, position, bytes([value]))))
    assert isinstance(found, (dict, InnkeeperError))
