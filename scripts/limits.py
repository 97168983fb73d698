"""Write all limits, as the sources name them, into the data of `innkeeper admin limits` and the table of docs/limits.md.

A limit is a ``MAX_...`` constant with a docstring below it, or a field of a class whose name ends in ``Limits``. The docstring
says what is bounded, and in parentheses what happens beyond: the error, ``a note``, or ``no error`` with what happens instead.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from innkeeper.cli.app.limits import DATA, Limit, markdown

SOURCE: Final = Path(__file__).parents[1] / "src"
PAGE: Final = Path(__file__).parents[1] / "docs" / "limits.md"
BEGIN, END = "<!-- begin: innkeeper admin limits --markdown -->", "<!-- end -->"

BUILD_LIMITS: Final = "`limits` of a request, `--limit`, `serve --limit`, `Ports.max_limits`"
"""How the limits of a whole build are set."""


def page(text: str) -> str:
    """The page with the table of today."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{markdown(named_limits())}\n{END}{rest.partition(END)[2]}"


def data() -> bytes:
    """The data of today, a limit a line."""
    return b"[\n" + b",\n".join(msgspec.json.encode(limit._asdict()) for limit in named_limits()) + b"\n]\n"


def named_limits() -> list[Limit]:
    """Return all limits by module, in source order."""
    sources = [_Source(module, text) for module, text in _modules() if _SPEAKS_OF_LIMITS.search(text)]
    setters: dict[tuple[str, str], str] = {}
    for source in sources:
        setters |= dict(source.setters())
    return [limit for source in sources for limit in source.limits(setters)]


_SPEAKS_OF_LIMITS: Final = re.compile(r"^MAX_|^class \w*Limits\b|^ +\w+: .* = MAX_|BuildLimits\(", re.MULTILINE)
"""Matches modules that name, set or hold a limit; all others are not parsed."""


def _modules() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path.read_text("utf-8")


class _Source:
    """One module's source: its constants, and the limits of other modules that it sets."""

    def __init__(self, module: str, text: str) -> None:
        self.module, self.tree, self.calls = module, ast.parse(text), "BuildLimits(" in text
        self.names: dict[str, tuple[str, str]] = {}
        self.values: dict[str, float] = {}
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                self.names |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
            elif (constant := _constant(node)) is not None:
                name, expression = constant
                self.names[name] = (module, name)
                value = _value(expression, self.values)
                if value is not None:
                    self.values[name] = value

    def limits(self, setters: dict[tuple[str, str], str]) -> Iterator[Limit]:
        """Yield the limits defined in this module."""
        for node, text in _documented(self.tree.body):
            constant = _constant(node)
            if constant is not None and constant[0].startswith("MAX_") and constant[0] in self.values:
                bounds, beyond = _limit_text(text)
                how = setters.get((self.module, constant[0]), "fixed")
                yield Limit(self.module, constant[0], self.values[constant[0]], bounds, beyond, how)
            elif isinstance(node, ast.ClassDef) and node.name.endswith("Limits"):
                yield from self._fields(node)

    def _fields(self, node: ast.ClassDef) -> Iterator[Limit]:
        beyond = _limit_text(ast.get_docstring(node) or "")[1]
        for field, text in _documented(node.body):
            constant = _constant(field)
            value = None if constant is None else _value(constant[1], self.values)
            if constant is not None and value is not None:
                bounds, own = _limit_text(text)
                name = f"{node.name}.{constant[0]}"
                yield Limit(self.module, name, value, bounds, own or beyond, f"a field of `{node.name}`")

    def setters(self) -> Iterator[tuple[tuple[str, str], str]]:
        """Yield the fields whose default is a limit, by the limit's module and name."""
        for class_ in (node for node in self.tree.body if isinstance(node, ast.ClassDef)):
            for field in class_.body:
                constant = _constant(field)
                if constant is not None and isinstance(constant[1], ast.Name) and constant[1].id in self.names:
                    yield self.names[constant[1].id], f"`{class_.name}.{constant[0]}`"
        for node in ast.walk(self.tree) if self.calls else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "BuildLimits":
                for keyword in node.keywords:
                    if isinstance(keyword.value, ast.Name) and keyword.value.id in self.names:
                        yield self.names[keyword.value.id], BUILD_LIMITS


def _constant(node: ast.stmt) -> tuple[str, ast.expr] | None:
    """Return name and expression of an assignment to one name."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        return node.target.id, node.value
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id, node.value
    return None


def _documented(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, str]]:
    """Yield each statement with the docstring below it, or an empty text."""
    for node, after in zip(body, [*body[1:], None], strict=True):
        is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        text = after.value.value if is_text else ""  # type: ignore[union-attr]
        yield node, text if isinstance(text, str) else ""


_OPERATORS: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
}


def _value(expression: ast.expr, known: dict[str, float]) -> float | None:
    """Evaluate an expression of numbers and constants."""
    if isinstance(expression, ast.Constant):
        return expression.value if type(expression.value) in (int, float) else None  # type: ignore[return-value]
    if isinstance(expression, ast.Name):
        return known.get(expression.id)
    if isinstance(expression, ast.BinOp) and type(expression.op) in _OPERATORS:
        left, right = _value(expression.left, known), _value(expression.right, known)
        return None if left is None or right is None else _OPERATORS[type(expression.op)](left, right)
    return None


_BEYOND: Final = re.compile(r"\s*\(([^()]*(?:`\w+Error`|a note|no error)[^()]*)\)")


def _limit_text(text: str) -> tuple[str, str]:
    """Split the docstring of a limit into what it bounds and what happens beyond it."""
    words = " ".join(text.split()).replace("``", "`")
    match = _BEYOND.search(words)
    if match is None:
        return words, ""
    return words[: match.start()] + words[match.end() :], match[1]


if __name__ == "__main__":
    DATA.write_bytes(data())
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
