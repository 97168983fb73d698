"""Content tiers: the operator's policy and rules, the detector, and the gate that every text passes."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.library.tiers.detector import AGE_FAMILY as AGE_FAMILY
    from innkeeper.library.tiers.detector import DETECTOR_VERSION as DETECTOR_VERSION
    from innkeeper.library.tiers.detector import Classifier as Classifier
    from innkeeper.library.tiers.detector import ClassifierFailure as ClassifierFailure
    from innkeeper.library.tiers.detector import Detector as Detector
    from innkeeper.library.tiers.detector import ImageClassifier as ImageClassifier
    from innkeeper.library.tiers.detector import Waiter as Waiter
    from innkeeper.library.tiers.detector import default_detector as default_detector
    from innkeeper.library.tiers.documents import DetectionListStore as DetectionListStore
    from innkeeper.library.tiers.documents import PolicyStore as PolicyStore
    from innkeeper.library.tiers.gate import Checked as Checked
    from innkeeper.library.tiers.gate import TextKind as TextKind
    from innkeeper.library.tiers.gate import TierGate as TierGate
    from innkeeper.library.tiers.gate import tier_event as tier_event
    from innkeeper.library.tiers.lexicon import Lexicon as Lexicon
    from innkeeper.library.tiers.lexicon import LexiconEntry as LexiconEntry
    from innkeeper.library.tiers.lexicon import builtin_lexicon as builtin_lexicon
    from innkeeper.library.tiers.lexicon import check as check
    from innkeeper.library.tiers.lexicon import load_lexicon as load_lexicon
    from innkeeper.library.tiers.moderation import moderate as moderate
    from innkeeper.library.tiers.policy import ABSOLUTE as ABSOLUTE
    from innkeeper.library.tiers.policy import ADULT_CONTEXT as ADULT_CONTEXT
    from innkeeper.library.tiers.policy import AGE_INDICATING as AGE_INDICATING
    from innkeeper.library.tiers.policy import AgeVerification as AgeVerification
    from innkeeper.library.tiers.policy import PolicyVerdict as PolicyVerdict
    from innkeeper.library.tiers.policy import Thresholds as Thresholds
    from innkeeper.library.tiers.policy import TierPolicy as TierPolicy
    from innkeeper.library.tiers.policy import account_ceiling as account_ceiling
    from innkeeper.library.tiers.policy import character_ceiling as character_ceiling
    from innkeeper.library.tiers.rules import OPERATOR_VALUES as OPERATOR_VALUES
    from innkeeper.library.tiers.rules import POLICY_NAME as POLICY_NAME
    from innkeeper.library.tiers.rules import STORE_CONTENT_DAYS as STORE_CONTENT_DAYS
    from innkeeper.library.tiers.rules import OperatorRules as OperatorRules
    from innkeeper.library.tiers.rules import rules_of as rules_of

_HOMES: Final = {
    "ABSOLUTE": "policy",
    "ADULT_CONTEXT": "policy",
    "AGE_FAMILY": "detector",
    "AGE_INDICATING": "policy",
    "AgeVerification": "policy",
    "Checked": "gate",
    "Classifier": "detector",
    "ClassifierFailure": "detector",
    "DETECTOR_VERSION": "detector",
    "DetectionListStore": "documents",
    "Detector": "detector",
    "ImageClassifier": "detector",
    "Lexicon": "lexicon",
    "LexiconEntry": "lexicon",
    "OPERATOR_VALUES": "rules",
    "OperatorRules": "rules",
    "POLICY_NAME": "rules",
    "PolicyStore": "documents",
    "PolicyVerdict": "policy",
    "STORE_CONTENT_DAYS": "rules",
    "TextKind": "gate",
    "Thresholds": "policy",
    "TierGate": "gate",
    "TierPolicy": "policy",
    "Waiter": "detector",
    "account_ceiling": "policy",
    "builtin_lexicon": "lexicon",
    "character_ceiling": "policy",
    "check": "lexicon",
    "default_detector": "detector",
    "load_lexicon": "lexicon",
    "moderate": "moderation",
    "rules_of": "rules",
    "tier_event": "gate",
}

__all__ = [
    "ABSOLUTE",
    "ADULT_CONTEXT",
    "AGE_FAMILY",
    "AGE_INDICATING",
    "DETECTOR_VERSION",
    "OPERATOR_VALUES",
    "POLICY_NAME",
    "STORE_CONTENT_DAYS",
    "AgeVerification",
    "Checked",
    "Classifier",
    "ClassifierFailure",
    "DetectionListStore",
    "Detector",
    "ImageClassifier",
    "Lexicon",
    "LexiconEntry",
    "OperatorRules",
    "PolicyStore",
    "PolicyVerdict",
    "TextKind",
    "Thresholds",
    "TierGate",
    "TierPolicy",
    "Waiter",
    "account_ceiling",
    "builtin_lexicon",
    "character_ceiling",
    "check",
    "default_detector",
    "load_lexicon",
    "moderate",
    "rules_of",
    "tier_event",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
