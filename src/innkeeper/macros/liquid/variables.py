"""The chat's variables in Liquid: the drops ``var`` and ``global``, and the tags that write.

``setvar``, ``setdefaultvar`` and ``addvar`` take ``name = expression``, ``incvar``, ``decvar`` and ``deletevar`` a name; with
``global`` for ``var`` they write to the chats' common variables. They print nothing. Names, scopes and the rule of *add* are
TavernKit's, except that ``setdefaultglobal`` is ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TextIO

from liquid import RenderContext, Token, TokenStream
from liquid.ast import Node
from liquid.builtin.expressions import FilteredExpression, parse_name
from liquid.expression import Expression
from liquid.tag import Tag
from liquid.token import TOKEN_ASSIGN, TOKEN_TAG
from liquid.undefined import is_undefined

from innkeeper.macros.liquid.session import LiquidSession, text_of
from innkeeper.prompt.data import MAX_DEPTH
from innkeeper.prompt.errors import LimitError
from innkeeper.prompt.run.variables import StagedVariables, number_of

_STEPS_A_WRITE: Final = 4
_STORE_LEVELS: Final = 3  # a store as data is a mapping of scopes, each a mapping of names
_SCOPES: Final = {"var": "local", "global": "global"}


class VariablesDrop(Mapping[str, Any]):
    """The variables of one scope as a template reads them: ``var.name`` or ``var["name"]``."""

    __slots__ = ("_scope", "_session")

    def __init__(self, session: LiquidSession, scope: str) -> None:
        self._session = session
        self._scope = scope

    def __getitem__(self, name: str) -> Any:
        """The value. Raises `KeyError` when it is not set."""
        store = self._session.variables
        if store is None or not isinstance(name, str) or not store.has(name, self._scope):
            raise KeyError(name)
        return store.get(name, self._scope)

    def __iter__(self) -> Iterator[str]:
        """The names."""
        store = self._session.variables
        names = store.names(self._scope) if store is not None else ()
        self._session.charge(len(names))
        return iter(names)

    def __len__(self) -> int:
        """How many."""
        return len(tuple(iter(self)))


class _WriteNode(Node):
    """One write: ``verb`` is ``set``, ``setdefault``, ``add``, ``inc``, ``dec`` or ``delete``."""

    __slots__ = ("expression", "name", "scope", "verb")

    def __init__(self, token: Token, verb: str, scope: str, name: str, expression: Expression | None) -> None:
        super().__init__(token)
        self.verb = verb
        self.scope = scope
        self.name = name
        self.expression = expression

    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        """Write into the staged variables; without a store, do nothing."""
        session: LiquidSession = context.session  # type: ignore[attr-defined]  # every context of ours has one
        session.charge(_STEPS_A_WRITE)
        value = None if self.expression is None else _data(self.expression.evaluate(context))
        session.charge_value(session.bounded(value))
        if session.variables is not None:
            _write(session, session.variables, self, value)
        return 0

    def expressions(self) -> Iterable[Expression]:
        """The right side, if any."""
        return () if self.expression is None else (self.expression,)


def _write(session: LiquidSession, store: StagedVariables, node: _WriteNode, value: Any) -> None:
    name, scope, verb = node.name, node.scope, node.verb
    if verb == "delete":
        store.delete(name, scope)
    elif verb == "set":
        store.set(name, value, scope)
    elif verb == "setdefault":
        if not store.has(name, scope):
            store.set(name, value, scope)
    elif verb == "add":
        store.set(name, session.bounded(_sum(store.get(name, scope), value)), scope)
    else:
        current = number_of(store.get(name, scope)) or 0
        store.set(name, session.bounded(current + (1 if verb == "inc" else -1)), scope)


def _sum(current: Any, value: Any) -> Any:
    """Both numbers (or nothing so far): their sum; otherwise one text after the other."""
    right = number_of(value)
    left = 0 if current is None else number_of(current)
    if left is None or right is None:
        return text_of(current) + text_of(value)
    return left + right


def _data(value: Any, depth: int = _STORE_LEVELS) -> Any:
    """A value as plain data that a store can keep. Raises `LimitError` beyond `MAX_DEPTH`."""
    if depth > MAX_DEPTH:
        raise LimitError("the nesting of a variable", limit="MAX_DEPTH", allowed=MAX_DEPTH)
    if is_undefined(value) or value is None:
        return None
    if isinstance(value, (range, list, tuple)):
        return [_data(item, depth + 1) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _data(item, depth + 1) for key, item in value.items()}
    return value if isinstance(value, (str, int, float, bool)) else text_of(value)


class _WriteTag(Tag):
    """The tag of one verb and scope; subclasses are made by `_tag`."""

    block = False
    verb = ""
    scope = ""

    def parse(self, stream: TokenStream) -> Node:
        """``name`` or ``name = expression``; the name may be in quotes."""
        token = stream.eat(TOKEN_TAG)
        inner = stream.into_inner(tag=token, eat=False)
        name = parse_name(self.env, inner)
        expression: Expression | None = None
        if self.verb in ("set", "setdefault", "add"):
            inner.eat(TOKEN_ASSIGN)
            expression = FilteredExpression.parse(self.env, inner)
        else:
            inner.expect_eos()
        return _WriteNode(token, self.verb, self.scope, str(name), expression)


def _tag(verb: str, kind: str) -> type[_WriteTag]:
    name = verb + kind
    return type(name, (_WriteTag,), {"name": name, "verb": verb, "scope": _SCOPES[kind]})


TAGS: Final[tuple[type[_WriteTag], ...]] = tuple(
    _tag(verb, kind) for kind in _SCOPES for verb in ("set", "setdefault", "add", "inc", "dec", "delete")
)
