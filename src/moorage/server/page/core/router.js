/** Addresses in the fragment: `#/decisions/812?sort=name`. Reload, back and links work by them alone. */

/**
 * @typedef {object} Route
 * @property {string} view
 * @property {string[]} parts what follows the view's name
 * @property {URLSearchParams} query
 */

/**
 * @param {string} fragment with or without its `#`
 * @returns {Route}
 */
export function parse(fragment) {
  const [path = "", query = ""] = fragment.replace(/^#?\/?/, "").split(/\?(.*)/s);
  const [view = "", ...parts] = path.split("/").map(decoded);
  return { view, parts: parts.filter(Boolean), query: new URLSearchParams(query) };
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * The address of a view. Empty values of the query are left out.
 * @param {string} view
 * @param {(string | number)[]} [parts]
 * @param {Record<string, string | number | undefined>} [query]
 */
export function address(view, parts = [], query = {}) {
  const path = [view, ...parts].map(encodeURIComponent).join("/");
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return `#/${path}${text ? `?${text}` : ""}`;
}

/** @param {number} number */
export const toDecision = (number) => address("decisions", [number]);

/** @param {{ namespace: string, name: string }} pod */
export const toPod = (pod) => address("pods", [pod.namespace, pod.name]);

/** @param {string} node */
export const toNode = (node) => address("decisions", [], { node });

/**
 * Writes what the view shows now into the address bar, without a step in the history.
 * @param {string} where
 */
export function note(where) {
  if (location.hash !== where) history.replaceState(null, "", where);
}
