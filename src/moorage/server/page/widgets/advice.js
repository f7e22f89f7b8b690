/** What would help: suggestions with the change that each of them is. */

import { make } from "../core/dom.js";
import { visibleLines } from "../core/text.js";
import { nodeLink } from "./chips.js";
import { button } from "./controls.js";

/** @import { Suggestion } from "../core/documents.js" */

const MOST_NODES = 20;

/** @param {Suggestion[]} suggestions */
export function adviceList(suggestions) {
  return make(
    "ol",
    { class: "advice" },
    suggestions.map((each) => make("li", {}, suggestion(each))),
  );
}

/** @param {Suggestion} given */
export function suggestion({ text, then, nodes, change, where }) {
  const told = nodes.slice(0, MOST_NODES).flatMap((node, place) => [place ? ", " : "", nodeLink(node)]);
  return make(
    "div",
    { class: "suggestion" },
    make(
      "p",
      { class: "suggestion-text" },
      make("span", { class: "quiet" }, then === "fits" ? "It would fit if " : "It would preempt others if "),
      text,
    ),
    where && make("p", { class: "hint" }, belongs(where)),
    make(
      "details",
      {},
      make("summary", {}, "The change"),
      nodes.length > 0 &&
        make(
          "p",
          { class: "suggestion-nodes" },
          "Then ",
          told,
          nodes.length > MOST_NODES && ` and ${nodes.length - MOST_NODES} more`,
          " would do.",
        ),
      code(JSON.stringify(change, null, 2)),
    ),
  );
}

/**
 * Where a change belongs that cannot be made to the pod itself.
 * @param {Record<string, unknown>} where
 */
function belongs({ kind, namespace, name, path }) {
  return `Belongs into ${path ?? "the template"} of ${kind} ${namespace ? `${namespace}/` : ""}${name}.`;
}

/**
 * Text to copy.
 * @param {string} text
 */
export function code(text) {
  const copy = button(
    "Copy",
    () => {
      void navigator.clipboard?.writeText(text).then(() => (copy.textContent = "Copied"));
    },
    "copy",
  );
  const block = make("pre", { tabindex: 0 });
  block.textContent = visibleLines(text);
  return make("div", { class: "code" }, block, copy);
}
