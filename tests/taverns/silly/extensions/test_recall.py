"""What the extensions with a memory put in, beside the request's own injections."""

from __future__ import annotations

from innkeeper.content.chat import ChatLog
from tests.taverns.silly.builds import build, contents

STORED = [
    {"name": "Sam", "is_user": True, "mes": "One.", "extra": {"memory": "They met."}},
    {"name": "Mira", "is_user": False, "mes": "Two."},
]


def test_given_injections_win() -> None:
    """An injection of the request takes the place of an extension's with the same key."""
    own = {"id": "1_memory", "content": "Given.", "position": "after"}
    history = ChatLog.of(STORED).to_messages(hidden=True)
    sent = contents(build(history=history, message="Hi.", injections=[own], settings={"memory": {}}))
    assert "Given." in sent
    assert "They met." not in str(sent)
