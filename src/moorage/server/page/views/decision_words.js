/** A decision in words. */

import { counted, whole } from "../core/text.js";
import { short, took } from "../core/units.js";

/** @import { Decision } from "../core/documents.js" */

/**
 * @param {Decision} decision
 * @returns {string[]}
 */
export function wordsFor(decision) {
  return [...began(decision), ...ended(decision)];
}

/** @param {Decision} decision */
function began({ wokenBy, try: tried }) {
  if (tried > 1) return [`Try ${tried}${wokenBy ? `, woken by ${wokenBy}` : ""}.`];
  return [];
}

/** @param {Decision} decision */
function ended(decision) {
  switch (decision.outcome) {
    case "bound":
    case "assumed":
    case "refused":
    case "withdrawn":
      return [whereTo(decision), ...runnerUp(decision), ...after(decision)];
    case "nominated":
      return [searched(decision), `Preemption makes room on ${decision.node}${victims(decision)}.`];
    case "error":
      return [`It failed: ${decision.message}`];
    default:
      return [searched(decision), ...preFiltered(decision), ...hopeless(decision)];
  }
}

/** @param {Decision} decision */
function whereTo({ node, score, feasible, lookedAt, nodes, ties }) {
  const looked =
    lookedAt < nodes
      ? `${whole(lookedAt)} of ${whole(nodes)} nodes were looked at`
      : `all ${counted(nodes, "node")} were looked at`;
  const tied = ties > 1 ? ` ${counted(ties, "node")} had the best score, and one is taken.` : "";
  if (feasible === 1) return `${node} was chosen: ${looked}, and it alone fits.`;
  return `${node} was chosen: ${looked}, ${whole(feasible)} fit, and it has the best score${score === null ? "" : `, ${whole(score)}`}.${tied}`;
}

/** @param {Decision} decision */
function runnerUp({ second, tippedBy }) {
  const words = [];
  if (second)
    words.push(
      second.by > 0
        ? `${second.node} came second, ${whole(second.by)} behind.`
        : `${second.node} had as much.`,
    );
  if (tippedBy)
    words.push(
      `${tippedBy.plugin} tipped it: with a weight of ${short(tippedBy.newWeight)} instead of ${short(tippedBy.weight)}, ${tippedBy.then} would have been as good.`,
    );
  return words;
}

/** @param {Decision} decision */
function after({ outcome, after: then }) {
  if (outcome === "assumed") return ["It is being bound."];
  if (!then) return [];
  if (outcome === "refused")
    return [`Then ${then.by || "something"} refused${then.message ? `: ${then.message}` : "."}`];
  if (outcome === "withdrawn") return [`Then it was given back${then.message ? `: ${then.message}` : "."}`];
  return [`Bound ${took(then.seconds)} later.`];
}

/** @param {Decision} decision */
function searched({ lookedAt, nodes }) {
  return lookedAt
    ? `None of ${counted(lookedAt, "node")} fits.`
    : `No node was looked at${nodes ? `, of ${whole(nodes)}` : ""}.`;
}

/** @param {Decision} decision */
function preFiltered({ preFilter }) {
  if (!preFilter?.plugin) return [];
  return [
    `${preFilter.plugin} ruled all of them out${preFilter.reasons.length ? `: ${preFilter.reasons.join("; ")}` : ""}.`,
  ];
}

/** @param {Decision} decision */
function hopeless({ preemption }) {
  return preemption && preemption.candidates.length === 0 ? ["Preemption would not help."] : [];
}

/** @param {Decision} decision */
function victims({ preemption, node }) {
  const chosen = preemption?.candidates.find((each) => each.node === node);
  return chosen?.victims.length ? `: ${chosen.victims.join(", ")} must go` : "";
}
