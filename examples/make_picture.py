"""Draw the picture of the example card: a lighthouse at dusk. Only the standard library; the same bytes every time.

::

    python examples/make_picture.py picture.png
    innkeeper card embed examples/wenna.json picture.png --out examples/wenna.png
"""

import itertools
import math
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

Colour = tuple[float, float, float]

WIDTH, HEIGHT = 512, 768
SEA = 560.0
"""The row of the horizon."""
LAMP = (322.0, 250.0)
"""Where the light is, in pixels from the left and the top."""

SKY: tuple[tuple[float, Colour], ...] = (
    (0.0, (14, 20, 48)),
    (0.45, (44, 62, 108)),
    (0.75, (134, 112, 142)),
    (0.93, (226, 154, 122)),
    (1.0, (246, 194, 142)),
)
WATER: tuple[tuple[float, Colour], ...] = ((0.0, (118, 112, 138)), (0.25, (58, 72, 108)), (1.0, (12, 22, 44)))
ROCK: Colour = (16, 18, 30)
WALL: Colour = (52, 50, 68)
LIT: Colour = (255, 226, 160)


def draw() -> Iterator[bytes]:
    """The rows of the picture, top to bottom, three bytes a pixel."""
    for y in range(HEIGHT):
        yield bytes(channel for x in range(WIDTH) for channel in pixel(x + 0.5, y + 0.5))


def pixel(x: float, y: float) -> tuple[int, int, int]:
    """The colour at a point: sky and sea first, then what stands before them."""
    colour = sky(x, y) if y < SEA else water(x, y)
    colour = beam(colour, x, y)
    for cover, paint in (island(x, y), tower(x, y), gallery(x, y), lamp(x, y)):
        colour = blend(colour, paint, cover)
    colour = blend(colour, LIT, glow(x, y))
    colour = blend(colour, (188, 178, 190), fog(x, y))
    red, green, blue = (min(255, max(0, round(channel))) for channel in colour)
    return red, green, blue


def sky(x: float, y: float) -> Colour:
    """Dusk, with stars where it is dark."""
    colour = ramp(SKY, y / SEA)
    return blend(colour, (240, 240, 255), star(x, y))


