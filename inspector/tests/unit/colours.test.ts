import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

type Triple = readonly [number, number, number];

const css = readFileSync(new URL("../../src/app.css", import.meta.url), "utf8");

/** The colours `--o0` to `--o11` or `--p0` to `--p11`, in one of the themes. */
function palette(letter: "o" | "p", theme: 0 | 1): Triple[] {
  return Array.from({ length: 12 }, (_, index) => {
    const line = new RegExp(`--${letter}${index}: light-dark\\((oklch\\([^)]*\\)), (oklch\\([^)]*\\))\\)`).exec(css)!;
    return /oklch\((\S+) (\S+) (\S+)\)/.exec(line[theme + 1]!)!.slice(1).map(Number) as unknown as Triple;
  });
}

const times = (rows: readonly Triple[], [x, y, z]: Triple): Triple => rows.map(([a, b, c]) => a * x + b * y + c * z) as unknown as Triple;
const clamped = (colour: Triple): Triple => colour.map((one) => Math.min(1, Math.max(0, one))) as unknown as Triple;

// Ottosson 2020: OKLab to linear sRGB and back.
const TO_LMS: Triple[] = [[1, 0.3963377774, 0.2158037573], [1, -0.1055613458, -0.0638541728], [1, -0.0894841775, -1.291485548]];
const TO_RGB: Triple[] = [[4.0767416621, -3.3077115913, 0.2309699292], [-1.2684380046, 2.6097574011, -0.3413193965], [-0.0041960863, -0.7034186147, 1.707614701]];
const FROM_RGB: Triple[] = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]];
const FROM_LMS: Triple[] = [[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099], [0.0259040371, 0.7827717662, -0.808675766]];

// Machado, Oliveira and Fernandes 2009, at full severity.
const EYES: Record<string, Triple[]> = {
  usual: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
};

function seen([lightness, chroma, hue]: Triple, eyes: readonly Triple[]): Triple {
  const lab: Triple = [lightness, chroma * Math.cos((hue * Math.PI) / 180), chroma * Math.sin((hue * Math.PI) / 180)];
  const rgb = clamped(times(TO_RGB, times(TO_LMS, lab).map((one) => one ** 3) as unknown as Triple));
  const lms = times(FROM_RGB, clamped(times(eyes, rgb))).map(Math.cbrt) as unknown as Triple;
  return times(FROM_LMS, lms);
}

describe("the colours of origins", () => {
  for (const [letter, least] of [["p", 0.07], ["o", 0.033]] as const) {
    for (const theme of [0, 1] as const) {
      it.each(Object.entries(EYES))(`--${letter} in theme ${theme} are apart for %s eyes`, (_, eyes) => {
        const colours = palette(letter, theme).map((colour) => seen(colour, eyes));
        const distances = colours.flatMap((a, index) => colours.slice(index + 1).map((b) => Math.hypot(...a.map((one, axis) => one - b[axis]!))));
        expect(Math.min(...distances)).toBeGreaterThan(least);
      });
    }
  }
});
