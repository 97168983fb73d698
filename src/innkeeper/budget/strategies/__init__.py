"""Strategies: which blocks go when a prompt does not fit, one file each behind one protocol, `Strategy`."""

from typing import Final

from innkeeper.budget.strategies.chat_window import ChatWindow
from innkeeper.budget.strategies.fill import Fill
from innkeeper.budget.strategies.group_order import GroupOrder
from innkeeper.budget.strategies.priority import Priority
from innkeeper.budget.strategies.stepped import Stepped
from innkeeper.budget.strategies.strategy import BaseStrategy, Strategies, Strategy

__all__ = [
    "STRATEGIES",
    "BaseStrategy",
    "ChatWindow",
    "Fill",
    "GroupOrder",
    "Priority",
    "Stepped",
    "Strategies",
    "Strategy",
]

STRATEGIES: Final = Strategies(GroupOrder, Priority, Stepped, Fill, ChatWindow)
"""The strategies by name."""
