/** Small pieces that stand in many places: outcomes, names of pods, nodes and plugins. */

import { make } from "../core/dom.js";
import { toDecision, toNode, toPod } from "../core/router.js";

/** @import { Outcome, Where } from "../core/documents.js" */

/** The outcomes, with a sign that needs no colour. @type {Record<Outcome, [string, string]>} */
export const OUTCOMES = {
  bound: ["●", "bound"],
  assumed: ["◐", "binding"],
  nominated: ["◆", "nominated"],
  unschedulable: ["▲", "unschedulable"],
  refused: ["■", "refused"],
  withdrawn: ["◇", "withdrawn"],
  error: ["✕", "error"],
};

/** @param {Outcome} outcome */
export function outcomeChip(outcome) {
  const [sign, word] = OUTCOMES[outcome] ?? ["○", outcome];
  return make(
    "span",
    { class: `chip outcome-${OUTCOMES[outcome] ? outcome : "other"}` },
    make("span", { "aria-hidden": "true" }, sign),
    ` ${word}`,
  );
}

/** @type {Record<Where, string>} */
export const PLACES = {
  active: "next",
  backoff: "backing off",
  unschedulable: "unschedulable",
  gated: "gated",
};

/** @param {Where} where */
export function placeChip(where) {
  return make("span", { class: `chip place-${PLACES[where] ? where : "other"}` }, PLACES[where] ?? where);
}

/** @param {{ namespace: string, name: string }} pod */
export function podLink(pod) {
  return make(
    "a",
    { href: toPod(pod), class: "name" },
    make("span", { class: "quiet" }, `${pod.namespace}/`),
    pod.name,
  );
}

/**
 * The same for `namespace/name`.
 * @param {string} key
 */
export function podLinkByKey(key) {
  const cut = key.indexOf("/");
  return podLink({ namespace: key.slice(0, cut), name: key.slice(cut + 1) });
}

/** @param {string} node */
export function nodeLink(node) {
  return make("a", { href: toNode(node), class: "name", title: `decisions for ${node}` }, node);
}

/** @param {number} number */
export function decisionLink(number) {
  return make("a", { href: toDecision(number), class: "name" }, `#${number}`);
}

/**
 * @param {string[]} names
 * @param {number} [most] how many are told; the rest is counted
 */
export function tags(names, most = names.length) {
  const more = names.slice(most);
  const told = names.slice(0, most).map((name) => make("span", { class: "tag" }, name));
  const rest = make("span", { class: "quiet small", title: more.join(", ") }, `and ${more.length} more`);
  return make("span", { class: "tags" }, told, more.length > 0 && rest);
}
