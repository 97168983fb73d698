"""Vocabularies: read from packages, checked, loaded once, refused with a reason."""

import gzip
import hashlib
import io
import json
import re
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from innkeeper.lazy import install_line
from innkeeper.prompt.errors import FormatError, LimitError, UnknownNameError
from innkeeper.tokens import VOCABULARIES, Carrier, Engine, TokenizerUnavailableError, Vocabularies, Vocabulary
from innkeeper.tokens.engines import loading as carriers
from innkeeper.tokens.engines import model_files
from innkeeper.tokens.engines.loading import available, engine_of
from tests.tokens.texts import HOSTILE, LANGUAGES

HERE = [name for name, vocabulary in VOCABULARIES.items() if available(vocabulary)]
"""The vocabularies that some package carries here; the rest are optional."""

RANKS = b"YQ== 0\nYg== 1\nYWI= 2\n"  # a, b, ab


def _package(monkeypatch: pytest.MonkeyPatch, folder: Path, files: dict[str, bytes]) -> None:
    """A package ``carrier`` with these files."""
    place = folder / "carrier"
    place.mkdir()
    (place / "__init__.py").touch()
    for name, data in files.items():
        (place / name).write_bytes(data)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "carrier", raising=False)


def _vocabulary(path: str, form: str, content: bytes, **more: str) -> Vocabulary:
    carrier = Carrier("carrier", path, form, hashlib.sha256(content).hexdigest(), more.get("member", ""))
    return Vocabulary(name="tiny", carriers=(carrier,), licence="none", pattern=r"\S+|\s+")


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_openai_vocabularies_are_always_here(name: str) -> None:
    """Innkeeper itself brings the vocabularies of OpenAI's models."""
    assert available(VOCABULARIES[name])
    assert engine_of(VOCABULARIES[name]).backend == "tiktoken"


@pytest.mark.parametrize("name", HERE)
@pytest.mark.parametrize("text", [*HOSTILE, *LANGUAGES])
def test_every_vocabulary_counts_every_text(name: str, text: str) -> None:
    """Whatever the text, an engine counts it, the same alone, in a batch, and taken apart."""
    engine = engine_of(VOCABULARIES[name])
    content = (HOSTILE | LANGUAGES)[text].encode("utf-8", "replace").decode()
    count = engine.count(content)
    shown = (
        content if name != "clip" else re.sub(r"[\s\x00-\x1f\x7f]", "", content)
    )  # CLIP drops white space and controls
    assert (count == 0) is (shown == "")
    assert engine.count_many([content, "a", content])[::2] == [count, count]
    if len(content) < 10_000:
        assert engine.tokenize(content).count == count


@pytest.mark.parametrize("name", HERE)
def test_large_batches_count_as_single_texts(name: str) -> None:
    """A batch large enough for threads gives the counts of its texts alone."""
    engine = engine_of(VOCABULARIES[name])
    texts = [f"{number} {text}" for number in range(6) for text in LANGUAGES.values()] * 2
    assert engine.count_many(texts) == [engine.count(text) for text in texts]


def test_loaded_once() -> None:
    """Threads that want one vocabulary at the same time get the same engine."""
    with ThreadPoolExecutor(4) as pool:
        assert len({id(engine) for engine in pool.map(lambda _: engine_of(VOCABULARIES["cl100k_base"]), range(8))}) == 1


def test_a_million_spaces_are_counted() -> None:
    """A run of white space on which tiktoken panics is counted in pieces."""
    assert 0 < engine_of(VOCABULARIES["o200k_base"]).count(" " * 1_000_000) < 50_000


