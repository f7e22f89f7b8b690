/** What the colours mean, and how many nodes have each of them. */

import { fill, make, say } from "../core/dom.js";
import { counted, whole } from "../core/text.js";
import * as theme from "../core/theme.js";
import { amount, percent } from "../core/units.js";
import { colours } from "./scale.js";

/** @import { NodeColumns } from "../core/nodes.js" */

const BARS = 20;

export class Legend {
  constructor() {
    this.title = make("h2");
    this.sum = make("p", { class: "legend-sum" });
    this.bars = Array.from({ length: BARS }, () => make("div", { class: "legend-bar" }, make("i")));
    this.marks = make("ul", { class: "legend-marks" });
    this.element = make(
      "aside",
      { class: "legend", "aria-label": "Legend" },
      this.title,
      this.sum,
      make("div", { class: "legend-bars", "aria-hidden": "true" }, this.bars),
      make(
        "p",
        { class: "legend-ends" },
        make("span", {}, "0\u00a0%"),
        make("span", {}, "how many nodes"),
        make("span", {}, "100\u00a0%"),
      ),
      this.marks,
    );
  }

  /**
   * @param {NodeColumns} nodes
   * @param {string} resource
   */
  show(nodes, resource) {
    const { allocatable, requested } = nodes.total(resource);
    say(this.title, `${resource} requested`);
    say(
      this.sum,
      `${percent(requested / allocatable)}: ${amount(resource, requested)} of ${amount(resource, allocatable)}`,
    );
    const counts = new Array(BARS).fill(0);
    let [none, full, cordoned, tainted] = [0, 0, 0, 0];
    for (let row = 0; row < nodes.length; row += 1) {
      const share = nodes.share(resource, row);
      if (Number.isNaN(share)) none += 1;
      else counts[Math.max(0, Math.min(BARS - 1, Math.floor(share * BARS)))] += 1;
      if (share >= 1) full += 1;
      if (nodes.unschedulable[row]) cordoned += 1;
      else if (nodes.taints[row]?.length) tainted += 1;
    }
    this.#showBars(counts);
    const marks = [
      ["full", "■", `${counted(full, "node")} full`],
      ["cordoned", "✕", `${whole(cordoned)} cordoned`],
      ["tainted", "◥", `${whole(tainted)} tainted`],
    ];
    if (none) marks.push(["none", "■", `${whole(none)} without ${resource}`]);
    fill(
      this.marks,
      marks.map(([kind, sign, text]) =>
        make("li", {}, make("span", { class: `sign-${kind}`, "aria-hidden": "true" }, sign), ` ${text}`),
      ),
    );
  }

  /** @param {number[]} counts */
  #showBars(counts) {
    const inks = colours(theme.isDark());
    const most = Math.max(1, ...counts);
    this.bars.forEach((bar, place) => {
      const [count, fillBar] = [counts[place] ?? 0, /** @type {HTMLElement} */ (bar.firstElementChild)];
      fillBar.style.height = `${count ? Math.max(4, (count / most) * 100) : 0}%`;
      const ink = inks[Math.round(((place + 0.5) / BARS) * 255)] ?? "";
      fillBar.style.background = ink;
      bar.style.borderBottomColor = ink;
    });
  }
}
