"""Every reader of foreign bytes, with every hostile shape: twice the input costs at most two and a half times as much.

Readers are those of the fuzzer's table, shapes those of ``corpus.toml``; whoever adds one of either has all of it tried. A
refusal is an error of ours, and then it costs no more either.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

import pytest

from innkeeper.macros.silly.card import example_blocks
from tests.fuzz.targets import TARGETS
from tests.limits.growth import Family, held
from tests.shared import ROOT

SHAPES: Final[dict[str, dict[str, str]]] = tomllib.loads(Path(__file__).with_name("corpus.toml").read_text("utf-8"))
BYTES: Final = 12_000
"""The size of the single input."""

READ: Final = {name: target.run for name, target in TARGETS.items()} | {
    "examples": lambda data: example_blocks(data.decode())
}
STEEP: Final = frozenset({"sandbox", "pyregex"})
"""Those that refuse such texts by their own rules; what they cost is in `test_sandbox` and `test_patterns`."""


@pytest.mark.sampled(40)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reader", sorted(READ.keys() - STEEP))
def test_twice_the_input_costs_twice_as_much(reader: str, shape: str) -> None:
    """Time and memory grow as the input does, or it is refused."""
    before, part, after = (SHAPES[shape][name] for name in ("before", "part", "after"))
    run = READ[reader]
    size = max(1, BYTES // len(part.encode()))
    assert held(Family(shape, lambda count: run((before + part * count + after).encode()), size, reader))


PARSERS: Final = re.compile(
    r"\b(?:tomllib\.loads|tomlkit\.parse|yaml\.(?:parse|load)\(|zlib\.decompress|ZipFile\(|minijinja\.Env|validate_json\()"
)
"""Parsers that are not ours, by what calls them."""

READERS: Final = {
    "content/toml.py": "config",
    "cli/settings/config.py": "config",
    "dialects/sillytavern/bodies/custom.py": "yaml-fields",
    "library/transfer/yamltext.py": "import-yaml",
    "content/files/archive.py": "zip",
    "content/files/charx.py": "zip",
    "content/files/png.py": "png",
    "content/files/reader.py": "zip",
    "inference/tools/mcp_process.py": "tool-list",
}
"""Modules that call one, and the reader that tries it."""

ELSEWHERE: Final = {
    "dialects/template_engine.py": "a process with limits of its own (`tests/dialects/test_chat_template.py`)",
    "gate/words/packing.py": "a file of ours",
    "cli/talk/log.py": "a file that only this program writes",
    "inference/local/weights.py": "streamed, up to `MAX_MODEL_BYTES`, with a digest",
    "tokens/engines/loading.py": "reads `MAX_TOKENIZER_FILE_BYTES` and no more",
    "tokens/media.py": "looks at so many objects, and so many bytes of each",
    "operations/scenes/reading.py": "a file of ours",
    "library/transfer/state.py": "an archive of ours, read in blocks; no member is larger than its manifest says",
    "service/prompts/plans.py": "rows of the library that only this program writes",
    "content/files/risu.py": "no door reads such files yet; tests/content/files/test_risu.py tries its limits",
}


def test_no_parser_is_forgotten() -> None:
    """Whatever calls a parser that is not ours is tried here, or says why not."""
    root = ROOT / "src" / "innkeeper"
    calling = {
        path.relative_to(root).as_posix() for path in root.rglob("*.py") if PARSERS.search(path.read_text("utf-8"))
    }
    assert calling - READERS.keys() - ELSEWHERE.keys() == set()
    assert {*READERS.values()} <= TARGETS.keys()
