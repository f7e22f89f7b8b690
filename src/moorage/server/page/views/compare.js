/** A second configuration beside the first: which placements would change. */

import * as api from "../core/api.js";
import { fill, freshId, make } from "../core/dom.js";
import { counted, whole } from "../core/text.js";
import { nodeLink, podLinkByKey } from "../widgets/chips.js";
import { button } from "../widgets/controls.js";
import { empty, failed, isAborted, waiting } from "../widgets/notice.js";
import { Table } from "../widgets/table.js";

/** @import { Comparison } from "../core/documents.js" */

const EXAMPLE = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: MostAllocated
        resources:
        - name: cpu
          weight: 1
        - name: memory
          weight: 1
`;

export class CompareView {
  title = "Compare";
  #asking = new AbortController();

  constructor() {
    const id = freshId();
    this.text = make("textarea", {
      id,
      rows: 18,
      spellcheck: "false",
      wrap: "off",
      autocapitalize: "off",
      autocomplete: "off",
      placeholder: "kind: KubeSchedulerConfiguration",
    });
    this.result = make(
      "div",
      { "aria-live": "polite" },
      empty(
        "Nothing was compared yet.",
        "Waiting pods and the newest placed ones are decided with both configurations, on the same state.",
      ),
    );
    const submit = (/** @type {SubmitEvent} */ event) => {
      event.preventDefault();
      void this.#run();
    };
    const example = button("Fill in an example: pack nodes full", () => (this.text.value = EXAMPLE));
    this.element = make(
      "section",
      {},
      make("h1", {}, "Compare configurations"),
      make(
        "div",
        { class: "halves" },
        make(
          "form",
          { class: "panel", onsubmit: submit },
          make(
            "div",
            { class: "field grow" },
            make("label", { for: id }, "The other configuration, as YAML"),
            this.text,
          ),
          make(
            "div",
            { class: "row" },
            make("button", { type: "submit", class: "primary" }, "Which placements change?"),
            example,
          ),
        ),
        this.result,
      ),
    );
  }

  show() {}

  hide() {}

  async #run() {
    this.#asking.abort();
    const { signal } = (this.#asking = new AbortController());
    if (!this.text.value.trim())
      return fill(
        this.result,
        empty("There is no configuration to compare with.", "Paste one, or fill in the example."),
      );
    fill(this.result, waiting("Deciding with both…"));
    try {
      showComparison(this.result, await api.compare(this.text.value, signal));
    } catch (error) {
      if (!isAborted(error)) fill(this.result, failed(error));
    }
  }
}

/**
 * @param {HTMLElement} place
 * @param {Comparison} comparison
 */
function showComparison(place, { pods, same, changes }) {
  /** @type {Table<Comparison["changes"][number]>} */
  const table = new Table({
    label: "Placements that change",
    key: (change) => change.pod,
    sorted: [0, false],
    columns: [
      { label: "Pod", cell: (change) => podLinkByKey(change.pod), value: (change) => change.pod },
      {
        label: "Now",
        class: "tight",
        cell: (change) => where(change.now, change.nowScore),
        value: (change) => change.now ?? "",
      },
      {
        label: "Then",
        class: "tight",
        cell: (change) => where(change.then, change.thenScore),
        value: (change) => change.then ?? "",
      },
      {
        label: "Why",
        cell: (change) => change.why || "",
        value: (change) => change.why || "",
        class: "wide",
      },
    ],
  });
  table.show(changes);
  fill(
    place,
    make(
      "section",
      { class: "panel" },
      make(
        "h2",
        { class: "verdict" },
        pods === 0
          ? "There is no pod to decide on."
          : changes.length
            ? `${whole(changes.length)} of ${counted(pods, "placement")} would change.`
            : `None of ${counted(pods, "placement")} would change.`,
      ),
      changes.length > 0 && make("p", { class: "hint" }, `${whole(same)} stay as they are.`),
      changes.length > 0 && table.element,
    ),
  );
}

/**
 * @param {string | null} node
 * @param {number | null} score
 */
function where(node, score) {
  if (!node) return make("span", { class: "quiet" }, "fits nowhere");
  return [
    nodeLink(node),
    score !== null && score !== undefined && make("span", { class: "quiet" }, ` ${whole(score)}`),
  ];
}
