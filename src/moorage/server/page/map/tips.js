/** A node's numbers in short. */

import { make } from "../core/dom.js";
import { counted, whole } from "../core/text.js";
import { amount, percent } from "../core/units.js";

/** @import { NodeColumns } from "../core/nodes.js" */

/**
 * What the tip shows of a node.
 * @param {NodeColumns} nodes
 * @param {number} row
 * @param {string} groupKey
 */
export function tipFor(nodes, row, groupKey) {
  const label = nodes.labels[groupKey];
  const value = label?.values[label.codes[row] ?? 0];
  const lines = nodes.resources.filter(
    (name) => (nodes.allocatable.get(name)?.[row] ?? 0) > 0 || (nodes.requested.get(name)?.[row] ?? 0) > 0,
  );
  return [
    make("strong", {}, nodes.names[row]),
    value ? make("p", { class: "quiet" }, value) : null,
    make(
      "table",
      {},
      make(
        "tbody",
        {},
        lines
          .slice(0, 8)
          .map((name) =>
            make(
              "tr",
              {},
              make("th", { scope: "row" }, name),
              make(
                "td",
                { class: "number" },
                `${amount(name, nodes.requested.get(name)?.[row] ?? 0)} of ${amount(name, nodes.allocatable.get(name)?.[row] ?? 0)}`,
              ),
              make("td", { class: "number" }, percent(nodes.share(name, row))),
            ),
          ),
      ),
    ),
    nodes.unschedulable[row] ? make("p", {}, "✕ cordoned") : null,
    (nodes.taints[row] ?? []).slice(0, 5).map((taint) => make("p", {}, `◥ ${taint}`)),
  ].flat();
}

/**
 * The same for those who hear it.
 * @param {NodeColumns} nodes
 * @param {number} row
 * @param {string} resource
 */
export function spokenFor(nodes, row, resource) {
  const taints = nodes.taints[row] ?? [];
  return [
    `${nodes.names[row]}: ${percent(nodes.share(resource, row))} of ${resource}`,
    counted(nodes.requested.get("pods")?.[row] ?? 0, "pod"),
    nodes.unschedulable[row] && "cordoned",
    taints.length > 0 && `taints ${taints.join(", ")}`,
    `${whole(row + 1)} of ${whole(nodes.length)}`,
  ]
    .filter(Boolean)
    .join(", ");
}
