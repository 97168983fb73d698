"""Which persona speaks: the chat's, one tied to the card, the default, the last one; and which of its two copies counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from innkeeper.taverns.silly.install.files import UserFolder
from innkeeper.taverns.silly.install.persona import active_persona
from innkeeper.taverns.silly.install.selected import Selected
from tests.taverns.silly.install.folders import folder, persona

DESCRIBED: dict[str, dict[str, Any]] = {
    "a.png": {"description": "stored a", "position": 4, "depth": 1, "role": 1, "lorebook": "A"},
    "b.png": {"description": "stored b", "position": 1, "connections": [{"type": "character", "id": "Mira.png"}]},
    "c.png": {"description": "stored c", "connections": [{"type": "group", "id": "17"}]},
}
POWER: dict[str, Any] = {
    "personas": {"a.png": "Anna", "b.png": "Bert", "c.png": "Carl"},
    "persona_descriptions": DESCRIBED,
    "persona_description": "as she was left",
    "persona_description_position": 2,
    "persona_description_lorebook": "Loose",
}


@dataclass(frozen=True)
class Case:
    """What is opened, and who the user is then."""

    name: str
    expected: tuple[str, str]
    power: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    kind: str = "character"
    identity: str = "Old Tom.png"


CASES = (
    Case("the last one, as it was left", ("Ilse", "as she was left")),
    Case("the default", ("Anna", "stored a"), {"default_persona": "a.png"}),
    Case("a default that is gone", ("Ilse", "as she was left"), {"default_persona": "gone.png"}),
    Case("tied to the card", ("Bert", "stored b"), {"default_persona": "a.png"}, identity="Mira.png"),
    Case("tied to the group", ("Carl", "stored c"), kind="group", identity="17"),
    Case("the chat's", ("Anna", "stored a"), metadata={"persona": "a.png"}, identity="Mira.png"),
    Case("the chat's that is gone", ("Bert", "stored b"), metadata={"persona": "gone.png"}, identity="Mira.png"),
    Case("a name that leads out", ("Ilse", "as she was left"), metadata={"persona": "../characters/Mira.png"}),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_who(tmp_path: Path, case: Case) -> None:
    """The order is the chat, the connection, the default, the last; the last one counts as the settings were left."""
    root = folder(tmp_path, user_avatar="last.png", power_user=POWER | case.power)
    persona(root, "a.png", "b.png", "c.png", "last.png")
    user = UserFolder(root)
    active = active_persona(user, Selected(user), case.metadata, case.kind, case.identity)
    assert (active.fields["name"], active.fields["description"]) == case.expected


def test_the_chosen_one_is_the_last_one(tmp_path: Path) -> None:
    """A persona that is already on is not read from its descriptor."""
    root = folder(tmp_path, user_avatar="a.png", power_user=POWER | {"default_persona": "a.png"})
    persona(root, "a.png")
    user = UserFolder(root)
    active = active_persona(user, Selected(user), {}, "character", "x.png")
    assert active.fields == {"name": "Ilse", "description": "as she was left", "position": 2}
    assert active.lorebook == "Loose"


def test_outdated_position(tmp_path: Path) -> None:
    """Position 1 is read as 0; several ties are said."""
    described = DESCRIBED | {"a.png": DESCRIBED["a.png"] | {"connections": DESCRIBED["b.png"]["connections"]}}
    root = folder(tmp_path, power_user=POWER | {"persona_descriptions": dict(reversed(described.items()))})
    persona(root, "a.png", "b.png")
    user = UserFolder(root)
    active = active_persona(user, Selected(user), {}, "character", "Mira.png")
    assert active.avatar == "b.png"
    assert active.fields["position"] == 0
    assert "2 personas are tied" in user.notes[0].message


def test_nothing_known(tmp_path: Path) -> None:
    """Without any settings there is a user all the same."""
    (tmp_path / "characters").mkdir()
    user = UserFolder(tmp_path)
    assert active_persona(user, Selected(user), {}, "character", "x.png").fields == {"name": "User"}


def test_a_persona_without_a_picture(tmp_path: Path) -> None:
    """Where there is no other, the last one is used; the note does not say of it that it is not there."""
    user = UserFolder(folder(tmp_path, user_avatar="gone.png", power_user=POWER))
    assert active_persona(user, Selected(user), {}, "character", "x.png").avatar == "gone.png"
    assert str(user.notes[0]).endswith("the persona 'gone.png' has no picture there: it is used without")
