/** The decisions as they are made, newest first. */

import * as api from "../core/api.js";
import { fill, make, say, settled } from "../core/dom.js";
import { address, note, toDecision } from "../core/router.js";
import { counted, whole } from "../core/text.js";
import { timeOfDay, took } from "../core/units.js";
import { OUTCOMES, decisionLink, nodeLink, outcomeChip, podLink } from "../widgets/chips.js";
import { button, choice, field } from "../widgets/controls.js";
import { empty, failed, isAborted } from "../widgets/notice.js";
import { Table } from "../widgets/table.js";

/** @import { Attempt } from "../core/documents.js" */
/** @import { Live } from "../core/live.js" */
/** @import { Route } from "../core/router.js" */

const PAGE = 100;

/** @typedef {{ outcome: string, pod: string, node: string, plugin: string }} Filter */

export class DecisionsView {
  title = "Decisions";
  /** @type {Filter} */
  filter = { outcome: "", pod: "", node: "", plugin: "" };
  /** @type {Attempt[]} newest first */
  #items = [];
  /** @type {Attempt[]} those that came while the list was held */
  #held = [];
  #isShown = false;
  #isPaused = false;
  #isTouched = false;
  #next = /** @type {string | undefined} */ (undefined);
  #hasOlder = false;
  #asking = new AbortController();
  #drawing = 0;

