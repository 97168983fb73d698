"""A chat with a stand-in for the model, for tests on a terminal: ``talk_program.py FILE.jsonl``."""

import os
import signal
import sys
import time
from collections.abc import Generator
from pathlib import Path

from innkeeper.cli.talk.conversation import TerminalChat
from innkeeper.cli.talk.shell import Shell
from innkeeper.content.chat import ChatLog
from innkeeper.conversation.conversation import Conversation
from innkeeper.conversation.store import ChatFile
from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.client.model_handle import ModelHandle
from innkeeper.inference.response.events import ModelEvent, TextDelta
from tests.cli.fakes import FakeModel
from tests.cli.talk.test_shell import BASE, build


class SlowModel(FakeModel):
    """Says a word and then thinks for a long time; the second time it just answers."""

    def events(self, request: ModelRequest) -> Generator[ModelEvent]:
        if not self.asked:
            self.asked.append({})
            yield TextDelta(text="Well, ")
            time.sleep(60)
        yield from super().events(request)


if __name__ == "__main__":
    # Tests that run in the background ignore Ctrl-C, and hand that down; a person's programs do not.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # The first terminal that a session's leader opens is its own: only then does Ctrl-C reach it.
    os.close(os.open(os.ttyname(0), os.O_RDWR))
    Shell(
        TerminalChat(
            Conversation(base=BASE, chat=ChatLog(header={})),
            ModelHandle(SlowModel("Yes."), "m"),
            build,
            store=ChatFile(Path(sys.argv[1])),
        )
    ).run()
