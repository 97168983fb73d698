"""Print how many of each there are: model stacks, stream writers, child processes, twin names, one-use helpers, and so on.

``python scripts/house.py`` reads the sources as text, runs none of them, and prints a row for each measure: the count, the most
that CI allows (a count may only fall), and the aim. With ``--check`` a count above its bar is an error. With ``--where NAME``
each hit of a measure is printed, so that it can be mended. The aims are those of ``docs/adr/0035-one-of-each.md``.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

SOURCE: Final = Path(__file__).parents[1] / "src" / "innkeeper"

VAGUE: Final = frozenset({"found", "place", "places", "told", "said", "kept", "given", "wanted", "thing", "things"})
"""Words that name anything: a name made of one of them cannot be searched for."""

MEMORIES: Final = frozenset({"Row", "Store"})
"""What is named for the table ``memories``: what is remembered, not where it is stored."""

SHORT_HELPER: Final = 3
"""Lines of a private helper that, used once, could as well stand where it is called."""

Hits = Iterator[tuple[str, int, str]]
"""What a measure counts: file, line, name."""


class Module(NamedTuple):
    """One source file, and all nodes of its syntax tree."""

    path: str
    text: str
    nodes: tuple[ast.AST, ...]

    @classmethod
    def parsed(cls, path: str, text: str) -> Module:
        """The module of a source text."""
        return cls(path, text, tuple(ast.walk(ast.parse(text))))


class Measure(NamedTuple):
    """One row of the table: what is counted, the most that is allowed now, and the aim."""

    name: str
    bar: float
    aim: float
    hits: Callable[[Sequence[Module]], Hits]


def read_modules(source: Path = SOURCE) -> tuple[Module, ...]:
    """All modules below a folder, in the order of their paths."""
    files = ((path, path.read_text(encoding="utf-8")) for path in sorted(source.rglob("*.py")))
    return tuple(Module.parsed(path.relative_to(source).as_posix(), text) for path, text in files)


# -------------------------------------------------------------------------------------------------------------- one of each


def calls(*names: str, under: str = "") -> Callable[[Sequence[Module]], Hits]:
    """Modules below ``under`` that call one of the functions, the first call of each."""

    def hits(modules: Sequence[Module]) -> Hits:
        for module in modules:
            if not module.path.startswith(under):
                continue
            lines = [node.lineno for node in module.nodes if isinstance(node, ast.Call) and _callee(node) in names]
            if lines:
                yield module.path, min(lines), "/".join(names)

    return hits


def classes(pattern: str, under: str = "") -> Callable[[Sequence[Module]], Hits]:
    """Classes below ``under`` whose name matches; protocols only describe another's."""

    def hits(modules: Sequence[Module]) -> Hits:
        for module in modules:
            for node in module.nodes if module.path.startswith(under) else ():
                if not isinstance(node, ast.ClassDef) or any("Protocol" in ast.unparse(base) for base in node.bases):
                    continue
                if re.fullmatch(pattern, node.name):
                    yield module.path, node.lineno, node.name

    return hits


def _callee(call: ast.Call) -> str:
    """``b.c`` for the call ``a.b.c(…)``, ``c`` for ``c(…)``."""
    return ".".join(ast.unparse(call.func).split(".")[-2:])


def stream_writers(modules: Sequence[Module]) -> Hits:
    """Lines that write an event of a stream: a literal that begins with ``data: ``, alone or after ``event: ``."""
    for module in modules:
        if module.path.startswith("inference/fake/"):
            continue  # providers that tests ask
        for node in module.nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
                text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
                if re.match(r"(event: .*\n)?data: ", text):
                    yield module.path, node.lineno, "data:"


def twin_stores(modules: Sequence[Module]) -> Hits:
    """Classes named as the form in memory of a store that has a form in a database, too."""
    classes = {node.name for module in modules for node in module.nodes if isinstance(node, ast.ClassDef)}
    for module in modules:
        for node in module.nodes:
            if isinstance(node, ast.ClassDef) and (match := re.fullmatch(r"Memory(\w+)|(\w+)InMemory", node.name)):
                kind = match[1] or match[2]
                if kind not in MEMORIES and classes & {f"Database{kind}", f"Library{kind}", f"Conversation{kind}"}:
                    yield module.path, node.lineno, node.name


# ---------------------------------------------------------------------------------------------------------- names and size