def star(x: float, y: float) -> float:
    """How much of a star is here: one in a few cells of a grid has one, at a place that the cell decides."""
    column, row = int(x // 22), int(y // 22)
    chance = (column * 7_919 + row * 104_729 + column * row * 31) % 97
    if chance > 22 or y > 330:
        return 0.0
    place_x, place_y = column * 22 + 4 + chance * 5 % 14, row * 22 + 4 + chance * 11 % 14
    return 0.85 * max(0.0, 1.0 - math.hypot(x - place_x, y - place_y) / 1.3) * (1 - y / 360)


def water(x: float, y: float) -> Colour:
    """The sea: long waves, and the lamp's path on it."""
    depth = (y - SEA) / (HEIGHT - SEA)
    wave = math.sin(x / (9 + 40 * depth) + math.sin(y / 7) * 2.4 + y * 0.9)
    colour = ramp(WATER, min(1.0, max(0.0, depth + 0.03 * wave)))
    path = math.exp(-(((x - LAMP[0]) / (16 + 60 * depth)) ** 2)) * (0.5 + 0.5 * wave) * (1 - depth) ** 0.6
    return blend(colour, LIT, 0.55 * path)


def beam(colour: Colour, x: float, y: float) -> Colour:
    """The two arms of the light, fading outwards."""
    across, down = x - LAMP[0], y - LAMP[1]
    far = math.hypot(across, down)
    angle = math.degrees(math.atan2(-down, abs(across)))
    width = max(0.0, 1.0 - abs(angle - 9) / 8)
    return blend(colour, LIT, 0.5 * width**1.4 * math.exp(-far / 330)) if far > 8 else colour


def island(x: float, y: float) -> tuple[float, Colour]:
    """The rock that all of it stands on."""
    top = SEA + 38 - 74 * math.exp(-(((x - 330) / 120) ** 2)) - 20 * math.exp(-(((x - 190) / 50) ** 2))
    top += 4 * math.sin(x / 13) + 2.5 * math.sin(x / 5.1)
    foot = SEA + 46 + 5 * math.sin(x / 29)
    return soft(y - top) * soft(foot - y), ROCK


def tower(x: float, y: float) -> tuple[float, Colour]:
    """The lighthouse: slender, wider at the foot, with two pale bands and lit windows."""
    down = (y - 276) / (532 - 276)
    half = 17 + 17 * max(0.0, down) ** 1.3
    cover = soft(half - abs(x - LAMP[0])) * soft(y - 276) * soft(534 - y)
    side = (x - LAMP[0] + half) / (2 * half)
    pale = 0.5 if 0.2 < down < 0.36 or 0.58 < down < 0.76 else 0.0
    paint = blend(blend(WALL, (150, 132, 138), pale), (16, 16, 30), 0.65 * min(1.0, max(0.0, side)))
    lit = max(soft(4 - abs(x - 318)) * soft(7 - abs(y - row)) for row in (352, 442))
    return cover, blend(paint, LIT, 0.9 * lit)


def gallery(x: float, y: float) -> tuple[float, Colour]:
    """The balcony with its rail, and the roof with its knob."""
    across = abs(x - LAMP[0])
    floor = soft(27 - across) * soft(4 - abs(y - 276))
    rail = soft(25 - across) * max(soft(0.8 - abs(y - 262)), soft(0.8 - abs((x - 1) % 9 - 4)) * soft(7 - abs(y - 268)))
    roof = soft((y - 208) * 0.82 - across) * soft(230 - y)
    knob = soft(4 - math.hypot(across, y - 206))
    return max(floor, rail, roof, knob), (20, 20, 34)


def lamp(x: float, y: float) -> tuple[float, Colour]:
    """The lamp room: glass between bars."""
    across = abs(x - LAMP[0])
    bars = max(soft(1.0 - abs(across - place)) for place in (0.0, 8.0, 15.5))
    paint = blend(LIT, (40, 34, 44), 0.8 * bars)
    return soft(16 - across) * soft(y - 229) * soft(272 - y), paint


def glow(x: float, y: float) -> float:
    """The halo around the lamp."""
    far = math.hypot(x - LAMP[0], y - LAMP[1])
    return min(0.95, 0.7 * math.exp(-((far / 17) ** 2)) + 0.3 * math.exp(-far / 60))


def fog(x: float, y: float) -> float:
    """Two banks of fog that drift over the water."""
    low = math.exp(-(((y - SEA - 6 - 8 * math.sin(x / 90)) / 20) ** 2)) * (0.42 + 0.22 * math.sin(x / 70 + 1.2))
    high = math.exp(-(((y - 500 - 10 * math.sin(x / 120 + 2)) / 12) ** 2)) * (0.16 + 0.14 * math.sin(x / 110 + 4))
    return max(0.0, low) + max(0.0, high)


def ramp(stops: tuple[tuple[float, Colour], ...], place: float) -> Colour:
    """The colour at ``place`` (0 to 1) between coloured stops."""
    for (left, first), (right, second) in itertools.pairwise(stops):
        if place <= right:
            return blend(first, second, (place - left) / (right - left))
    return stops[-1][1]


def soft(distance: float) -> float:
    """0 outside an edge, 1 inside, with one pixel of both: how edges look smooth."""
    return min(1.0, max(0.0, distance + 0.5))


def blend(under: Colour, over: Colour, share: float) -> Colour:
    """``share`` (0 to 1) of ``over`` on ``under``."""
    first, second, third = (a + (b - a) * share for a, b in zip(under, over, strict=True))
    return first, second, third


def png(rows: Iterator[bytes]) -> bytes:
    """A PNG of 8-bit RGB rows. Each row is stored as differences to the row above, which gradients suit well."""
    above, filtered = bytes(WIDTH * 3), bytearray()
    for row in rows:
        filtered.append(2)
        filtered += bytes((value - over) & 255 for value, over in zip(row, above, strict=True))
        above = row
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    body = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(filtered), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, data) for kind, data in body)


def chunk(kind: bytes, data: bytes) -> bytes:
    """One PNG chunk: length, kind, data, checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(png(draw()))