FORMS = {
    "ranks": ("v.tiktoken", RANKS, RANKS, ""),
    "ranks.gz": ("v.tiktoken.gz", gzip.compress(RANKS), RANKS, ""),
    "tekken": (
        "tekken.json",
        tekken := json.dumps(
            {
                "config": {"pattern": r"\S+|\s+", "default_vocab_size": 5, "default_num_special_tokens": 2},
                "vocab": [
                    {"token_bytes": "YQ=="},
                    {"token_bytes": "Yg=="},
                    {"token_bytes": "YWI="},
                    {"token_bytes": "Yw=="},
                ],
            }
        ).encode(),
        tekken,
        "",
    ),
    "merges": ("vocab.bpe", merges := b"#version: 0.2\na b\n", merges, ""),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_are_read(form: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each form of file gives the vocabulary: "ab" is one token, "ba" are two."""
    name, data, content, member = FORMS[form]
    _package(monkeypatch, tmp_path, {name: data})
    engine = engine_of(_vocabulary(name, form, content, member=member))
    assert engine.count_many(["ab", "ba"]) == [1, 2]


def _tokenizer_json() -> bytes:
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}
    return json.dumps({"version": "1.0", "added_tokens": [], "model": model}).encode()


def test_zipped_tokenizer_files_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A tokenizer.json inside a zip is read without unpacking it to disk; the checksum is of the content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tokenizer.json", _tokenizer_json())
    _package(monkeypatch, tmp_path, {"t.zip": buffer.getvalue()})
    engine = engine_of(_vocabulary("t.zip", "tokenizer.json", _tokenizer_json(), member="tokenizer.json"))
    assert engine.count_many(["ab", "ba"]) == [1, 2]


LIBRARIES = {
    "claude-2": "def count_tokens(text): return len(text)\ndef encode(text): return list(range(len(text)))\n",
    "claude-3": "def token_count(text, version): return len(text) + {'3.0': 7}[version]\n",
    "claude-4.7": "def token_count(text, version): return len(text) + {'4.7': 11}[version]\n",
}


@pytest.mark.parametrize("name", LIBRARIES)
def test_libraries_that_count_are_wrapped(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A library that counts by itself is asked for the text alone: what it adds for a message is taken off."""
    package = VOCABULARIES[name].carriers[0].package
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text(LIBRARIES[name], "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    for module in [module for module in sys.modules if module.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    engine = engine_of(msgspec.structs.replace(VOCABULARIES[name], name=f"pretended {name}"))
    assert engine.count_many(["", "lamp", "x" * 20_000]) == [0, 4, 20_000]
    del sys.modules[package]


def test_libraries_that_do_not_load_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A library that is there but cannot be imported is unavailable, not a crash."""
    _package(monkeypatch, tmp_path, {"__init__.py": b"import no_such_module"})
    broken = Vocabulary(name="broken", carriers=(Carrier("carrier", "", "ctok:3.0"),), licence="none")
    monkeypatch.setitem(sys.modules, "ctok", None)
    with pytest.raises(TokenizerUnavailableError):
        engine_of(broken)


@pytest.mark.parametrize(("form", "library"), [("tokenizer.json", "tokenizers"), ("sentencepiece", "sentencepiece")])
def test_missing_libraries_are_named(form: str, library: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A vocabulary whose library is not installed is unavailable, with a hint."""
    _package(monkeypatch, tmp_path, {"v": RANKS})
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(TokenizerUnavailableError, match=library) as caught:
        engine_of(_vocabulary("v", form, RANKS))
    assert "pip install" in str(caught.value.hint)


def test_other_bytes_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file that is not the known one is refused, with both checksums."""
    _package(monkeypatch, tmp_path, {"v": RANKS + b"Yw== 3\n"})
    with pytest.raises(FormatError) as caught:
        engine_of(_vocabulary("v", "ranks", RANKS))
    assert caught.value.details["expected"] == hashlib.sha256(RANKS).hexdigest()
    assert caught.value.where is not None


BAD = {
    "no base64": ("v", "ranks", b"AAA 0\n"),
    "no rank": ("v", "ranks", b"YQ==\n"),
    "not zipped": ("v.gz", "ranks.gz", b"plain"),
    "no tokenizer": ("t", "tokenizer.json", b"{}"),
    "no model": ("t", "sentencepiece", b"xx"),
    "no tekken": ("t", "tekken", b"[]"),
    "no merges": ("t", "merges", b"#\n\xe9\xe9\n"),
}


@pytest.mark.parametrize("name", BAD)
def test_broken_files_are_refused(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A broken file is a typed error that names it."""
    path, form, data = BAD[name]
    _package(monkeypatch, tmp_path, {path: data})
    with pytest.raises(FormatError) as caught:
        engine_of(_vocabulary(path, form, data))
    assert path in str(caught.value.where)


def test_bombs_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A small file that unpacks to more than the limit is not unpacked further."""
    monkeypatch.setattr(carriers, "MAX_TOKENIZER_FILE_BYTES", 1000)
    monkeypatch.setattr(model_files, "MAX_TOKENIZER_FILE_BYTES", 1000)
    _package(monkeypatch, tmp_path, {"v.gz": gzip.compress(bytes(100_000))})
    with pytest.raises(LimitError):
        engine_of(_vocabulary("v.gz", "ranks.gz", b""))


def test_missing_packages_are_named() -> None:
    """Where no package carries a vocabulary, the error says what to install."""
    missing = msgspec.structs.replace(VOCABULARIES["gpt2"], carriers=(Carrier("no_such_package", "x", "ranks"),))
    assert not available(missing)
    with pytest.raises(TokenizerUnavailableError) as caught:
        engine_of(missing)
    assert caught.value.hint == install_line("'innkeeper[vocab-gpt2]'")


def test_the_table_grows_by_copies() -> None:
    """`with_` gives a new table; a vocabulary of the same name replaces; the old table stays."""
    tiny = Vocabulary(name="tiny", carriers=(), licence="none")
    table = VOCABULARIES.with_(tiny)
    assert "tiny" in table
    assert "tiny" not in VOCABULARIES
    assert len(table.with_(tiny)) == len(table) == len(VOCABULARIES) + 1
    with pytest.raises(UnknownNameError) as caught:
        Vocabularies(*VOCABULARIES.values())["o200k_bas"]
    assert "o200k_base" in str(caught.value.hint)


def test_engines_keep_the_protocol() -> None:
    """Every engine that loads here is an `Engine`."""
    assert all(
        isinstance(engine_of(vocabulary), Engine) for vocabulary in VOCABULARIES.values() if available(vocabulary)
    )
