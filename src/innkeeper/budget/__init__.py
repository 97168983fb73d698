"""Budget: trimming a prompt to its window, with a record for every block; the cost of each message; the free rest.

    >>> from innkeeper.prompt import Block
    >>> from innkeeper.tokens import default_counter
    >>> blocks = [Block(role="user", content="word " * 50, group="history", id=f"m{i}") for i in range(4)]
    >>> result = trim(blocks, counter=default_counter(), max_tokens=120, reserve_tokens=10)
    >>> [block.id for block in result.kept], result.report.eviction_count
    (['m2', 'm3'], 2)

Trimming is pure: blocks go in, blocks come out, some of them disabled. The steps `TRIMMING` and `MAX_TOKENS` do it in a pipeline.
"""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.budget.accounting import Accounting as Accounting
    from innkeeper.budget.accounting import AccountLine as AccountLine
    from innkeeper.budget.accounting import Explanation as Explanation
    from innkeeper.budget.accounting import Row as Row
    from innkeeper.budget.accounting import accounting as accounting
    from innkeeper.budget.accounting import explain as explain
    from innkeeper.budget.cache_plan import CacheBreak as CacheBreak
    from innkeeper.budget.cache_plan import CachePlan as CachePlan
    from innkeeper.budget.cache_plan import cache_plan as cache_plan
    from innkeeper.budget.cache_rules import CacheRule as CacheRule
    from innkeeper.budget.cache_rules import cache_rule as cache_rule
    from innkeeper.budget.costing import Cost as Cost
    from innkeeper.budget.costing import Costing as Costing
    from innkeeper.budget.costing import framing_of as framing_of
    from innkeeper.budget.diff import BlockChange as BlockChange
    from innkeeper.budget.diff import OptionChange as OptionChange
    from innkeeper.budget.diff import PlanDiff as PlanDiff
    from innkeeper.budget.diff import VerdictFlip as VerdictFlip
    from innkeeper.budget.diff import plan_diff as plan_diff
    from innkeeper.budget.fit import FIT as FIT
    from innkeeper.budget.fit import FitConfig as FitConfig
    from innkeeper.budget.fit import fit as fit
    from innkeeper.budget.fit import fit_state as fit_state
    from innkeeper.budget.prefix import PrefixChange as PrefixChange
    from innkeeper.budget.prefix import PrefixReport as PrefixReport
    from innkeeper.budget.prefix import prefix_report as prefix_report
    from innkeeper.budget.report import EvictionReason as EvictionReason
    from innkeeper.budget.report import EvictionRecord as EvictionRecord
    from innkeeper.budget.report import GroupTotal as GroupTotal
    from innkeeper.budget.report import TrimReport as TrimReport
    from innkeeper.budget.report import TrimResult as TrimResult
    from innkeeper.budget.steps import MAX_TOKENS as MAX_TOKENS
    from innkeeper.budget.steps import TRIMMING as TRIMMING
    from innkeeper.budget.steps import MaxTokensConfig as MaxTokensConfig
    from innkeeper.budget.steps import TrimmingConfig as TrimmingConfig
    from innkeeper.budget.steps import trim_state as trim_state
    from innkeeper.budget.strategies import STRATEGIES as STRATEGIES
    from innkeeper.budget.strategies import BaseStrategy as BaseStrategy
    from innkeeper.budget.strategies import ChatWindow as ChatWindow
    from innkeeper.budget.strategies import Fill as Fill
    from innkeeper.budget.strategies import GroupOrder as GroupOrder
    from innkeeper.budget.strategies import Priority as Priority
    from innkeeper.budget.strategies import Stepped as Stepped
    from innkeeper.budget.strategies import Strategies as Strategies
    from innkeeper.budget.strategies import Strategy as Strategy
    from innkeeper.budget.strategies import in_order as in_order
    from innkeeper.budget.trim import trim as trim
    from innkeeper.budget.window import ChatTurn as ChatTurn
    from innkeeper.budget.window import Evicted as Evicted
    from innkeeper.budget.window import Part as Part
    from innkeeper.budget.window import Summariser as Summariser
    from innkeeper.budget.window import Window as Window
    from innkeeper.budget.window import fit_chat as fit_chat

_HOMES: Final = {
    "accounting": ("AccountLine", "Accounting", "Explanation", "Row", "accounting", "explain"),
    "cache_plan": ("CacheBreak", "CachePlan", "cache_plan"),
    "cache_rules": ("CacheRule", "cache_rule"),
    "costing": ("Cost", "Costing", "framing_of"),
    "diff": ("BlockChange", "OptionChange", "PlanDiff", "VerdictFlip", "plan_diff"),
    "fit": ("FIT", "FitConfig", "fit", "fit_state"),
    "prefix": ("PrefixChange", "PrefixReport", "prefix_report"),
    "report": ("EvictionReason", "EvictionRecord", "GroupTotal", "TrimReport", "TrimResult"),
    "steps": ("MAX_TOKENS", "MaxTokensConfig", "TRIMMING", "TrimmingConfig", "trim_state"),
    "strategies": (
        "BaseStrategy",
        "ChatWindow",
        "Fill",
        "GroupOrder",
        "Priority",
        "STRATEGIES",
        "Stepped",
        "Strategies",
        "Strategy",
        "in_order",
    ),
    "trim": ("trim",),
    "window": ("ChatTurn", "Evicted", "Part", "Summariser", "Window", "fit_chat"),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
