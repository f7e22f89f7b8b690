/** Attempts as marks on a line of time. */

import { draw } from "../core/dom.js";
import { toDecision } from "../core/router.js";
import { timeOfDay, took } from "../core/units.js";
import { OUTCOMES } from "./chips.js";

/** @import { Attempt } from "../core/documents.js" */

const MARGIN = 2; // per cent of the width

/** @param {Attempt[]} attempts newest first */
export function timeStrip(attempts) {
  const [last, first] = [attempts[0]?.time ?? 0, attempts.at(-1)?.time ?? 0];
  const span = Math.max(last - first, 1e-3);
  const x = (/** @type {number} */ time) => MARGIN + ((time - first) / span) * (100 - 2 * MARGIN);
  return draw(
    "svg",
    { class: "time-strip", role: "group", "aria-label": `Attempts over ${took(span)}` },
    draw("line", { x1: `${MARGIN}%`, x2: `${100 - MARGIN}%`, y1: 16, y2: 16, class: "strip-line" }),
    draw("text", { x: `${MARGIN}%`, y: 40, class: "strip-text" }, timeOfDay(first)),
    draw(
      "text",
      { x: `${100 - MARGIN}%`, y: 40, class: "strip-text", "text-anchor": "end" },
      timeOfDay(last),
    ),
    draw("text", { x: "50%", y: 40, class: "strip-text", "text-anchor": "middle" }, took(span)),
    [...attempts].reverse().map((attempt) => mark(attempt, x(attempt.time))),
  );
}

/**
 * @param {Attempt} attempt
 * @param {number} x
 */
function mark(attempt, x) {
  const [sign, word] = OUTCOMES[attempt.outcome] ?? ["○", attempt.outcome];
  return draw(
    "a",
    {
      href: toDecision(attempt.number),
      "aria-label": `Decision ${attempt.number}, ${word}, ${timeOfDay(attempt.time)}`,
    },
    draw(
      "text",
      { x: `${x}%`, y: 21, "text-anchor": "middle", class: `strip-mark ink-${attempt.outcome}` },
      sign,
    ),
  );
}