  /** @param {Live} live */
  constructor(live) {
    this.live = live;
    /** @type {[string, string][]} */
    const outcomes = Object.entries(OUTCOMES).map(([name, [, word]]) => [name, word]);
    this.outcome = choice("Outcome", [["", "all"], ...outcomes], "", (outcome) => this.#ask({ outcome }));
    const text = (
      /** @type {"pod" | "node" | "plugin"} */ key,
      /** @type {string} */ label,
      /** @type {string} */ placeholder,
    ) =>
      field(label, {
        type: key === "pod" ? "search" : "text",
        placeholder,
        input: settled(250, (value) => this.#ask({ [key]: value.trim() })),
      });
    this.fields = {
      pod: text("pod", "Pod", "namespace/name"),
      node: text("node", "Node", "name"),
      plugin: text("plugin", "Rejected by", "plugin"),
    };
    this.pauser = make(
      "button",
      { type: "button", "aria-pressed": "false", onclick: () => this.#pause(!this.#isPaused) },
      "Pause",
    );
    this.status = make("p", { class: "hint", role: "status" });
    this.place = make("div");
    this.table = makeTable();
    this.older = button("Older", () => void this.#loadOlder());
    this.list = make("div", {}, this.table.element);
    this.element = make(
      "section",
      {},
      make("div", { class: "view-head" }, make("h1", {}, "Decisions"), this.status),
      make(
        "div",
        { class: "bar" },
        this.outcome.element,
        this.fields.pod.element,
        this.fields.node.element,
        this.fields.plugin.element,
        this.pauser,
      ),
      this.place,
      this.list,
      make("p", {}, this.older),
    );
    this.#holdWhileTouched();
    live.on("attempts", (attempts) => this.#take(attempts));
    live.on("outcomes", () => this.#drawSoon());
  }

  /** Rows stay where they are while somebody points at them or walks through them. */
  #holdWhileTouched() {
    const hold = (/** @type {boolean} */ isTouched) => {
      this.#isTouched = isTouched;
      this.#drawSoon();
    };
    this.list.addEventListener("pointerenter", () => hold(true));
    this.list.addEventListener("pointerleave", () => hold(this.list.contains(document.activeElement)));
    this.list.addEventListener("focusin", () => hold(true));
    this.list.addEventListener("focusout", () => hold(this.list.matches(":hover")));
  }

  /** @param {Route} route */
  show(route) {
    this.#isShown = true;
    this.#isTouched = false;
    const given = (/** @type {string} */ key) => route.query.get(key) ?? "";
    this.filter = {
      outcome: given("outcome"),
      pod: given("pod"),
      node: given("node"),
      plugin: given("plugin"),
    };
    this.outcome.control.value = this.filter.outcome;
    for (const key of /** @type {const} */ (["pod", "node", "plugin"]))
      this.fields[key].control.value = this.filter[key];
    void this.#load();
  }

  hide() {
    this.#isShown = false;
    this.#asking.abort();
  }

  /** @param {Partial<Filter>} changed */
  #ask(changed) {
    this.filter = { ...this.filter, ...changed };
    note(address("decisions", [], this.filter));
    void this.#load();
  }

  async #load() {
    this.#asking.abort();
    const { signal } = (this.#asking = new AbortController());
    try {
      const page = await api.attempts({ ...this.filter, limit: PAGE }, signal);
      this.#items = page.attempts;
      this.#held = [];
      this.#next = page.continue;
      this.#hasOlder = Boolean(this.#next);
      fill(this.place);
      this.#draw();
    } catch (error) {
      if (!isAborted(error)) fill(this.place, failed(error));
    }
  }

  /** Stops the list, for what it shows has to join what comes before. */
  async #loadOlder() {
    try {
      const wasLive = !this.#isPaused;
      this.#pause(true);
      if (wasLive) await this.#load();
      if (!this.#next) return;
      const page = await api.attempts(
        { ...this.filter, limit: PAGE, continue: this.#next },
        this.#asking.signal,
      );
      this.#items = this.#items.concat(page.attempts);
      this.#next = page.continue;
      this.#hasOlder = Boolean(this.#next);
      this.#draw();
    } catch (error) {
      if (!isAborted(error)) fill(this.place, failed(error));
    }
  }

  /** @param {boolean} isPaused */
  #pause(isPaused) {
    this.#isPaused = isPaused;
    this.pauser.setAttribute("aria-pressed", String(isPaused));
    say(this.pauser, isPaused ? "Go on" : "Pause");
    this.#drawSoon();
  }

  /** @param {Attempt[]} attempts */
  #take(attempts) {
    if (!this.#isShown) return;
    const wanted = attempts.filter((attempt) => fits(attempt, this.filter));
    this.#held = [...wanted.reverse(), ...this.#held].slice(0, PAGE * 10);
    if (wanted.length) this.#drawSoon();
  }

  /** Draws three times a second at most: nobody reads faster. */
  #drawSoon() {
    if (this.#drawing || !this.#isShown) return;
    this.#drawing = setTimeout(() => {
      this.#drawing = 0;
      if (this.#isShown) this.#draw();
    }, 330);
  }

  #draw() {
    if (!this.#isPaused && !this.#isTouched && this.#held.length) {
      const newest = this.#items[0]?.number ?? 0;
      this.#items = [...this.#held.filter((attempt) => attempt.number > newest), ...this.#items].slice(
        0,
        PAGE,
      );
      this.#held = [];
      this.#hasOlder ||= this.#items.length === PAGE;
    }
    this.table.show(this.#items);
    this.table.element.hidden = this.#items.length === 0;
    this.older.hidden = !this.#hasOlder;
    fill(this.place, this.#items.length === 0 && this.#nothing());
    this.#tellStatus();
  }

  #tellStatus() {
    const rate = this.live.summary?.rates.attemptsPerSecond ?? 0;
    if (this.#held.length && this.#isPaused)
      say(this.status, `Paused; ${counted(this.#held.length, "new one", "new ones")} since`);
    else if (this.#held.length) say(this.status, `Held while you look; ${whole(this.#held.length)} new`);
    else
      say(
        this.status,
        this.#isPaused ? "Paused" : `Live, ${rate < 10 ? rate.toFixed(1) : whole(rate)} a second`,
      );
  }

  #nothing() {
    const isFiltered = Object.values(this.filter).some(Boolean);
    return isFiltered
      ? empty(
          "No decision is like that.",
          "The log may not reach back so far; or ",
          make("a", { href: address("decisions") }, "show all"),
          ".",
        )
      : empty(
          "Nothing was decided yet.",
          "Create a pod: ",
          make("code", {}, "kubectl create deployment web --image=web --replicas=3"),
        );
  }
}

/**
 * Whether the filter of the server would let an attempt through.
 * @param {Attempt} attempt
 * @param {Filter} filter
 */
function fits(attempt, { outcome, pod, node, plugin }) {
  return (
    (!outcome || attempt.outcome === outcome) &&
    (!pod || `${attempt.pod.namespace}/${attempt.pod.name}` === pod) &&
    (!node || attempt.node === node) &&
    (!plugin || attempt.plugins.includes(plugin))
  );
}

/** @returns {Table<Attempt>} */
function makeTable() {
  return new Table({
    label: "Decisions, newest first",
    key: (item) => String(item.number),
    open: (item) => toDecision(item.number),
    columns: [
      { label: "Decision", cell: (item) => decisionLink(item.number), numeric: true },
      { label: "Time", cell: (item) => timeOfDay(item.time), numeric: true },
      { label: "Outcome", cell: (item) => outcomeChip(item.outcome) },
      { label: "Pod", cell: (item) => podLink(item.pod) },
      { label: "Node", cell: (item) => (item.node ? nodeLink(item.node) : "") },
      {
        label: "Score",
        cell: (item) => (item.score === null || item.score === undefined ? "" : whole(item.score)),
        numeric: true,
      },
      { label: "Fit", cell: (item) => `${whole(item.feasible)} / ${whole(item.lookedAt)}`, numeric: true },
      { label: "Took", cell: (item) => took(item.seconds), numeric: true },
      { label: "Why", cell: (item) => item.after?.message || item.message, class: "wide clip" },
    ],
  });
}
