"""The numbers that keep counting bounded in memory and time; each error or fallback that follows is named beside it."""

from typing import Final

__all__ = [
    "ASK_FAILURES",
    "ASK_SECONDS",
    "BATCH_CHARS",
    "BATCH_THREADS",
    "CHUNK_CHARS",
    "DIGEST_ABOVE",
    "FILE_TOKENIZERS",
    "MEMO_BYTES",
    "MEMO_ENTRIES",
    "ROUTES",
    "TOKENIZER_FILE_BYTES",
]

MEMO_ENTRIES: Final = 200_000
"""How many counts a memo remembers; older ones are forgotten."""

MEMO_BYTES: Final = 64 * 1024 * 1024
"""How many bytes of text a memo keeps as keys; older ones are forgotten."""

DIGEST_ABOVE: Final = 1024
"""Texts of more characters are remembered by a digest, not by themselves."""

FILE_TOKENIZERS: Final = 16
"""How many tokenizers from a user's files stay loaded; the least recently used goes first."""

TOKENIZER_FILE_BYTES: Final = 64 * 1024 * 1024
"""The largest tokenizer file that is read, in bytes (`TokenizerFileTooLargeError`)."""

CHUNK_CHARS: Final = 64_000
"""Longer texts are counted in pieces of at most this many characters (`innkeeper.tokens.engines.engine`)."""

BATCH_CHARS: Final = 40_000
"""From this many characters on, a batch is worth the start of threads."""

BATCH_THREADS: Final = 4
"""How many threads count one batch at most."""

ROUTES: Final = 512
"""How many model ids a counter keeps resolved; then it starts again."""

ASK_SECONDS: Final = 2.0
"""How long an asked server has for one answer, in seconds (`TokenServerError`)."""

ASK_FAILURES: Final = 3
"""After this many failures in a row a server is not asked again until `AskServer.reset`."""
