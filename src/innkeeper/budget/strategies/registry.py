"""The strategies that there are, by name."""

from typing import Final

from innkeeper.budget.strategies.chat_window import ChatWindow
from innkeeper.budget.strategies.fill import Fill
from innkeeper.budget.strategies.group_order import GroupOrder
from innkeeper.budget.strategies.priority import Priority
from innkeeper.budget.strategies.stepped import Stepped
from innkeeper.budget.strategies.strategy import Strategies

STRATEGIES: Final = Strategies(GroupOrder, Priority, Stepped, Fill, ChatWindow)
