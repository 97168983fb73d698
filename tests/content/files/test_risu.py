"""RisuAI's packed files, read as the originals wrote them, and refused where they are broken."""

import gzip
import hashlib
import json
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content import Sniffed, sniff
from innkeeper.content.errors import LIMITS, DamagedFileError, WrongKindError
from innkeeper.content.files.loading import load_asset, load_preset
from innkeeper.content.files.risu import RPACK, RisuModule, module_bytes, read_module, read_module_json, read_preset
from innkeeper.prompt.errors import FormatError, InputError, LimitError

VECTORS = {
    case["name"]: case for case in json.loads((Path(__file__).parents[2] / "vectors/risu/format.json").read_bytes())
}
MODULE = RisuModule({"name": "Pier", "id": "m1", "unknown": [1]}, (b"\0picture", b""))
SMALL = msgspec.structs.replace(LIMITS, file_bytes=1_000, archive_entries=1)


def asset_of(error: InputError) -> str | None:
    """The file that an error names."""
    return error.where.asset if error.where else None


def packed_preset(preset: Any, version: Any = 2, password: bytes = b"risupreset") -> bytes:
    """A preset as the original packs it, without RPack."""
    sealed = AESGCM(hashlib.sha256(password).digest()).encrypt(bytes(12), msgspec.msgpack.encode(preset), None)
    return gzip.compress(msgspec.msgpack.encode({"presetVersion": version, "type": "preset", "preset": sealed}))


def test_rpack_writes_the_bytes_of_the_original() -> None:
    """RPack gives the bytes of the golden case."""
    case = VECTORS["format/rpack/01"]
    packed = case["input"]["plain_utf8"].encode().translate(RPACK)
    assert b64encode(packed).decode() == case["expected"]["encoded_b64"]


def test_a_preset_of_the_original_is_read() -> None:
    """The golden preset has the golden fields."""
    case = VECTORS["format/risup/02"]
    preset = read_preset(b64decode(case["input"]["data_b64"]))
    subset = case["expected"]["preset_subset"]
    assert {name: preset[name] for name in subset} == subset


def test_a_module_without_its_mark_is_refused_and_reads_with_it() -> None:
    """The first byte decides whether a file is a module."""
    data = b64decode(VECTORS["format/risum/02"]["input"]["data_b64"])
    with pytest.raises(WrongKindError):
        read_module(data)
    assert read_module(b"o" + data[1:]).module["namespace"] == "ns"


@pytest.mark.parametrize("is_packed", [True, False])
@pytest.mark.parametrize("version", [0, 2])
def test_presets_keep_unknown_fields(version: int, is_packed: bool) -> None:
    """Both versions are read, with RPack and without, and lose nothing."""
    preset = {"name": "P", "promptTemplate": [{"type": "chat", "new": 1}], "strange": {"a": None}}
    data = packed_preset(preset, version)
    assert read_preset(data.translate(RPACK) if is_packed else data) == preset


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (b"", WrongKindError, "no RisuAI preset"),
        (b"{}", WrongKindError, "no RisuAI preset"),
        (b"\x1f\x8bnot", FormatError, "cannot be decompressed"),
        (packed_preset({})[:-9], DamagedFileError, "ends too early"),
        (gzip.compress(b"\xc1"), FormatError, "not MessagePack"),
        (gzip.compress(b"\x91" * 100_000), FormatError, "not MessagePack"),
        (gzip.compress(b"\x01"), FormatError, "no object"),
        (packed_preset({}, version=3), WrongKindError, "versions 0 and 2"),
        (packed_preset({}, version=[]), WrongKindError, "versions 0 and 2"),
        (packed_preset({}, password=b"other"), FormatError, "cannot be decrypted"),
        (packed_preset([1]), FormatError, "no object"),
    ],
    ids=lambda value: "data" if isinstance(value, bytes) else None,
)
def test_broken_presets_say_what_is_wrong(data: bytes, error: type[InputError], words: str) -> None:
    """Each error names the file and what is wrong with it."""
    with pytest.raises(error, match=words) as caught:
        read_preset(data, asset="a.risup")
    assert asset_of(caught.value) == "a.risup"


def test_modules_come_back_as_they_were_written() -> None:
    """Reading undoes writing."""
    assert read_module(module_bytes(MODULE)) == MODULE


@given(st.integers(min_value=0, max_value=len(module_bytes(MODULE)) - 1))
def test_a_module_that_is_cut_gives_a_named_error(length: int) -> None:
    """A module that ends anywhere too early is an error of its file."""
    with pytest.raises(InputError) as caught:
        read_module(module_bytes(MODULE)[:length], asset="a.risum")
    assert asset_of(caught.value) == "a.risum"


@given(st.binary(max_size=200))
def test_any_bytes_are_a_module_or_an_error_of_the_tree(data: bytes) -> None:
    """Bytes by chance raise nothing else."""
    for read in (read_module, read_preset):
        with pytest.raises(InputError):
            read(b"o\0" + data if read is read_module else gzip.compress(data))


def test_limits_hold_before_the_work_is_done() -> None:
    """Assets are counted, and presets unpacked no further than allowed."""
    with pytest.raises(LimitError, match="archive_entries"):
        read_module(module_bytes(MODULE), limits=SMALL)
    with pytest.raises(LimitError, match="file_bytes"):
        read_preset(gzip.compress(bytes(60_000)), limits=SMALL)


def test_files_are_known_by_their_content() -> None:
    """A preset, packed or not, and a module; each is loaded as what it is."""
    preset = packed_preset({"promptTemplate": [], "name": "P", "absent": None})
    for data, container in ((preset, "gzip"), (preset.translate(RPACK), "risup")):
        assert sniff(data) == Sniffed(container, "risu preset")
        assert load_preset(data).raw["name"] == "P"
    module = module_bytes(MODULE)
    assert sniff(module) == Sniffed("risum", "risu module")
    assert load_asset(module) == MODULE
    assert sniff(gzip.compress(b"x")).kind == "unknown"


def test_modules_in_json() -> None:
    """As they are exported, and lists of scripts, with a byte order mark or without; other JSON is none."""
    script = {"in": "a", "out": "b", "type": "editprocess"}
    for tree, module in (
        ({"type": "risuModule", "module": MODULE.module}, MODULE.module),
        ({"type": "regex", "data": [script]}, {"regex": [script]}),
    ):
        for encoding in ("utf-8", "utf-8-sig", "utf-16"):
            data = json.dumps(tree).encode(encoding)
            assert sniff(data) == Sniffed("json", "risu module")
            assert load_asset(data).module == module
    for text in (b'{"type": "risuModule", "module": 1}', b'{"type": "regex", "data": {}}', b"[]", b"{}"):
        with pytest.raises(WrongKindError):
            read_module_json(text)
