"""From code to closures: the syntax of the sandbox, checked node by node, and a function for each node that is allowed.

There are no loops and no functions in the language, so a piece of code takes no more steps than it has nodes. A node that is
not in the tables of this module is refused, wherever it stands, before anything runs.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

import msgspec

from innkeeper.macros.smart.sandbox.closures import (
    Closure,
    call_any,
    call_named,
    call_one,
    call_two,
    comparisons,
    in_order,
    item_of,
    one_comparison,
    put_item,
    set_name,
    unpacked,
)
from innkeeper.macros.smart.sandbox.lexer import prepared
from innkeeper.macros.smart.sandbox.limits import (
    CACHED_CODE_CHARS,
    CACHED_PROGRAMS,
    FAILURES,
    SANDBOX_LIMITS,
    SandboxError,
    SandboxForbiddenError,
    SandboxLimits,
    SandboxRuntimeError,
    SandboxSyntaxError,
    SourcePosition,
)
from innkeeper.macros.smart.sandbox.names import DOTTED, FUNCTIONS, MODULES
from innkeeper.macros.smart.sandbox.operators import BINARY, COMPARE, UNARY
from innkeeper.macros.smart.sandbox.values import Frame, Function, Module, Variables, kind_of, measure
from innkeeper.prompt.allowance import AllowanceError
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.errors import InnkeeperError

_CONSTANTS: Final = frozenset({int, float, str, bool, type(None)})
_NO_FILE: Final = ""
"""The file name given to the parser. It opens that file to show a wrong line, so it must be one that cannot exist."""
_BUILTINS: Final = "__builtins__"


class Program(msgspec.Struct, frozen=True):
    """Compiled code: ``run`` takes a frame and gives the value."""

    run: Closure


def program(code: str, limits: SandboxLimits = SANDBOX_LIMITS) -> Program:
    """Compile the code; cached by its text when it is short and the limits are the usual ones.

    Raises `SandboxSyntaxError`, `SandboxForbiddenError` or `SandboxLimitError` for code that never runs.
    """
    if limits is SANDBOX_LIMITS and len(code) <= CACHED_CODE_CHARS:
        return _PROGRAMS.get_or_make(code, lambda: _built(code, limits), _CLOSURE_BYTES * len(code))
    return _built(code, limits)


_PROGRAMS: Final[BoundedCache[str, Program]] = BoundedCache(items=CACHED_PROGRAMS, size=32 * 1024 * 1024)
_CLOSURE_BYTES: Final = 400
"""The bytes charged for a character of compiled code."""


def _built(code: str, limits: SandboxLimits) -> Program:
    code = code.rstrip()
    ready = prepared(code, limits)
    try:
        try:  # an expression has its own value, statements have that of ``result``
            tree: ast.AST = ast.parse(ready, _NO_FILE, "eval")
        except SyntaxError:
            tree = ast.parse(ready, _NO_FILE, "exec")
    except SyntaxError as error:
        raise _unreadable(error, code) from None
    except (MemoryError, RecursionError):
        raise limits.exceeded("depth", "the nesting of the code") from None
    return Program(_Compiler(code, limits).compile(tree))


def _unreadable(error: SyntaxError, code: str) -> SandboxSyntaxError:
    line, column = error.lineno or 1, error.offset or 1
    lines = code.split("\n")
    excerpt = lines[line - 1][:120] if 0 < line <= len(lines) else ""
    if "integer string conversion" in error.msg:
        return SandboxSyntaxError("a whole number is too long to read", hint="make it smaller").at(
            line=line, column=1, excerpt=excerpt
        )
    return SandboxSyntaxError(f"the code is not Python: {error.msg}").at(line=line, column=column, excerpt=excerpt)


class _Compiler:
    """Compiles one tree. ``assigned`` are the names that the code sets: only those are looked up while it runs."""

    __slots__ = ("assigned", "code", "depth", "limits", "lines")

    def __init__(self, code: str, limits: SandboxLimits) -> None:
        self.code = code
        self.lines = code.split("\n")
        self.limits = limits
        self.depth = 0
        self.assigned: frozenset[str] = frozenset()

    def compile(self, tree: Any) -> Closure:
        try:
            if isinstance(tree, ast.Expression):
                return self.value(tree.body)
            # known before anything is compiled: a name that is never set is looked up here and now, not at every run
            self.assigned = frozenset(
                node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            )
            return in_order([self.statement(node) for node in tree.body])
        except RecursionError:
            raise self.limits.exceeded("depth", "the nesting of the code") from None

    def position_of(self, node: Any) -> SourcePosition:
        """The place of a node."""
        function = self._fixed(node.func) if isinstance(node, ast.Call) else None
        return SourcePosition(self.lines, node.lineno, node.col_offset, None if function is None else function.usage)

    def refuse(self, node: Any, message: str, hint: str | None = None) -> NoReturn:
        raise SandboxForbiddenError(message, hint=hint).at(**self.position_of(node).parts())

    # ------------------------------------------------------------------------------------------------ expressions

    def value(self, node: Any) -> Closure:
        """The closure of an expression."""
        return self._nested(node, _EXPRESSIONS)

    def statement(self, node: Any) -> Closure:
        """The closure of a statement; it gives nothing."""
        return self._nested(node, _STATEMENTS)

    def _nested(self, node: Any, table: Mapping[type[ast.AST], Callable[[Any, Any], Closure]]) -> Closure:
        compile_node = table.get(type(node))
        if compile_node is None:
            self.refuse(node, f"there is no {_shown(node)} in the sandbox")
        self.depth += 1
        if self.depth > self.limits.depth:
            raise self.limits.exceeded("depth", "the nesting of the code").at(**self.position_of(node).parts())
        closure = compile_node(self, node)
        self.depth -= 1
        return closure

    def guarded(self, node: Any, closure: Closure) -> Closure:
        """The closure, with its failures as typed errors that say where."""
        where = self.position_of(node)

        def run(frame: Frame) -> Any:
            try:
                return closure(frame)
            except AllowanceError:  # the build's own end, which is no error of this code
                raise
            except SandboxError as error:
                raise where.error(error) from None
            except (InnkeeperError, *FAILURES) as error:
                raise where.error(error) from error

        return run

    def constant(self, node: ast.Constant) -> Closure:
        value = node.value
        if type(value) not in _CONSTANTS:
            self.refuse(node, f"there are no constants of the kind {kind_of(value)} in the sandbox")
        if type(value) is int and value.bit_length() > self.limits.int_bits:
            raise self.limits.exceeded("int_bits", "a whole number", value.bit_length()).at(
                **self.position_of(node).parts()
            )
        return lambda _frame: value

    def name(self, node: ast.Name) -> Closure:
        known = _known_name(node.id)
        if node.id not in self.assigned:
            return self._missing(node) if known is None else known
        name, otherwise = node.id, self._missing(node) if known is None else known

        def run(frame: Frame) -> Any:
            names = frame.names
            return names[name] if name in names else otherwise(frame)

        return run

    def _missing(self, node: ast.Name) -> Closure:
        name, where = node.id, self.position_of(node)

        def run(frame: Frame) -> Any:
            hint = "read variables with getvar('path')"
            raise SandboxRuntimeError(f"there is no name {name!r}", hint=hint).at(**where.parts())

        return run

    def sequence(self, node: Any) -> Closure:
        parts = [self.value(item) for item in node.elts]
        kind = tuple if isinstance(node, ast.Tuple) else list

        def run(frame: Frame) -> Any:
            made = kind([part(frame) for part in parts])
            measure(frame, made)  # what is in it was measured before; together it may be too much
            return made

        return self.guarded(node, run)

    def mapping(self, node: ast.Dict) -> Closure:
        pairs = [
            (None if key is None else self.value(key), self.value(value))
            for key, value in zip(node.keys, node.values, strict=True)
        ]

        def run(frame: Frame) -> Any:
            made: dict[Any, Any] = {}
            for key, value in pairs:
                if key is None:
                    made.update(unpacked(frame, value(frame)))
                else:
                    name = key(frame)
                    measure(frame, name)
                    made[name] = value(frame)
            measure(frame, made)
            return made

        return self.guarded(node, run)

    def binary(self, node: ast.BinOp) -> Closure:
        apply = self._operator(node, node.op)
        left, right = self.value(node.left), self.value(node.right)

        def run(frame: Frame) -> Any:
            return apply(frame, left(frame), right(frame))

        return self.guarded(node, run)

    def _operator(self, node: Any, operator: ast.operator) -> Callable[[Frame, Any, Any], Any]:
        apply = BINARY.get(type(operator).__name__)
        if apply is None:
            self.refuse(node, f"there is no operator {type(operator).__name__} in the sandbox", "use + - * / // % ** ^")
        return apply

    def unary(self, node: ast.UnaryOp) -> Closure:
        apply = UNARY.get(type(node.op).__name__)
        if apply is None:
            self.refuse(node, "there is no operator ~ in the sandbox")
        operand = self.value(node.operand)
        return self.guarded(node, lambda frame: apply(operand(frame)))

    def logic(self, node: ast.BoolOp) -> Closure:
        parts, stop = [self.value(value) for value in node.values], isinstance(node.op, ast.Or)

        def run(frame: Frame) -> Any:
            value = None
            for part in parts:
                value = part(frame)
                if bool(value) is stop:
                    break
            return value

        return run

    def comparison(self, node: ast.Compare) -> Closure:
        left = self.value(node.left)
        steps = [
            (COMPARE[type(test).__name__], self.value(right))
            for test, right in zip(node.ops, node.comparators, strict=True)
        ]
        return self.guarded(node, one_comparison(left, *steps[0]) if len(steps) == 1 else comparisons(left, steps))

    def choice(self, node: ast.IfExp) -> Closure:
        test, yes, no = self.value(node.test), self.value(node.body), self.value(node.orelse)
        return lambda frame: yes(frame) if test(frame) else no(frame)

    def dotted(self, node: ast.Attribute) -> Closure:
        path = _spelling(node)
        member = DOTTED.get(path)
        if member is None:
            shown = f"there is no {path} in the sandbox" if path else "values have no attributes in the sandbox"
            self.refuse(node, shown, f"known: {', '.join(sorted(DOTTED))}")
        root, resolved = path.split(".", 1)[0], member
        # ``random = 3`` hides the module: only then is the name looked at while the code runs
        if root not in self.assigned:
            return lambda _frame: resolved

        def run(frame: Frame) -> Any:
            value = frame.names.get(root, MODULES[root])
            if type(value) is not Module or MODULES[root] is not value:
                raise SandboxRuntimeError(f"{root} was set to a {kind_of(value)}, which has no names behind dots")
            return resolved

        return self.guarded(node, run)

    def subscript(self, node: ast.Subscript) -> Closure:
        self._only_vars(node)
        whole, index = self.value(node.value), self.index(node.slice)
        return self.guarded(node, lambda frame: item_of(frame, whole(frame), index(frame)))

    def _only_vars(self, node: ast.Subscript) -> None:
        if not isinstance(node.value, ast.Name) or node.value.id != "vars":
            self.refuse(node, "only vars[...] can be indexed in the sandbox", "read one item with getvar('list[0]')")

    def index(self, node: Any) -> Closure:
        """Compile the contents of brackets: a value or a slice."""
        if not isinstance(node, ast.Slice):
            return self.value(node)
        parts = [None if part is None else self.value(part) for part in (node.lower, node.upper, node.step)]
        return lambda frame: slice(*[None if part is None else part(frame) for part in parts])

    def call(self, node: ast.Call) -> Closure:
        target = self._target(node.func)
        args = [self.value(arg) for arg in node.args]
        if node.keywords:
            return self.guarded(
                node, call_named(target, args, [(word.arg, self.value(word.value)) for word in node.keywords])
            )
        fixed = self._fixed(node.func)
        if fixed is not None and len(args) == 1:
            return self.guarded(node, call_one(fixed, args[0]))
        if fixed is not None and len(args) == 2:  # noqa: PLR2004 - the second usual number of arguments
            return self.guarded(node, call_two(fixed, *args))
        return self.guarded(node, call_any(target, args))

    def _target(self, func: Any) -> Closure:
        if isinstance(func, ast.Name):
            if func.id not in FUNCTIONS:
                self.refuse(
                    func, f"there is no function {func.id!r} in the sandbox", f"known: {', '.join(sorted(FUNCTIONS))}"
                )
            return self.name(func)
        if isinstance(func, ast.Attribute):
            return self.dotted(func)
        return self.refuse(func, "only functions of the sandbox can be called")

    def _fixed(self, func: Any) -> Function | None:
        path = func.id if isinstance(func, ast.Name) else _spelling(func)
        return None if path.split(".", 1)[0] in self.assigned else FUNCTIONS.get(path) or DOTTED.get(path)

    # ------------------------------------------------------------------------------------------------- statements

    def expression(self, node: ast.Expr) -> Closure:
        return self.value(node.value)

    def branch(self, node: ast.If) -> Closure:
        test = self.value(node.test)
        yes, no = [self.statement(line) for line in node.body], [self.statement(line) for line in node.orelse]

        def run(frame: Frame) -> None:
            for line in yes if test(frame) else no:
                line(frame)

        return run

    def assignment(self, node: ast.Assign) -> Closure:
        targets, value = [self.target(target) for target in node.targets], self.value(node.value)

        def run(frame: Frame) -> None:
            made = value(frame)
            for target in targets:
                target(frame, made)

        return run

    def annotated(self, node: ast.AnnAssign) -> Closure:
        note = self.value(node.annotation)
        target = self.target(node.target)
        value = None if node.value is None else self.value(node.value)

        def run(frame: Frame) -> None:
            if value is not None:
                target(frame, value(frame))
            note(frame)

        return run

    def augmented(self, node: ast.AugAssign) -> Closure:
        target, apply = self.target(node.target), self._operator(node, node.op)
        written: Any = node.target
        old = self.name(written) if isinstance(written, ast.Name) else self.subscript(written)
        value = self.value(node.value)
        made = self.guarded(node, lambda frame: apply(frame, old(frame), value(frame)))
        return lambda frame: target(frame, made(frame))

    def target(self, node: Any) -> Callable[[Frame, Any], None]:
        """Compile the setter of a name, an item of ``vars``, or several of them."""
        if isinstance(node, ast.Name):
            return set_name(node.id)
        if isinstance(node, ast.Tuple | ast.List):
            return self._several(node)
        if isinstance(node, ast.Subscript):
            return self._set_item(node)
        return self.refuse(node, f"{_shown(node)} cannot be set in the sandbox", "set a name, or vars['path']")

    def _several(self, node: Any) -> Callable[[Frame, Any], None]:
        targets, where = [self.target(part) for part in node.elts], self.position_of(node)

        def run(frame: Frame, value: Any) -> None:
            if type(value) not in {list, tuple, str, dict} or len(value) != len(targets):
                count = f"{len(value)} values" if type(value) in {list, tuple, str, dict} else f"a {kind_of(value)}"
                raise SandboxRuntimeError(f"{len(targets)} names cannot be set from {count}").at(**where.parts())
            for target, item in zip(targets, tuple(value), strict=True):
                target(frame, item)

        return run

    def _set_item(self, node: ast.Subscript) -> Callable[[Frame, Any], None]:
        self._only_vars(node)
        whole, index, where = self.value(node.value), self.index(node.slice), self.position_of(node)

        def run(frame: Frame, value: Any) -> None:
            try:
                put_item(frame, whole(frame), index(frame), value)
            except AllowanceError:
                raise
            except SandboxError as error:
                raise where.error(error) from None
            except (InnkeeperError, *FAILURES) as error:
                raise where.error(error) from error

        return run


_EXPRESSIONS: Final[dict[type[ast.AST], Callable[[Any, Any], Closure]]] = {
    ast.Constant: _Compiler.constant,
    ast.Name: _Compiler.name,
    ast.List: _Compiler.sequence,
    ast.Tuple: _Compiler.sequence,
    ast.Dict: _Compiler.mapping,
    ast.BinOp: _Compiler.binary,
    ast.UnaryOp: _Compiler.unary,
    ast.BoolOp: _Compiler.logic,
    ast.Compare: _Compiler.comparison,
    ast.IfExp: _Compiler.choice,
    ast.Attribute: _Compiler.dotted,
    ast.Subscript: _Compiler.subscript,
    ast.Call: _Compiler.call,
}
_STATEMENTS: Final[dict[type[ast.AST], Callable[[Any, Any], Closure]]] = {
    ast.Expr: _Compiler.expression,
    ast.If: _Compiler.branch,
    ast.Assign: _Compiler.assignment,
    ast.AnnAssign: _Compiler.annotated,
    ast.AugAssign: _Compiler.augmented,
}


def _shown(node: Any) -> str:
    return type(node).__name__


def _spelling(node: Any) -> str:
    """A dotted name as it is spelt, or nothing for dots behind anything but a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _known_name(name: str) -> Closure | None:
    value = FUNCTIONS.get(name) or MODULES.get(name)
    if value is not None:
        return lambda _frame: value
    if name == _BUILTINS:
        return lambda _frame: {}  # as in the original an empty dict, and not the interpreter's
    return Variables if name == "vars" else None
