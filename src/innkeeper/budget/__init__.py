"""Budget: the prompt cut to its window, with a record for every block; what each message costs; what is left.

    >>> from innkeeper.prompt import Block
    >>> from innkeeper.tokens import default_counter
    >>> blocks = [Block(role="user", content="word " * 50, group="history", id=f"m{i}") for i in range(4)]
    >>> result = trim(blocks, counter=default_counter(), max_tokens=120, reserve_tokens=10)
    >>> [block.id for block in result.kept], result.report.eviction_count
    (['m2', 'm3'], 2)

Trimming is pure: blocks go in, blocks come out, some of them disabled. The steps `TRIMMING` and `MAX_TOKENS` do it in a pipeline.
"""

from innkeeper.budget.accounting import Accounting, AccountLine, Explanation, Row, accounting, explain
from innkeeper.budget.costing import Cost, Costing, framing_of
from innkeeper.budget.fit import FIT, FitConfig, fit, fit_state
from innkeeper.budget.prefix import PrefixChange, PrefixReport, prefix_report
from innkeeper.budget.report import EvictionReason, EvictionRecord, GroupTotal, TrimReport, TrimResult
from innkeeper.budget.steps import MAX_TOKENS, TRIMMING, MaxTokensConfig, TrimmingConfig, trim_state
from innkeeper.budget.strategies import (
    STRATEGIES,
    BaseStrategy,
    ChatWindow,
    Fill,
    GroupOrder,
    Priority,
    Stepped,
    Strategies,
    Strategy,
)
from innkeeper.budget.trim import trim
from innkeeper.budget.window import ChatTurn, Evicted, Part, Summariser, Window, fit_chat

__all__ = [
    "FIT",
    "MAX_TOKENS",
    "STRATEGIES",
    "TRIMMING",
    "AccountLine",
    "Accounting",
    "BaseStrategy",
    "ChatTurn",
    "ChatWindow",
    "Cost",
    "Costing",
    "Evicted",
    "EvictionReason",
    "EvictionRecord",
    "Explanation",
    "Fill",
    "FitConfig",
    "GroupOrder",
    "GroupTotal",
    "MaxTokensConfig",
    "Part",
    "PrefixChange",
    "PrefixReport",
    "Priority",
    "Row",
    "Stepped",
    "Strategies",
    "Strategy",
    "Summariser",
    "TrimReport",
    "TrimResult",
    "TrimmingConfig",
    "Window",
    "accounting",
    "explain",
    "fit",
    "fit_chat",
    "fit_state",
    "framing_of",
    "prefix_report",
    "trim",
    "trim_state",
]
