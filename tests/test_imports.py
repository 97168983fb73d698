"""Any thread may import any module first: imports of one process never wait for each other in a circle.

Python holds a module's lock while it imports the module, what the module imports, and, before either, the packages it lies in.
Where two threads come to two modules from different ends, each waits for the other's, and one of them gets an error. So no
module waits, in however many steps, for one that waits for it. What is imported when a function is called is left out: no lock
is held then.
"""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tests.shared import ROOT

SOURCE = ROOT / "src"

UNDER_THE_ROOT = {"innkeeper", "innkeeper.lazy", "innkeeper.version"}
"""The root cannot do without two modules of its own. Nobody imports one of them before the root."""

FILES = {".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in SOURCE.rglob("*.py")}
MODULES = {name.removesuffix(".__init__"): path for name, path in FILES.items()}


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_bytes())


def imports(body: Iterable[ast.stmt], *, deep: bool = False) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that run when a module is imported; with ``deep`` those of its functions too, in the order of the text."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from imports(node.orelse, deep=deep)
        elif deep or isinstance(node, ast.If | ast.Try | ast.With | ast.ClassDef):
            yield from imports(statements(node), deep=deep)


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements that stand directly in another, in the order of the text."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from child.body


@cache
def homes(package: str) -> dict[str, str]:
    """Where the names of a package live: what it gives `lazy_names`, or calls ``_HOMES``."""
    for node in ast.walk(tree(MODULES[package])):
        is_table = isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "_HOMES"
        is_call = isinstance(node, ast.Call) and ast.unparse(node.func) == "lazy_names"
        table = node.value if is_table else node.args[1] if is_call else None  # type: ignore[attr-defined]
        if isinstance(table, ast.Dict):
            known: dict[str, tuple[str, ...]] = ast.literal_eval(table)
            return {
                name: home if home.startswith("innkeeper.") else f"{package}.{home}"
                for home, names in known.items()
                for name in names
            }
    return {}


def imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The modules of ours that an import may wait for."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in MODULES)
    elif node.module in MODULES:
        yield node.module
        for alias in node.names:
            below = f"{node.module}.{alias.name}"
            yield from {below, homes(node.module).get(alias.name, below)} & MODULES.keys()


def waits_for(module: str) -> set[str]:
    """What a thread that imports the module may wait for while it holds the module's lock."""
    own = {name for node in imports(tree(MODULES[module]).body) for name in imported(node)}
    package = module.rpartition(".")[0]
    return (own | ({package} if package else set())) - {module}


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """What is left of a graph when modules that wait for nothing are taken away, again and again."""
    left = {name: set(others) for name, others in graph.items()}
    while free := {name for name, others in left.items() if not others & left.keys()}:
        left = {name: others for name, others in left.items() if name not in free}
    return [{name} | (others & left.keys()) for name, others in left.items()]


def test_no_circle() -> None:
    """The modules of ours can be put in a row in which each waits only for those before it."""
    graph = {name: waits_for(name) for name in MODULES if name not in UNDER_THE_ROOT}
    assert circles(graph) == []


def test_a_circle_is_seen() -> None:
    """A package that imports its own module waits for who imports that module."""
    assert circles({"p": {"p.a"}, "p.a": {"p"}, "b": {"p"}})
    assert not circles({"p": set(), "p.a": {"p"}, "b": {"p.a", "p"}})


def inner_imports() -> dict[str, list[tuple[str, str]]]:
    """By library: each module of it that some module of ours comes to first, with that module's name."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, path in MODULES.items():
        entered: set[str] = set()
        for node in imports(tree(path).body, deep=True):
            targets = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            for target in targets:
                top = target.partition(".")[0]
                if top not in entered and target != top and top not in {"innkeeper", "collections"}:
                    found.setdefault(top, []).append((target, name))
                entered.add(top)
    return found


def test_libraries_are_entered_at_the_top() -> None:
    """Who comes first to a module of a library comes to none that the library's own package imports: the circle of above."""
    for library, inner in sorted(inner_imports().items()):
        code = f"import sys, {library}; print(*(name for name in sys.modules if name.startswith({library + '.'!r})))"
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        loaded = set(done.stdout.split())
        assert [(target, module) for target, module in inner if target in loaded] == [], library
