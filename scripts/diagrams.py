"""Draw the diagrams in docs/pictures from the source: how a request travels, the floors, the states of a job.

Each is an SVG that is dark where the reader's system is, without a script or an address to fetch from.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Final

from innkeeper.jobs.job import ENDED, NEXT, JobState

ROOT: Final = Path(__file__).parents[1]
PICTURES: Final = ROOT / "docs" / "pictures"

_STYLE: Final = """\
<style>
  text { font: 14px ui-sans-serif, system-ui, sans-serif; fill: #1f2328 }
  .name { font-weight: 600 }
  .small { font-size: 12px }
  rect { fill: #f6f8fa; stroke: #57606a }
  rect.page { fill: #fff; stroke: none }
  rect.end { fill: #ddf4ff }
  path { fill: none; stroke: #57606a; stroke-width: 1.5 }
  marker path { fill: #57606a; stroke: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    rect { fill: #161b22; stroke: #8b949e }
    rect.page { fill: #0d1117 }
    rect.end { fill: #0c2d4d }
    path { stroke: #8b949e }
    marker path { fill: #8b949e }
  }
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse">
  <path d="M0 0 8 4 0 8z"/></marker></defs>
"""

_PAGE: Final = '<rect class="page" width="100%" height="100%"/>'
_SENTENCE: Final = 115
"""Characters of a sentence beside a floor."""

WAY: Final = (
    ("files, rows, requests", "what a caller has; untrusted, so it is read within limits"),
    ("content", "typed assets: Character, Lorebook, Preset, Persona, ChatLog; parsed once, never changed"),
    ("a tavern", "named steps turn assets and chat into blocks; clock and seed are inputs"),
    ("Plan", "blocks with role, text, position, priority, budget group and origin"),
    ("budget", "counts what is sent, evicts until used + reserved fit the window, reports"),
    ("a dialect", "the body of one provider, and what it could not carry"),
    ("inference", "the gate, a route, the body unchanged to its provider, one ModelResponse"),
    ("service, command line", "the doors: they decode and encode, rules are below"),
)
"""How a request travels: who has it, and what becomes of it there."""


def _svg(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">'
    return "\n".join([head, f"<title>{title}</title>", _STYLE.rstrip(), _PAGE, *parts, "</svg>", ""])


def _box(x: int, y: int, width: int, name: str, kind: str = "") -> str:
    rect = f'<rect x="{x}" y="{y}" width="{width}" height="30" rx="5"{kind}/>'
    return f'{rect}<text class="name" x="{x + width // 2}" y="{y + 20}" text-anchor="middle">{escape(name)}</text>'


def _arrow(way: str, title: str = "") -> str:
    told = f"<title>{escape(title)}</title>" if title else ""
    return f'<path d="{way}" marker-end="url(#head)">{told}</path>'


def _text(x: int, y: int, text: str) -> str:
    return f'<text class="small" x="{x}" y="{y}">{escape(text)}</text>'


def request() -> str:
    """The way of a request, from above to below."""
    parts = []
    for index, (name, words) in enumerate(WAY):
        y = 10 + 50 * index
        parts += [_box(10, y, 190, name), _text(215, y + 20, words)]
        parts += [_arrow(f"M105 {y + 30}v18")] if index < len(WAY) - 1 else []
    return _svg(780, 50 * len(WAY), "How a request travels", parts)


def floors() -> str:
    """The packages as the linter of imports has them, each with the first sentence of its docstring."""
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    rows = [row.replace("(", "").replace(")", "") for row in linter["contracts"][0]["layers"] if row != "__main__"]
    parts = []
    for index, row in enumerate(rows):
        parts.append(_box(10, 10 + 36 * index, 160, row.replace(" | ", ", ")))
        parts.append(_text(185, 30 + 36 * index, _about(row.split(" | ")[-1])))
    return _svg(980, 20 + 36 * len(rows), "The floors: a package imports only packages below it", parts)


def _about(package: str) -> str:
    base = ROOT / "src" / "innkeeper" / package
    module = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    words = (ast.get_docstring(ast.parse(module.read_text("utf-8"))) or "").split("\n\n")[0]
    sentence = " ".join(words.split()).replace("``", "").replace("`", "").split(". ")[0].rstrip(".")
    return sentence if len(sentence) <= _SENTENCE else sentence[:_SENTENCE] + "…"


def job_states() -> str:
    """The states of a job and every change from one into another."""
    way = [state for state in NEXT if state not in ENDED] + [JobState.SUCCEEDED]
    out = [state for state in NEXT if state in ENDED and state not in way]
    x = {state: 10 + 150 * index for index, state in enumerate(way)} | {s: 160 + 200 * i for i, s in enumerate(out)}
    parts = [_box(x[state], 70, 110, state, ' class="end"' if state in ENDED else "") for state in way]
    parts += [_box(x[state], 190, 110, state, ' class="end"') for state in out]
    for state, targets in NEXT.items():
        for target in sorted(targets, key=list(NEXT).index):
            title = f"{state} to {target}"
            if state in way and target in way and x[target] == x[state] + 150:
                parts.append(_arrow(f"M{x[state] + 110} 85h38", title))
            elif state in way and target in way:
                a, b = x[state] + 40, x[target] + 70
                parts.append(_arrow(f"M{a} 70C{a} 20 {b} 20 {b} 68", title))
            elif state in way:
                parts.append(
                    _arrow(f"M{x[state] + 55} 100C{x[state] + 55} 150 {x[target] + 55} 140 {x[target] + 55} 188", title)
                )
            else:
                parts.append(
                    _arrow(f"M{x[state] + 80} 190C{x[state] + 80} 150 {x[target] + 75} 150 {x[target] + 75} 102", title)
                )
    parts.append(
        _text(
            10,
            245,
            "A retry goes back as far as it must, and a provider may turn out to have had what was lost sight of.",
        )
    )
    return _svg(10 + 150 * len(way), 260, "The states of a job", parts)


DIAGRAMS: Final = {"floors": floors, "job-states": job_states, "request": request}
"""The diagrams by name, and what draws each."""

if __name__ == "__main__":
    for name, draw in DIAGRAMS.items():
        (PICTURES / f"{name}.svg").write_text(draw(), encoding="utf-8")
