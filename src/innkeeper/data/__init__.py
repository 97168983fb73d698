"""Datasets of prompts: build requests by the million to messages, texts, token numbers or provider bodies.

>>> from innkeeper.data import BatchSettings, build_batch
"""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.data.batch import BatchSettings as BatchSettings
    from innkeeper.data.batch import build_batch as build_batch
    from innkeeper.data.compare import BatchComparison as BatchComparison
    from innkeeper.data.compare import compare_batches as compare_batches
    from innkeeper.data.frames import build_frame as build_frame
    from innkeeper.data.model_rows import ModelRows as ModelRows
    from innkeeper.data.run import BatchReport as BatchReport
    from innkeeper.data.run import RunOptions as RunOptions
    from innkeeper.data.run import run_batch as run_batch
    from innkeeper.data.sending import Sender as Sender
    from innkeeper.data.sending import SendOptions as SendOptions
    from innkeeper.data.sources import RowSource as RowSource
    from innkeeper.data.sources import open_rows as open_rows
    from innkeeper.data.submitting import SubmitOptions as SubmitOptions
    from innkeeper.data.submitting import Submitter as Submitter
    from innkeeper.data.training import distinct as distinct
    from innkeeper.data.training import packed as packed
    from innkeeper.data.training import split_of as split_of

_HOMES: Final = {
    "batch": ("BatchSettings", "build_batch"),
    "compare": ("BatchComparison", "compare_batches"),
    "frames": ("build_frame",),
    "model_rows": ("ModelRows",),
    "run": ("BatchReport", "RunOptions", "run_batch"),
    "sending": ("Sender", "SendOptions"),
    "sources": ("RowSource", "open_rows"),
    "submitting": ("Submitter", "SubmitOptions"),
    "training": ("distinct", "packed", "split_of"),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
