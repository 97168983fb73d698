"""``tiny-seed-picture``: a picture out of the prompt's seed by arithmetic. No model is asked, and the file says so.

It stands in where there is no provider, so that a job can be tried on any machine: the same prompt and seed give the same bytes.
A video is an animated PNG. https://www.w3.org/TR/png-3/
"""

from __future__ import annotations

import hashlib
import math
import struct
import zlib
from collections.abc import Iterator
from typing import Final

from innkeeper.jobs.backend import BackendCall, Submitted, WaitingBackend
from innkeeper.jobs.job import Output
from innkeeper.library.catalogue.rows import CatalogueModel, read_row

NAME: Final = "tiny-seed-picture"
"""What the backend and its model are called, so that nobody takes its pictures for a model's."""

MODEL: Final = read_row(
    {
        "model_key": NAME,
        "modality": "image",
        "tasks": ["t2i", "i2i", "t2v", "i2v"],
        "input_defaults": {"width": 512, "height": 512},
        "capabilities": {
            "char_limit": 10_000,
            "input_schema": {
                "prompt": {"type": "string", "required": True},
                "seed": {"type": "integer", "min": 0, "max": 2**32 - 1},
                "num_images": {"type": "integer", "min": 1, "max": 4, "default": 1},
                "width": {"type": "integer", "min": 64, "max": 1024, "multipleOf": 64},
                "height": {"type": "integer", "min": 64, "max": 1024, "multipleOf": 64},
                "num_frames": {"type": "integer", "min": 2, "max": 24, "default": 8},
                "fps": {"type": "integer", "min": 1, "max": 24, "default": 8},
                "image": {"type": "string"},
                "strength": {"type": "number", "min": 0, "max": 1, "default": 0.7},
            },
        },
    },
    CatalogueModel,
)
"""Its row, as a catalogue would have it."""

_SQUARE: Final = 16
"""Pixels of one square of a picture."""

_NOTE: Final = "drawn from the prompt's seed by arithmetic, not by a model"
_HEAD: Final = b"\x89PNG\r\n\x1a\n"
_FRAMES: Final = 8


class TinySeedPicture(WaitingBackend):
    """The backend in this process."""

    name = NAME

    def submit(self, call: BackendCall) -> Submitted:
        """Draw it."""
        body = call.body
        from_picture = call.picture or str(body.get("image", "")).encode()
        count, moving = int(body.get("num_images", 1)), "num_frames" in body
        pictures = [
            drawn(
                f"{body['prompt']}\0{body.get('negative_prompt', '')}",
                int(body.get("seed", 0)) + number,
                (int(body.get("width", 512)), int(body.get("height", 512))),
                start=from_picture,
                strength=float(body.get("strength", 0.7)),
                frames=int(body["num_frames"]) if moving else 1,
                fps=int(body.get("fps", _FRAMES)),
            )
            for number in range(count)
        ]
        return Submitted(outputs=tuple(Output(data=one, media_type="image/png") for one in pictures), cost_usd=0.0)


def drawn(
    text: str,
    seed: int,
    size: tuple[int, int],
    *,
    start: bytes = b"",
    strength: float = 0.7,
    frames: int = 1,
    fps: int = _FRAMES,
) -> bytes:
    """A PNG of soft waves in three colours; of several frames where ``frames`` says so.

    ``start`` is a picture to begin from: its hash draws waves of its own, of which ``strength`` leaves less.
    """
    waves = list(_waves(f"{seed}\0{text}".encode()))
    if start:
        share_left = 1 - min(max(strength, 0.0), 1.0)
        before = list(_waves(hashlib.sha256(start).digest()))
        waves = [(a, b, c, d * (1 - share_left)) for a, b, c, d in waves] + [
            (a, b, c, d * share_left) for a, b, c, d in before
        ]
    width, height = size
    pixels = [_pixels(waves, width, height, frame / max(frames, 1)) for frame in range(frames)]
    return b"".join(_chunks(pixels, width, height, seed, fps))


def _waves(source: bytes) -> Iterator[tuple[float, float, float, float]]:
    """Waves of each colour in turn: how often over the width and the height, where they begin, how strong."""
    numbers = hashlib.shake_256(source).digest(4 * 9)
    for at in range(0, len(numbers), 4):
        a, b, c, d = numbers[at : at + 4]
        yield (a - 128) / 32, (b - 128) / 32, c / 256, 0.4 + d / 425


def _pixels(waves: list[tuple[float, float, float, float]], width: int, height: int, moment: float) -> bytes:
    """The rows of a picture, each with its filter byte in front. One square is one value: 16 rows are the same bytes."""
    across, down = -(-width // _SQUARE), -(-height // _SQUARE)
    rows = []
    for y in range(down):
        line = bytearray(b"\0")
        for x in range(across):
            colour = [0.0, 0.0, 0.0]
            for index, (often, deep, begin, strong) in enumerate(waves):
                turn = often * x / across + deep * y / down + begin + moment
                colour[index % 3] += strong * math.sin(math.tau * turn)
            square = bytes(int(127.5 + 127.5 * math.tanh(part)) for part in colour)
            line += square * (min(width, (x + 1) * _SQUARE) - x * _SQUARE)
        rows.append(bytes(line) * (min(height, (y + 1) * _SQUARE) - y * _SQUARE))
    return b"".join(rows)


def _chunks(pixels: list[bytes], width: int, height: int, seed: int, fps: int) -> Iterator[bytes]:
    yield _HEAD
    yield _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    yield _chunk(b"tEXt", b"Software\0innkeeper " + NAME.encode())
    yield _chunk(b"tEXt", f"Comment\0{_NOTE}; seed {seed}".encode("latin-1"))
    if len(pixels) > 1:
        yield _chunk(b"acTL", struct.pack(">II", len(pixels), 0))
    number = 0
    for index, rows in enumerate(pixels):
        data = zlib.compress(rows, 6)
        if len(pixels) > 1:
            shown = struct.pack(">IIIIIHHBB", number, width, height, 0, 0, 1, fps, 0, 0)
            yield _chunk(b"fcTL", shown)
            number += 1
        if index:
            yield _chunk(b"fdAT", struct.pack(">I", number) + data)
            number += 1
        else:
            yield _chunk(b"IDAT", data)
    yield _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
