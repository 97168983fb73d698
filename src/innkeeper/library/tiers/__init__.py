"""Content tiers: the operator's policy and rules, the detector, and the gate that every text passes."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.library.tiers.classifier import Classifier as Classifier
    from innkeeper.library.tiers.classifier import ImageClassifier as ImageClassifier
    from innkeeper.library.tiers.detector import Detector as Detector
    from innkeeper.library.tiers.detector import default_detector as default_detector
    from innkeeper.library.tiers.documents import DetectionListStore as DetectionListStore
    from innkeeper.library.tiers.documents import PolicyStore as PolicyStore
    from innkeeper.library.tiers.evidence import ABSOLUTE as ABSOLUTE
    from innkeeper.library.tiers.gate import AgeVerification as AgeVerification
    from innkeeper.library.tiers.gate import TextKind as TextKind
    from innkeeper.library.tiers.gate import Thresholds as Thresholds
    from innkeeper.library.tiers.gate import TierGate as TierGate
    from innkeeper.library.tiers.gate import TierPolicy as TierPolicy
    from innkeeper.library.tiers.gate import account_ceiling as account_ceiling
    from innkeeper.library.tiers.gate import character_ceiling as character_ceiling
    from innkeeper.library.tiers.lexicon import Lexicon as Lexicon
    from innkeeper.library.tiers.lexicon import LexiconEntry as LexiconEntry
    from innkeeper.library.tiers.lexicon import builtin_lexicon as builtin_lexicon
    from innkeeper.library.tiers.lexicon import check as check
    from innkeeper.library.tiers.lexicon import load_lexicon as load_lexicon
    from innkeeper.library.tiers.moderation import moderate as moderate
    from innkeeper.library.tiers.rules import OperatorRules as OperatorRules

_HOMES: Final = {
    "ABSOLUTE": "evidence",
    "AgeVerification": "gate",
    "Classifier": "classifier",
    "DetectionListStore": "documents",
    "Detector": "detector",
    "ImageClassifier": "classifier",
    "Lexicon": "lexicon",
    "LexiconEntry": "lexicon",
    "OperatorRules": "rules",
    "PolicyStore": "documents",
    "TextKind": "gate",
    "Thresholds": "gate",
    "TierGate": "gate",
    "TierPolicy": "gate",
    "account_ceiling": "gate",
    "builtin_lexicon": "lexicon",
    "character_ceiling": "gate",
    "check": "lexicon",
    "default_detector": "detector",
    "load_lexicon": "lexicon",
    "moderate": "moderation",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
