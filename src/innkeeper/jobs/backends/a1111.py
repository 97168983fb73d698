"""A1111 and servers of its kind (Forge, SD.Next): one call that waits, on a machine of one's own.

https://github.com/AUTOMATIC1111/stable-diffusion-webui/wiki/API
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from innkeeper.inference.errors import DecodeError, HttpError
from innkeeper.jobs.backend import BackendCall, Submitted, WaitingBackend
from innkeeper.jobs.backends.outputs import of_data
from innkeeper.jobs.backends.wire import MediaWire
from innkeeper.jobs.job import Output
from innkeeper.jobs.limits import MAX_OUTPUTS
from innkeeper.prompt.data import FrozenDict

_BASE: Final = "http://127.0.0.1:7860"
_SECONDS: Final = 900.0
_NAMES: Final = {
    "num_inference_steps": "steps",
    "guidance_scale": "cfg_scale",
    "num_images": "batch_size",
    "strength": "denoising_strength",
}
"""Its own names, where a model's row has no schema and the usual ones were written."""


class A1111(WaitingBackend):
    """A server of one's own. Asking it twice costs nothing but time."""

    name = "a1111"

    def __init__(self, wire: MediaWire) -> None:
        self._wire = wire

    def submit(self, call: BackendCall) -> Submitted:
        """Ask, and wait."""
        body = {_NAMES.get(name, name): value for name, value in call.body.items()}
        pictures = [body.pop(name) for name in ("image", "image_url", "init_image") if name in body]
        path = "txt2img"
        if call.picture:
            path, body["init_images"] = "img2img", [base64.b64encode(call.picture).decode()]
        elif pictures or "init_images" in body:
            path = "img2img"
            body.setdefault("init_images", pictures)
        answer = self._wire.call(
            "POST", f"{call.base_url or _BASE}/sdapi/v1/{path}", json=body, seconds=_SECONDS, headers=_headers(call)
        )
        listed = answer.get("images") if isinstance(answer, Mapping) else None
        if not isinstance(listed, list) or not listed:
            raise DecodeError("the answer holds no pictures")
        expected = int(body.get("batch_size", 1)) * int(body.get("n_iter", 1))
        return Submitted(outputs=tuple(Output(data=of_data(str(one))) for one in listed[: min(expected, MAX_OUTPUTS)]))

    def cancel(self, call: BackendCall, reference: Mapping[str, Any]) -> None:
        """Have it stop what it does."""
        try:
            self._wire.call("POST", f"{call.base_url or _BASE}/sdapi/v1/interrupt", json={}, headers=_headers(call))
        except HttpError as error:
            if error.status != 404:  # noqa: PLR2004 - a server without it
                raise


def _headers(call: BackendCall) -> FrozenDict:
    return FrozenDict({"authorization": f"Bearer {call.key.reveal()}"} if call.key else {})
