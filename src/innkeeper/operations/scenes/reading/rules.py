"""The rules by which a scene is read: patterns of plain English with how sure each is, declared here and versioned as a whole.

They are our own. A rule is a pattern with a group ``value``; what it gives counts for its confidence times the weight of its
passage (`innkeeper.operations.scenes.reading.passages`), and half where the sentence speaks of another time or of what is
not so. Other languages than English match nothing, so that nothing is guessed of them.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.once import once

VERSION: Final = "1"
"""Grows with every change of a rule, a word or a confidence; each find says by which version it was made."""

_ROOMS: Final = (
    "room bedroom kitchen hall hallway corridor office study library attic cellar basement bathroom balcony terrace lobby "
    "lounge parlour parlor pantry greenhouse workshop studio laboratory lab classroom gym elevator stairwell staircase porch"
)
_BUILDINGS: Final = (
    "house cottage cabin hut tent apartment flat inn tavern pub bar café cafe restaurant diner shop store market bakery forge "
    "barn stable castle tower palace keep temple church chapel monastery dungeon prison cell station hospital museum theatre "
    "theater stage arena school lighthouse observatory warehouse factory mill hotel ruins shrine cathedral bookshop"
)
_OUTSIDE: Final = (
    "garden courtyard yard street alley square plaza park road path trail forest woods clearing glade meadow field orchard "
    "vineyard hill hilltop mountain cliff valley cave cavern desert oasis beach shore island lake river riverbank swamp marsh "
    "camp campsite harbour harbor pier dock bridge rooftop roof cemetery graveyard farm well gate crossroads waterfall"
)
_VEHICLES: Final = "train carriage car bus ship boat deck cockpit spaceship airship wagon ferry cabin"
_GARMENTS: Final = (
    "dress gown robe robes cloak coat overcoat raincoat jacket shirt blouse sweater jumper tunic vest waistcoat skirt trousers "
    "pants jeans uniform suit armour armor apron hat hood scarf boots shoes sandals gloves kimono sari cape hoodie t-shirt "
    "pyjamas pajamas overalls shawl stockings belt mask veil crown helmet poncho tuxedo shorts cardigan"
)
_VISUALS: Final = (
    "light glow shadow shadows mist fog rain snow storm candle candles candlelight lantern lanterns lamp lamps fire fireplace "
    "firelight smoke dust sunlight moonlight starlight neon steam flames embers stars clouds sky curtains window windows mirror "
    "flowers water reflections sparks frost ice"
)

MOODS: Final = FrozenDict(
    {
        "calm": ("calm", "quiet", "peaceful", "serene", "still", "relaxed", "gentle"),
        "joyful": ("laughs", "laughing", "laughter", "grins", "cheerful", "joyful", "happy", "delighted", "beams"),
        "tense": ("tense", "tension", "uneasy", "nervous", "wary", "stiffens", "clenches", "grim"),
        "sad": ("sad", "sadness", "tears", "weeps", "sobs", "grief", "sorrow", "mournful"),
        "angry": ("angry", "furious", "rage", "glares", "shouts", "snarls", "scowls"),
        "fearful": ("afraid", "fear", "terrified", "trembles", "trembling", "shivers", "panic"),
        "tender": ("tender", "tenderly", "affection", "warmly", "softly", "embraces"),
        "mysterious": ("mysterious", "strange", "eerie", "whispers", "secret", "shadowy"),
        "playful": ("playful", "playfully", "teasing", "teases", "winks", "giggles", "mischievous"),
        "cosy": ("cosy", "cozy", "snug", "comfortable"),
    }
)
"""Words of each mood."""

HALVED: Final = re.compile(
    r"\b(?:tomorrow|yesterday|later|someday|remember(?:s|ed|ing)?|imagin(?:es?|ed|ing)|dream(?:s|t|ed)?|would|could|might|"
    r"should|will|shall|if|unless|used to|once|ago|never|not|\w+n['’]t|wish(?:es)?|wants? to|plans? to|promis(?:es|ed)|"
    r"let['’]?s|let us|thinks? of|thought of|like|as though|instead)\b",
    re.IGNORECASE,
)
"""Sentences with these speak of another time, or of what is not so."""


class ReadingRule(NamedTuple):
    """One rule. ``field`` is what it tells of, ``confidence`` how sure it is; ``gone``: that it is there no more."""

    name: str
    field: str
    pattern: re.Pattern[str]
    confidence: float
    gone: bool = False

    @property
    def versioned(self) -> str:
        """Its name with the version of all rules."""
        return f"{self.name}@{VERSION}"


_DETERMINER: Final = r"(?:the|a|an|his|her|their|my|our|your|this)\s+"
_UP_TO: Final = r"(?:[\w'’-]+\s+){0,3}?"


def _noun(words: str) -> str:
    return "(?:" + "|".join(sorted(map(re.escape, words.split()), key=len, reverse=True)) + r")\b"


@once
def scene_rules() -> tuple[ReadingRule, ...]:
    """All rules, those of one field in the order in which they are tried."""
    position = (
        rf"{_DETERMINER}(?P<value>{_UP_TO}{_noun(f'{_ROOMS} {_BUILDINGS} {_OUTSIDE} {_VEHICLES}')}"
        rf"(?:\s+(?:of|by|near|on)\s+(?:the\s+|a\s+)?[\w'’-]+)?)"
    )
    arrives = (
        r"(?:(?:enter|reach)(?:s|es|ed|ing)?"
        r"|(?:step|walk|slip|climb|wander|run|hurr(?:y|ie)|crawl|sneak)(?:s|es|ed|ping|ing|ped|d)?"
        r"\s+(?:back\s+)?(?:in|on|out\s+on|over)?\s?to|arriv(?:es?|ed|ing)\s+(?:at|in)|(?:com|go)(?:es|e)?\s+(?:back\s+)?(?:in)?to|"
        r"came\s+(?:in)?to|went\s+(?:in)?to|return(?:s|ed)?\s+to|leads?\s+(?:\w+\s+){1,2}?(?:in)?to)"
    )
    stays = (
        r"(?:sit|stand|wait|rest|lean|kneel|linger|work|gather|pause|lie|is|are)(?:s|es|ing)?\s+"
        r"(?:\w+\s+){0,2}?(?:in|inside|on|at)"
    )
    worn = rf"(?:{_DETERMINER})?(?P<value>{_UP_TO}{_noun(_GARMENTS)}(?:\s+(?:and|with)\s+(?:an?\s+)?{_UP_TO}{_noun(_GARMENTS)})?)"
    wears = r"(?:wears?|wearing|dressed\s+in|clad\s+in|(?:put|pull|slip)s?\s+on|chang(?:es?|ed)\s+into)"
    strips = r"(?:takes?\s+off|removes?|shrugs?\s+off|pulls?\s+off|slips?\s+out\s+of|hangs?\s+up)"
    held = (
        r"(?:an?|the|his|her|their|my|your)\s+(?P<value>(?:[\w'’-]+\s+){0,2}?[\w'’-]+)(?=\s*(?:[.,;:!?…]|$|"
        r"\b(?:in|on|with|and|to|from|as|at|against|between|of|up|down|over|into|that|while)\b))"
    )
    takes = r"(?:holds?|holding|picks?\s+up|carr(?:y|ies|ying)|clutch(?:es|ing)?|grips?|lifts?|raises)"
    leaves = r"(?:puts?\s+down|sets?\s+down|drops?|lets?\s+go\s+of|hands?\s+over)"
    time = r"(?P<value>dawn|sunrise|daybreak|morning|noon|midday|afternoon|dusk|sunset|twilight|evening|night|midnight)"
    seen = r"(?!(?:the|and|some|made|take|took|have)\b)[a-z]+(?:ed|ing|en|y|ful|ous|t|d|m|k|e|w)\s+"
    return (
        _rule(
            "location.heading", "location", r"^\s*\[?(?:location|place|setting)\s*:\s*(?P<value>[^\]\n.]{2,80})", 0.95
        ),
        _rule("location.arrival", "location", rf"\b{arrives}\s+{position}", 0.9),
        _rule("location.being", "location", rf"\b{stays}\s+{position}", 0.8),
        _rule("location.mention", "location", rf"\b(?:in|inside|at)\s+{position}", 0.5),
        _rule("time.heading", "time", rf"^\s*\[?time\s*:\s*(?:the\s+)?{time}\b", 0.95),
        _rule("time.at", "time", rf"\b(?:at|in\s+the|it\s+is|this|early|late)\s+(?:early\s+|late\s+)?{time}\b", 0.8),
        _rule("time.comes", "time", rf"\b{time}\s+(?:falls|has\s+fallen|breaks|comes|settles|light|sun|sky)\b", 0.85),
        _rule("time.mention", "time", rf"\b{time}\b", 0.4),
        _rule(
            "camera.view",
            "camera",
            r"\b(?P<value>close-?up|wide\s+shot|full[ -]body\s+(?:shot|view)|bird['’]?s[ -]eye\s+view|low[ -]angle(?:\s+shot)?|"
            r"high[ -]angle(?:\s+shot)?|over[ -]the[ -]shoulder(?:\s+(?:shot|view))?|first[ -]person\s+view|"
            r"(?:seen|viewed|shot)\s+from\s+(?:above|below|behind|the\s+side|afar))\b",
            0.85,
        ),
        _rule("clothing.wears", "clothing", rf"\b{wears}\s+{worn}", 0.85),
        _rule("clothing.in", "clothing", rf"\bin\s+{worn}", 0.5),
        _rule("clothing.off", "clothing", rf"\b{strips}\s+{worn}", 0.85, gone=True),
        _rule("props.takes", "props", rf"\b{takes}\s+{held}", 0.75),
        _rule("props.leaves", "props", rf"\b{leaves}\s+{held}", 0.75, gone=True),
        _rule("visual.element", "visual", rf"\b(?P<value>(?:{seen})?{_noun(_VISUALS)})", 0.8),
        _rule(
            "positioning.posture",
            "positioning",
            r"\b(?P<value>(?:sit|stand|lean|kneel|lie|crouch|perch|lounge|rest|curl|slump)(?:s|es|ing)?\s+(?:\w+\s+){0,2}?"
            r"(?:on|at|by|beside|against|behind|near|under|next\s+to|in\s+front\s+of|across\s+from|between)\s+"
            rf"(?:{_DETERMINER})?[\w'’-]+(?:\s+(?:chair|table|bed|wall|window|door|fire|tree|stool|bench|counter))?)",
            0.8,
        ),
    )


@once
def garments() -> re.Pattern[str]:
    """Words for clothes."""
    return re.compile(rf"\b{_noun(_GARMENTS)}", re.IGNORECASE)


def _rule(name: str, field: str, pattern: str, confidence: float, **more: Any) -> ReadingRule:
    return ReadingRule(name, field, re.compile(pattern, re.IGNORECASE | re.MULTILINE), confidence, **more)
