/** Wheel, drag, pinch and hover on the map. */

/**
 * @typedef {object} Answers
 * @property {(factor: number, x: number, y: number) => void} zoom
 * @property {(right: number, down: number) => void} pan
 * @property {(x: number, y: number) => void} hover
 * @property {() => void} leave
 * @property {(x: number, y: number) => void} click
 */

const A_CLICK = 4; // pixels that a click may move

/**
 * @param {HTMLElement} element
 * @param {Answers} answers
 */
export function listen(element, answers) {
  /** @type {Map<number, { x: number, y: number }>} */
  const down = new Map();
  let moved = 0;

  const place = (/** @type {MouseEvent} */ event) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  element.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const { x, y } = place(event);
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      answers.zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.002)), x, y);
    },
    { passive: false },
  );

  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    if (down.size === 0) moved = 0;
    down.set(event.pointerId, place(event));
  });

  element.addEventListener("pointermove", (event) => {
    const now = place(event);
    const before = down.get(event.pointerId);
    if (!before) return answers.hover(now.x, now.y);
    moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const factor = distance(now, other) / Math.max(1, distance(before, other));
      answers.zoom(factor, (now.x + other.x) / 2, (now.y + other.y) / 2);
    } else if (moved > A_CLICK) {
      answers.pan(now.x - before.x, now.y - before.y);
    }
    down.set(event.pointerId, now);
  });

  const up = (/** @type {PointerEvent} */ event) => {
    const was = down.delete(event.pointerId);
    const { x, y } = place(event);
    if (was && down.size === 0 && moved <= A_CLICK && event.type === "pointerup") answers.click(x, y);
  };
  element.addEventListener("pointerup", up);
  element.addEventListener("pointercancel", up);
  element.addEventListener("pointerleave", () => answers.leave());
}

/**
 * @param {{ x: number, y: number }} one
 * @param {{ x: number, y: number }} other
 */
function distance(one, other) {
  return Math.hypot(one.x - other.x, one.y - other.y);
}
