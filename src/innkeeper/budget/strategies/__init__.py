"""Strategies: which blocks are evicted when a prompt does not fit, one module each behind one protocol, `Strategy`."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.budget.strategies.chat_window import ChatWindow as ChatWindow
    from innkeeper.budget.strategies.fill import Fill as Fill
    from innkeeper.budget.strategies.group_order import GroupOrder as GroupOrder
    from innkeeper.budget.strategies.priority import Priority as Priority
    from innkeeper.budget.strategies.registry import STRATEGIES as STRATEGIES
    from innkeeper.budget.strategies.stepped import Stepped as Stepped
    from innkeeper.budget.strategies.strategy import BaseStrategy as BaseStrategy
    from innkeeper.budget.strategies.strategy import Strategies as Strategies
    from innkeeper.budget.strategies.strategy import Strategy as Strategy

_HOMES: Final = {
    "BaseStrategy": "strategy",
    "ChatWindow": "chat_window",
    "Fill": "fill",
    "GroupOrder": "group_order",
    "Priority": "priority",
    "STRATEGIES": "registry",
    "Stepped": "stepped",
    "Strategies": "strategy",
    "Strategy": "strategy",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
