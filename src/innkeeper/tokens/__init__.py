"""Tokens: how many a text has for a model, exactly where the vocabulary is known, otherwise as an estimate that says so.

    >>> from innkeeper.tokens import default_counter
    >>> counter = default_counter()
    >>> counter.count("The lamp is lit.", "gpt-4o")
    5
    >>> counter.describe("gpt-4o")["exact"]
    True

Importing this package loads no tokenizer; the first count does. Nothing is ever downloaded.
"""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.prompt.bounded_cache import BoundedCache as BoundedCache
    from innkeeper.prompt.errors import FormatError as FormatError
    from innkeeper.tokens.counter import SHARED_COUNTS as SHARED_COUNTS
    from innkeeper.tokens.counter import Counter as Counter
    from innkeeper.tokens.counter import EngineChoice as EngineChoice
    from innkeeper.tokens.counter import Preloaded as Preloaded
    from innkeeper.tokens.counter import default_counter as default_counter
    from innkeeper.tokens.engines.engine import Engine as Engine
    from innkeeper.tokens.engines.engine import Foreign as Foreign
    from innkeeper.tokens.engines.engine import Tokenization as Tokenization
    from innkeeper.tokens.engines.engine import TokenizerUnavailableError as TokenizerUnavailableError
    from innkeeper.tokens.engines.heuristic import CharsPerToken as CharsPerToken
    from innkeeper.tokens.engines.heuristic import Estimate as Estimate
    from innkeeper.tokens.engines.heuristic import Utf8Bytes as Utf8Bytes
    from innkeeper.tokens.engines.heuristic import estimator as estimator
    from innkeeper.tokens.engines.server import SERVER_RULES as SERVER_RULES
    from innkeeper.tokens.engines.server import AskServer as AskServer
    from innkeeper.tokens.engines.server import ServerRule as ServerRule
    from innkeeper.tokens.estimators import EstimatorCounter as EstimatorCounter
    from innkeeper.tokens.estimators import counter_of as counter_of
    from innkeeper.tokens.framing import ANTHROPIC as ANTHROPIC
    from innkeeper.tokens.framing import FRAMINGS as FRAMINGS
    from innkeeper.tokens.framing import GOOGLE as GOOGLE
    from innkeeper.tokens.framing import NO_FRAMING as NO_FRAMING
    from innkeeper.tokens.framing import OPENAI as OPENAI
    from innkeeper.tokens.framing import TOOL_RULES as TOOL_RULES
    from innkeeper.tokens.framing import Framing as Framing
    from innkeeper.tokens.framing import ToolCount as ToolCount
    from innkeeper.tokens.framing import ToolRule as ToolRule
    from innkeeper.tokens.framing import count_tools as count_tools
    from innkeeper.tokens.framing import framing as framing
    from innkeeper.tokens.inspector import Inspection as Inspection
    from innkeeper.tokens.inspector import MessageInspection as MessageInspection
    from innkeeper.tokens.inspector import Totals as Totals
    from innkeeper.tokens.inspector import inspect_messages as inspect_messages
    from innkeeper.tokens.registry import Entry as Entry
    from innkeeper.tokens.sillytavern import SILLYTAVERN_TOKENIZERS as SILLYTAVERN_TOKENIZERS
    from innkeeper.tokens.sillytavern import SillyTavernTokenizer as SillyTavernTokenizer
    from innkeeper.tokens.sillytavern import sillytavern_tokenizer as sillytavern_tokenizer
    from innkeeper.tokens.table.calibration import PROFILES as PROFILES
    from innkeeper.tokens.table.calibration import HeuristicProfile as HeuristicProfile
    from innkeeper.tokens.table.catalogue import known_model as known_model
    from innkeeper.tokens.table.models import FAMILIES as FAMILIES
    from innkeeper.tokens.table.models import MODELS as MODELS
    from innkeeper.tokens.table.models import Family as Family
    from innkeeper.tokens.table.models import ModelTable as ModelTable
    from innkeeper.tokens.table.models import Way as Way
    from innkeeper.tokens.table.models import bare_model_id as bare_model_id
    from innkeeper.tokens.table.models import canonical_model_hint as canonical_model_hint
    from innkeeper.tokens.table.vocabulary import VOCABULARIES as VOCABULARIES
    from innkeeper.tokens.table.vocabulary import Carrier as Carrier
    from innkeeper.tokens.table.vocabulary import Vocabularies as Vocabularies
    from innkeeper.tokens.table.vocabulary import Vocabulary as Vocabulary

_HOMES: Final = {
    "counter": ("Counter", "EngineChoice", "Preloaded", "SHARED_COUNTS", "default_counter"),
    "engines.engine": ("Engine", "Foreign", "Tokenization", "TokenizerUnavailableError"),
    "engines.heuristic": ("CharsPerToken", "Estimate", "Utf8Bytes", "estimator"),
    "engines.server": ("AskServer", "SERVER_RULES", "ServerRule"),
    "estimators": ("EstimatorCounter", "counter_of"),
    "framing": (
        "ANTHROPIC",
        "FRAMINGS",
        "Framing",
        "GOOGLE",
        "NO_FRAMING",
        "OPENAI",
        "TOOL_RULES",
        "ToolCount",
        "ToolRule",
        "count_tools",
        "framing",
    ),
    "innkeeper.prompt.bounded_cache": ("BoundedCache",),
    "innkeeper.prompt.errors": ("FormatError",),
    "inspector": ("Inspection", "MessageInspection", "Totals", "inspect_messages"),
    "registry": ("Entry",),
    "sillytavern": ("SILLYTAVERN_TOKENIZERS", "SillyTavernTokenizer", "sillytavern_tokenizer"),
    "table.calibration": ("HeuristicProfile", "PROFILES"),
    "table.catalogue": ("known_model",),
    "table.models": ("FAMILIES", "Family", "MODELS", "ModelTable", "Way", "bare_model_id", "canonical_model_hint"),
    "table.vocabulary": ("Carrier", "VOCABULARIES", "Vocabularies", "Vocabulary"),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
