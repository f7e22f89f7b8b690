/** One decision: in words, what each plugin said, and the matrix of nodes and plugins. */

import * as api from "../core/api.js";
import { breakable, fill, make } from "../core/dom.js";
import { address, note, toPod } from "../core/router.js";
import { whole } from "../core/text.js";
import { dateAndTime, short, timeOfDay, took } from "../core/units.js";
import { nodeLink, outcomeChip, podLink, podLinkByKey } from "../widgets/chips.js";
import { Matrix } from "../widgets/matrix.js";
import { failed, isAborted, waiting } from "../widgets/notice.js";
import { wordsFor } from "./decision_words.js";

/** @import { Decision } from "../core/documents.js" */
/** @import { Route } from "../core/router.js" */
/** @import { Asked } from "../widgets/matrix.js" */

export class DecisionView {
  title = "Decision";
  number = 0;
  #asking = new AbortController();

  constructor() {
    this.head = make("div");
    this.matrix = new Matrix(
      (asked, next, signal) =>
        api.matrix(
          this.number,
          {
            sort: asked.sort,
            order: asked.order,
            search: asked.search,
            only: asked.only,
            limit: 200,
            continue: next,
          },
          signal,
        ),
      (asked) => note(address("decisions", [this.number], changed(asked))),
    );
    this.nodes = make("section", { class: "panel" }, make("h2", {}, "Every node"), this.matrix.element);
    this.element = make("article", { class: "decision" }, this.head, this.nodes);
  }

  /** @param {Route} route */
  show(route) {
    const number = Number(route.parts[0]);
    this.title = `Decision ${route.parts[0]}`;
    const isOther = number !== this.number;
    this.number = number;
    const given = (/** @type {string} */ key, /** @type {string} */ otherwise) =>
      route.query.get(key) ?? otherwise;
    const order = given("order", "desc") === "asc" ? "asc" : "desc";
    if (isOther) {
      fill(this.head, waiting("Reading…"));
      this.nodes.hidden = true;
    }
    void this.#load({
      sort: given("sort", "total"),
      order,
      search: given("search", ""),
      only: given("only", ""),
      show: given("show", "weighted"),
    });
  }

  hide() {
    this.#asking.abort();
  }

  /** @param {Asked} asked */
  async #load(asked) {
    this.#asking.abort();
    const { signal } = (this.#asking = new AbortController());
    try {
      const decision = await api.decision(this.number, signal);
      fill(this.head, heading(decision), summary(decision));
      this.nodes.hidden = false;
      await this.matrix.open(asked);
    } catch (error) {
      if (!isAborted(error)) {
        this.nodes.hidden = true;
        fill(this.head, make("h1", {}, `Decision #${this.number}`), failed(error));
      }
    }
  }
}

/**
 * What differs from what is shown at first.
 * @param {Asked} asked
 */
function changed({ sort, order, search, only, show }) {
  return {
    sort: sort === "total" ? "" : sort,
    order: order === "desc" ? "" : order,
    search,
    only,
    show: show === "weighted" ? "" : show,
  };
}

/** @param {Decision} decision */
function heading(decision) {
  const { number, time, pod, profile, outcome, node } = decision;
  const neighbours = make(
    "nav",
    { class: "neighbours", "aria-label": "Neighbouring decisions" },
    make("a", { href: address("decisions", [number - 1]), class: "button" }, "← Earlier"),
    make("a", { href: address("decisions", [number + 1]), class: "button" }, "Later →"),
  );
  return make(
    "div",
    { class: "view-head" },
    make(
      "div",
      {},
      make("h1", {}, podLink(pod), node && [" → ", nodeLink(node)].flat(), " ", outcomeChip(outcome)),
      make(
        "p",
        { class: "hint" },
        `Decision #${number} at `,
        make("time", { title: dateAndTime(time) }, timeOfDay(time)),
        `, ${took(decision.seconds)}, by ${profile}. `,
        make("a", { href: toPod(pod) }, "The pod's story"),
      ),
    ),
    neighbours,
  );
}

/** @param {Decision} decision */
function summary(decision) {
  return make(
    "div",
    { class: "decision-parts" },
    make(
      "section",
      { class: "panel words" },
      make("h2", {}, "In words"),
      wordsFor(decision).map((sentence) => make("p", {}, sentence)),
      decision.message && make("p", { class: "message" }, decision.message),
    ),
    decision.filters.some((each) => each.rejected) && filters(decision),
    decision.scores.some((each) => each.chosen !== null) && scores(decision),
    decision.preemption && decision.preemption.candidates.length > 0 && preemption(decision.preemption),
    decision.took.length > 0 && times(decision),
  );
}

