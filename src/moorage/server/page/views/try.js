/** Try a pod: would it fit? Why not? What helps? Nothing of the cluster is touched. */

import * as api from "../core/api.js";
import { fill, freshId, make } from "../core/dom.js";
import { counted } from "../core/text.js";
import { adviceList } from "../widgets/advice.js";
import { nodeLink, podLinkByKey } from "../widgets/chips.js";
import { field } from "../widgets/controls.js";
import { Matrix } from "../widgets/matrix.js";
import { empty, failed, isAborted, waiting } from "../widgets/notice.js";
import { pageOf, rowsOf } from "./trial_rows.js";
import { bodyFor } from "./trial_body.js";

/** @import { Trial } from "../core/documents.js" */
/** @import { Route } from "../core/router.js" */

/** What the words say of advice, which has a place of its own here. */
const ADVICE = /^It would (fit|preempt others) if: /;

const EXAMPLE = `apiVersion: v1
kind: Pod
metadata:
  name: tried
spec:
  containers:
  - name: app
    image: app
    resources:
      requests:
        cpu: "1"
        memory: 1Gi
`;

export class TryView {
  title = "Try a pod";
  #asking = new AbortController();

  constructor() {
    const id = freshId();
    this.text = make("textarea", {
      id,
      rows: 14,
      spellcheck: "false",
      wrap: "off",
      autocapitalize: "off",
      autocomplete: "off",
    });
    this.text.value = EXAMPLE;
    this.fields = {
      pod: field("A pod that is there", {
        placeholder: "namespace/name",
        hint: "Instead of the text: tried as if it had no node.",
      }),
      cpu: field("cpu", { placeholder: "500m" }),
      memory: field("memory", { placeholder: "1Gi" }),
      selector: field("Node selector", { placeholder: "disk=ssd, zone=a" }),
      tolerations: field("Tolerations", { placeholder: "gpu=true:NoSchedule" }),
    };
    this.textField = make(
      "div",
      { class: "field grow" },
      make("label", { for: id }, "Pod, as YAML or JSON"),
      this.text,
    );
    this.fields.pod.control.addEventListener("input", () => this.#showWhich());
    this.result = make("div", { class: "trial", "aria-live": "polite" });
    const submit = (/** @type {SubmitEvent} */ event) => {
      event.preventDefault();
      void this.#run();
    };
    const { pod, cpu, memory, selector, tolerations } = this.fields;
    this.element = make(
      "section",
      { class: "try-view" },
      make("h1", {}, "Try a pod"),
      make(
        "div",
        { class: "halves" },
        make(
          "form",
          { class: "panel try-form", onsubmit: submit },
          this.textField,
          pod.element,
          make(
            "fieldset",
            { class: "quick" },
            make("legend", {}, "Changed to"),
            cpu.element,
            memory.element,
            selector.element,
            tolerations.element,
          ),
          make("button", { type: "submit", class: "primary" }, "Would it fit?"),
          make("p", { class: "hint" }, "It is tried on a copy of the scheduler's state. Nothing is created."),
        ),
        this.result,
      ),
    );
    this.#showNothing();
  }

  /** @param {Route} route */
  show(route) {
    const pod = route.query.get("pod");
    if (pod !== null && pod !== this.fields.pod.control.value) {
      this.fields.pod.control.value = pod;
      this.#showNothing();
    }
    this.#showWhich();
  }

  hide() {}

  #showNothing() {
    fill(
      this.result,
      empty("Nothing was tried yet.", "Write a pod, or name one, and ask whether it would fit."),
    );
  }

  #showWhich() {
    const isNamed = this.fields.pod.control.value.trim() !== "";
    this.text.disabled = isNamed;
    this.textField.classList.toggle("unused", isNamed);
  }

  async #run() {
    this.#asking.abort();
    const { signal } = (this.#asking = new AbortController());
    fill(this.result, waiting("Trying it on the cluster's state…"));
    try {
      const value = (/** @type {keyof TryView["fields"]} */ key) => this.fields[key].control.value.trim();
      const body = bodyFor({
        text: this.text.value,
        pod: value("pod"),
        cpu: value("cpu"),
        memory: value("memory"),
        selector: value("selector"),
        tolerations: value("tolerations"),
      });
      showTrial(this.result, await api.tryPod(body, signal));
    } catch (error) {
      if (!isAborted(error))
        fill(this.result, failed(error instanceof TypeError ? new api.Refused(400, error.message) : error));
    }
  }
}

/**
 * @param {HTMLElement} place
 * @param {Trial} trial
 */
function showTrial(place, trial) {
  const rows = rowsOf(trial);
  const matrix = new Matrix(async (asked) => pageOf(rows, asked));
  fill(
    place,
    make(
      "section",
      { class: "panel" },
      verdict(trial),
      trial.words.filter((line) => !ADVICE.test(line)).map((line) => make("p", {}, line)),
      trial.message && make("p", { class: "message" }, trial.message),
    ),
    trial.advice &&
      trial.feasible.length === 0 &&
      make(
        "section",
        { class: "panel" },
        make("h2", {}, "What would help"),
        trial.advice.length ? adviceList(trial.advice) : empty("No single change that was tried helps."),
      ),
    rows.rows.length > 0 && make("section", { class: "panel" }, make("h2", {}, "Every node"), matrix.element),
  );
  void matrix.open();
}

/** @param {Trial} trial */
function verdict({ feasible, best = [], postFilter, preEnqueue }) {
  if (feasible.length) {
    return make(
      "h2",
      { class: "verdict yes" },
      `It fits, on ${counted(feasible.length, "node")}. `,
      best.length > 0 &&
        make(
          "span",
          { class: "verdict-more" },
          best.length === 1 ? "Best: " : "Best, alike: ",
          list(best.slice(0, 5)),
          best.length > 5 && ` and ${best.length - 5} more`,
        ),
    );
  }
  if (preEnqueue)
    return make("h2", { class: "verdict no" }, `It would not be tried: ${preEnqueue.plugin} holds it back.`);
  const nominated = postFilter?.nominatedNodes ?? [];
  if (nominated.length) {
    const victims = postFilter?.victims ?? [];
    return make(
      "h2",
      { class: "verdict maybe" },
      "It fits nowhere now; preemption would make room on ",
      list(nominated.slice(0, 5)),
      victims.length > 0 &&
        [
          ": ",
          ...victims.flatMap((victim, place) => [place ? ", " : "", podLinkByKey(victim)]),
          " would go",
        ].flat(),
      ".",
    );
  }
  return make("h2", { class: "verdict no" }, "It fits nowhere.");
}

/** @param {string[]} nodes */
function list(nodes) {
  return make(
    "span",
    {},
    nodes.flatMap((node, place) => [place ? ", " : "", nodeLink(node)]),
  );
}
