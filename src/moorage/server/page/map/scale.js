/** Shares as colours. Lightness runs one way, so that every kind of eyesight tells more from less. */

const STEPS = 256;

/** From an empty node to a full one, away from the colour of the page. @type {Record<"light" | "dark", [number, number, number][]>} */
const ANCHORS = {
  light: [
    [237, 240, 226],
    [196, 220, 205],
    [126, 184, 186],
    [68, 137, 163],
    [40, 88, 133],
    [24, 40, 88],
  ],
  dark: [
    [33, 45, 62],
    [38, 75, 110],
    [52, 116, 142],
    [106, 158, 144],
    [184, 196, 118],
    [253, 231, 96],
  ],
};

/**
 * The colours in steps, as the canvas takes them.
 * @param {boolean} isDark
 * @returns {string[]}
 */
export function colours(isDark) {
  const anchors = ANCHORS[isDark ? "dark" : "light"];
  return Array.from({ length: STEPS }, (_, step) => {
    const place = (step / (STEPS - 1)) * (anchors.length - 1);
    const low = Math.min(anchors.length - 2, Math.floor(place));
    const [from, to] = [anchors[low] ?? [0, 0, 0], anchors[low + 1] ?? [0, 0, 0]];
    const mixed = from.map((part, index) => Math.round(part + ((to[index] ?? 0) - part) * (place - low)));
    return `rgb(${mixed.join(" ")})`;
  });
}

/** The step of nodes that have none of the resource. */
export const NONE = STEPS;

/**
 * The step for a share; NaN is a node that has none of the resource.
 * @param {number} share
 */
export function step(share) {
  if (Number.isNaN(share)) return NONE;
  return Math.max(0, Math.min(STEPS - 1, Math.round(share * (STEPS - 1))));
}