/** @param {Decision} decision */
function filters({ filters, lookedAt }) {
  const rejecting = filters.filter((each) => each.rejected > 0).sort((a, b) => b.rejected - a.rejected);
  const passing = filters.filter((each) => each.rejected === 0 && !each.skipped);
  return make(
    "section",
    { class: "panel" },
    make("h2", {}, "Who rejected nodes"),
    rejecting.map(({ plugin, rejected, reasons }) =>
      make(
        "div",
        { class: "rejecting" },
        make(
          "p",
          { class: "rejecting-name" },
          make("b", {}, plugin),
          make("span", { class: "number" }, `${whole(rejected)} of ${whole(lookedAt)}`),
        ),
        bar(rejected / Math.max(1, lookedAt)),
        make(
          "ul",
          { class: "reasons" },
          Object.entries(reasons).map(([reason, count]) =>
            make("li", {}, make("span", {}, reason), make("span", { class: "number" }, whole(count))),
          ),
        ),
      ),
    ),
    passing.length > 0 &&
      make("p", { class: "hint" }, `No objection: ${passing.map((each) => each.plugin).join(", ")}.`),
  );
}

/** @param {Decision} decision */
function scores({ scores, extenders, score, second }) {
  const row = (
    /** @type {string} */ name,
    /** @type {number | string} */ weight,
    /** @type {number | null} */ chosen,
    /** @type {string} */ range,
  ) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, breakable(name)),
      make("td", { class: "number" }, weight),
      make("td", { class: "number" }, chosen === null ? "–" : whole(chosen)),
      make("td", { class: "number quiet" }, range),
    );
  const head = ["Plugin", "Weight", "Chosen", "Worst to best"].map((word, place) =>
    make("th", { scope: "col", class: place ? "number" : null }, word),
  );
  return make(
    "section",
    { class: "panel" },
    make("h2", {}, "What counted"),
    make(
      "table",
      { class: "small-table" },
      make("thead", {}, make("tr", {}, head)),
      make(
        "tbody",
        {},
        scores.map((each) =>
          each.skipped
            ? row(each.plugin, short(each.weight), null, "skipped")
            : row(
                each.plugin,
                short(each.weight),
                each.chosen,
                each.worst === null || each.best === null
                  ? ""
                  : `${whole(each.worst)} to ${whole(each.best)}`,
              ),
        ),
        extenders.map((each) => row(each.name, "", each.chosen, "")),
      ),
    ),
    second &&
      make(
        "p",
        { class: "hint" },
        "Second: ",
        nodeLink(second.node),
        ` with ${whole(second.score)}${score === null ? "" : ` of ${whole(score)}`}.`,
      ),
  );
}

/** @param {NonNullable<Decision["preemption"]>} preemption */
function preemption({ candidates, nominated }) {
  return make(
    "section",
    { class: "panel" },
    make("h2", {}, "Preemption"),
    make(
      "ul",
      { class: "candidates" },
      candidates.slice(0, 20).map(({ node, victims, pdbViolations }) =>
        make(
          "li",
          {},
          nodeLink(node),
          node === nominated && make("span", { class: "chip chosen-chip" }, "nominated"),
          ": ",
          victims.flatMap((victim, place) => [place ? ", " : "", podLinkByKey(victim)]),
          pdbViolations > 0 &&
            make("span", { class: "quiet" }, ` (breaks ${pdbViolations} disruption budgets)`),
        ),
      ),
    ),
    candidates.length > 20 && make("p", { class: "hint" }, `and ${whole(candidates.length - 20)} more`),
  );
}

/** @param {Decision} decision */
function times({ took: parts }) {
  const most = Math.max(...parts.map((part) => part.seconds), 1e-9);
  const sorted = [...parts].sort((a, b) => b.seconds - a.seconds).slice(0, 12);
  return make(
    "section",
    { class: "panel" },
    make("h2", {}, "What took how long"),
    make(
      "ul",
      { class: "times" },
      sorted.map((part) =>
        make(
          "li",
          {},
          make("span", {}, part.plugin ? `${part.point} · ${part.plugin}` : part.point),
          bar(part.seconds / most),
          make("span", { class: "number" }, took(part.seconds)),
        ),
      ),
    ),
  );
}

/**
 * A share as a bar.
 * @param {number} share
 */
function bar(share) {
  const inner = make("i");
  inner.style.width = `${Math.max(1, Math.min(100, share * 100))}%`;
  return make("span", { class: "share", "aria-hidden": "true" }, inner);
}
