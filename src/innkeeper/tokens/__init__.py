"""Tokens: how many a text has for a model, exactly where the vocabulary is known, otherwise as an estimate that says so.

    >>> counter = default_counter()
    >>> counter.count("The lamp is lit.", "gpt-4o")
    5
    >>> counter.describe("gpt-4o")["exact"]
    True

Importing this package loads no tokenizer; the first count does. Nothing is ever downloaded.
"""

from innkeeper.prompt.errors import FormatError
from innkeeper.prompt.memo import Memo
from innkeeper.tokens.counter import SHARED_MEMO, Choice, Counter, Preloaded, default_counter
from innkeeper.tokens.engines.engine import Engine, Foreign, Tokenization, TokenizerUnavailableError
from innkeeper.tokens.engines.heuristic import CharsPerToken, Estimate, Utf8Bytes, estimator
from innkeeper.tokens.engines.server import SERVER_RULES, AskServer, ServerRule
from innkeeper.tokens.estimators import EstimatorCounter, counter_of
from innkeeper.tokens.framing import (
    ANTHROPIC,
    FRAMINGS,
    GOOGLE,
    NO_FRAMING,
    OPENAI,
    TOOL_RULES,
    Framing,
    ToolCount,
    ToolRule,
    count_tools,
    framing,
)
from innkeeper.tokens.inspector import Inspection, MessageInspection, Totals, inspect_messages
from innkeeper.tokens.registry import Entry
from innkeeper.tokens.sillytavern import SILLYTAVERN_TOKENIZERS, SillyTavernTokenizer, sillytavern_tokenizer
from innkeeper.tokens.table.calibration import PROFILES, Profile
from innkeeper.tokens.table.models import FAMILIES, MODELS, Family, ModelTable, Way, bare_model_id, canonical_model_hint
from innkeeper.tokens.table.vocabulary import VOCABULARIES, Carrier, Vocabularies, Vocabulary

__all__ = [
    "ANTHROPIC",
    "FAMILIES",
    "FRAMINGS",
    "GOOGLE",
    "MODELS",
    "NO_FRAMING",
    "OPENAI",
    "PROFILES",
    "SERVER_RULES",
    "SHARED_MEMO",
    "SILLYTAVERN_TOKENIZERS",
    "TOOL_RULES",
    "VOCABULARIES",
    "AskServer",
    "Carrier",
    "CharsPerToken",
    "Choice",
    "Counter",
    "Engine",
    "Entry",
    "Estimate",
    "EstimatorCounter",
    "Family",
    "Foreign",
    "FormatError",
    "Framing",
    "Inspection",
    "Memo",
    "MessageInspection",
    "ModelTable",
    "Preloaded",
    "Profile",
    "ServerRule",
    "SillyTavernTokenizer",
    "Tokenization",
    "TokenizerUnavailableError",
    "ToolCount",
    "ToolRule",
    "Totals",
    "Utf8Bytes",
    "Vocabularies",
    "Vocabulary",
    "Way",
    "bare_model_id",
    "canonical_model_hint",
    "count_tools",
    "counter_of",
    "default_counter",
    "estimator",
    "framing",
    "inspect_messages",
    "sillytavern_tokenizer",
]