def twin_classes(modules: Sequence[Module]) -> Hits:
    """Class names that stand for more than one class, each once."""
    homes = defaultdict(list)
    for module in modules:
        for node in module.nodes:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append((module.path, node.lineno))
    for name, places_of_name in sorted(homes.items()):
        if len(places_of_name) > 1:
            yield (*places_of_name[0], f"{name} ({', '.join(path for path, _ in places_of_name[1:])})")


def vague_names(modules: Sequence[Module]) -> Hits:
    """Definitions of a name that is made of a word of `VAGUE`: classes, functions, parameters, variables and attributes."""
    for module in modules:
        for node in module.nodes:
            for name in _defined(node):
                words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_")
                if VAGUE.intersection(words):
                    yield module.path, getattr(node, "lineno", 0), name


def _defined(node: ast.AST) -> list[str]:
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return [name]
        case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            return [name]
        case _:
            return []


def short_helpers(*, called: bool) -> Callable[[Sequence[Module]], Hits]:
    """Private functions of no more than `SHORT_HELPER` lines that their module uses once, by a call or as a value.

    A value stands in a table or is handed on: it cannot be written where it is used, except as a lambda.
    """

    def hits(modules: Sequence[Module]) -> Hits:
        for module in modules:
            uses = Counter(name for node in module.nodes if (name := _name(node)))
            calls = {_name(node.func) for node in module.nodes if isinstance(node, ast.Call)}
            for node in module.nodes:
                if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not re.match(r"_[^_]", node.name):
                    continue
                if uses[node.name] == 1 and (node.name in calls) is called and _is_short(node):
                    yield module.path, node.lineno, node.name

    return hits


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_short(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    lines = body[-1].end_lineno - body[0].lineno + 1 if body and body[-1].end_lineno else 0
    return lines <= SHORT_HELPER and not function.decorator_list


def source_lines(modules: Sequence[Module]) -> Hits:
    """Each line of the sources."""
    for module in modules:
        for line in range(1, module.text.count("\n") + 1):
            yield module.path, line, ""


def comment_share(modules: Sequence[Module]) -> float:
    """The share of lines that are comments, in per cent. There is no quota: comments stand where code is dense."""
    lines = [line.strip() for module in modules for line in module.text.splitlines()]
    return 100 * sum(line.startswith("#") for line in lines) / len(lines)


# ------------------------------------------------------------------------------------------------------------------- table

MEASURES: Final = (
    Measure("stacks that ask a model", 1, 1, calls("retried")),
    Measure("readers of a turn's answer", 1, 1, classes(r"\w*ReplyStream")),
    Measure("declarations of an operation", 1, 1, classes(r"\w*Operation")),
    Measure("guards of the service", 1, 1, classes(r"\w*Guard", under="service/")),
    Measure("stream writers", 1, 1, stream_writers),
    Measure(
        "modules that start a process", 1, 1, calls("subprocess.Popen", "asyncio.create_subprocess_exec", "os.fork")
    ),
    Measure("modules that declare routes by hand", 1, 1, calls("Route", under="service/")),
    Measure("modules that charge a call", 1, 1, calls("ledger.charge", "quotas.charge", "record.asks", "record.book")),
    Measure("twin stores", 0, 0, twin_stores),
    Measure("class names that occur twice", 10, 20, twin_classes),
    Measure("vague names", 40, 120, vague_names),
    Measure("one-use helpers that are called", 250, 250, short_helpers(called=True)),
    Measure("one-use helpers that are values", 200, 200, short_helpers(called=False)),
    Measure("source lines", 160_500, 118_000, source_lines),
)


def main() -> int:
    """Print the table; 1 where ``--check`` finds a count above its bar."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="fail where a count is above its bar")
    parser.add_argument("--where", metavar="NAME", help="print each hit of the measures whose name begins so")
    options = parser.parse_args()
    modules = read_modules()
    if options.where:
        for measure in MEASURES:
            if measure.name.startswith(options.where):
                for path, line, name in measure.hits(modules):
                    print(f"src/innkeeper/{path}:{line}: {name}")
        return 0
    above = False
    print(f"{'measure':40}{'count':>9}{'allowed':>9}{'aim':>9}")
    for measure in MEASURES:
        count = sum(1 for _ in measure.hits(modules))
        above |= count > measure.bar
        print(
            f"{measure.name:40}{count:9,}{measure.bar:9,}{measure.aim:9,}"
            + ("  too many" if count > measure.bar else "")
        )
    print(f"{'comment lines, per cent':40}{comment_share(modules):9.2f}")
    return int(above and options.check)


if __name__ == "__main__":
    sys.exit(main())
