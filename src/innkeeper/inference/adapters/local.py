"""Clients of the model on this machine: its adapter speaks chat completions over a transport that ends at its engine.

>>> from innkeeper.inference.adapters.local import local_client
>>> from innkeeper.inference.local.model import LocalModel
>>> with LocalModel.open() as model, local_client(model) as client:  # doctest: +SKIP
...     events = client.events(request)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from innkeeper.inference.adapters.openai_chat import Local
from innkeeper.inference.client.model_clients import AsyncModelClient, ModelClient

if TYPE_CHECKING:
    from innkeeper.inference.local.model import LocalModel


def local_client(model: LocalModel, **options: Any) -> ModelClient:
    """A client of a model that is loaded. Closing it leaves the model as it is; one chat goes on at a time."""
    return ModelClient(Local(), transport=model.transport, **{**_patience(model), **options})


def local_async_client(model: LocalModel, **options: Any) -> AsyncModelClient:
    """`local_client` for event loops; cancelling the task that waits stops the model."""
    return AsyncModelClient(Local(), transport=model.transport, **{**_patience(model), **options})


def _patience(model: LocalModel) -> dict[str, Any]:
    return {"timeout": model.endpoint.timeout, "total_timeout": model.endpoint.total_timeout}
