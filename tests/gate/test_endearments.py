"""Endearments: a word of age by which one adult calls another says nothing of an age; anywhere else it does."""

from __future__ import annotations

import pytest

from innkeeper.gate.endearments import ENDEARMENT, without_endearments
from innkeeper.gate.evidence import Mention
from innkeeper.library import Ceilings, TextKind, Tier, TierGate, TierPolicy


def passes(text: str) -> bool:
    """Whether the adult tier lets a text pass."""
    gate = TierGate.of(TierPolicy(adult_enabled=True))
    return gate.check({TextKind.USER_TEXT: text}, "nsfw", Ceilings(account=Tier.NSFW)).decision.passed


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("Viens, bébé, dit sa femme ; ils avaient plus de cinquante ans.", True),
        ("Ven, nena, dijo su marido; los dos pasaban de cincuenta.", True),
        ("Minha menina, disse ele à esposa de quarenta anos.", True),
        ("Bambina mia, disse alla moglie di quarant'anni.", True),
        ("Девочка моя, сказал он сорокалетней жене.", True),
        ("Mein kleines Mädchen, sagte er zu seiner vierzigjährigen Frau.", True),
        ("Ven, nena, dijo.", False),
        ("El marido mira a la nena y dijo algo.", False),
        ("Ven, nena, dijo su marido; ella tiene quince años.", False),
        ("Nena, desnuda con su marido.", False),
    ],
)
def test_who_is_called_what(text: str, passed: bool) -> None:
    """Somebody is called it, somebody says it, adults are told of, and nobody else is a minor."""
    assert passes(text) is passed


def test_without_such_words() -> None:
    """The other mentions are left as they are."""
    age = Mention(0, 4, "age", "age.nena", 0.8)
    assert without_endearments("nena", [age]) == [age]
    assert without_endearments("nena", [age, age._replace(category=ENDEARMENT)]) == [age]
