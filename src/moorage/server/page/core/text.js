/** Text from the cluster, made safe to look at: what cannot be seen is written as an escape. */

const UNSEEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]/gu;

/** @type {Record<string, string>} */
const NAMED = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** @param {string} character */
function escaped(character) {
  return NAMED[character] ?? `\\u{${/** @type {number} */ (character.codePointAt(0)).toString(16)}}`;
}

/**
 * The text in one line, with control characters and those that turn the direction of writing shown as escapes.
 * @param {unknown} value
 * @returns {string}
 */
export function visible(value) {
  return String(value).replace(UNSEEN, escaped);
}

/**
 * The same for text of many lines, whose line breaks stay.
 * @param {unknown} value
 * @returns {string}
 */
export function visibleLines(value) {
  return String(value).split("\n").map(visible).join("\n");
}

/**
 * `1 pod`, `2 pods`.
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export function counted(count, one, many = `${one}s`) {
  return `${whole(count)} ${count === 1 ? one : many}`;
}

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/**
 * A number with its thousands set apart by thin spaces.
 * @param {number} value
 */
export function whole(value) {
  return WHOLE.format(value).replaceAll(",", "\u2009");
}
