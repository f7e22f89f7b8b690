/** The pods that wait: grouped by cause, or one by one. */

import * as api from "../core/api.js";
import { ageElement } from "../core/clock.js";
import { fill, make, say, settled } from "../core/dom.js";
import { Polling } from "../core/polling.js";
import { address, note } from "../core/router.js";
import { counted } from "../core/text.js";
import { suggestion } from "../widgets/advice.js";
import { PLACES, decisionLink, placeChip, podLink, podLinkByKey, tags } from "../widgets/chips.js";
import { button, choice, field, oneOf } from "../widgets/controls.js";
import { empty, failed, waiting } from "../widgets/notice.js";
import { Table } from "../widgets/table.js";

/** @import { Pending, PendingGroup, Queue, Waiting } from "../core/documents.js" */
/** @import { Live } from "../core/live.js" */
/** @import { Route } from "../core/router.js" */

const MOST = 300;

export class QueueView {
  title = "Queue";
  by = "cause";
  where = "";
  search = "";
  advise = false;
  /** @type {Pending | null} */
  #pending = null;
  #seen = "";

  /** @param {Live} live */
  constructor(live) {
    this.live = live;
    this.mode = oneOf(
      "Show",
      [
        ["cause", "By cause"],
        ["pod", "Pod by pod"],
      ],
      this.by,
      (by) => this.#ask({ by }),
    );
    this.places = choice("Where", [["", "anywhere"], ...Object.entries(PLACES)], "", (where) =>
      this.#ask({ where }),
    );
    this.text = field("Search", {
      type: "search",
      placeholder: "pod, reason or plugin",
      input: settled(200, (search) => this.#ask({ search })),
    });
    this.adviser = button("What would help?", () => this.#ask({ advise: true }), "primary");
    this.count = make("p", { class: "hint", role: "status" });
    this.causes = make("div", { class: "causes" });
    this.table = makeTable();
    this.place = make("div");
    this.element = make(
      "section",
      {},
      make("div", { class: "view-head" }, make("h1", {}, "Waiting pods"), this.count),
      make("div", { class: "bar" }, this.mode.element, this.places.element, this.text.element, this.adviser),
      this.place,
      this.causes,
      this.table.element,
    );
    this.polling = new Polling(
      2,
      (signal) => this.#load(signal),
      (error) => fill(this.place, failed(error)),
    );
  }

  /** @param {Route} route */
  show(route) {
    this.by = route.query.get("by") === "pod" ? "pod" : "cause";
    this.where = route.query.get("where") ?? "";
    this.search = route.query.get("search") ?? "";
    this.advise = false;
    this.text.control.value = this.search;
    this.places.control.value = this.where;
    this.mode.set(this.by);
    this.#restart();
  }

  hide() {
    this.polling.stop();
  }

  /** @param {{ by?: string, where?: string, search?: string, advise?: boolean }} asked */
  #ask({ by = this.by, where = this.where, search = this.search, advise = this.advise }) {
    [this.by, this.where, this.search, this.advise] = [by, where, search.trim(), advise];
    note(address("queue", [], { by: by === "pod" ? by : "", where, search }));
    this.#restart();
  }

  #restart() {
    const isByPod = this.by === "pod";
    this.places.element.hidden = !isByPod;
    this.adviser.hidden = isByPod;
    this.causes.hidden = isByPod;
    this.table.element.hidden = true;
    this.#seen = "";
    if (this.advise && !isByPod) fill(this.place, waiting("Trying out what would help…"));
    this.polling.start();
  }

  /** @param {AbortSignal} signal */
  async #load(signal) {
    if (this.by === "pod")
      return this.#showPods(await api.queue({ where: this.where, search: this.search, limit: MOST }, signal));
    this.#showCauses(await api.pending(this.advise, signal));
    if (this.advise) this.polling.stop(); // advice is read, not watched: it would move under the reader's eyes
  }

  /** @param {Queue} queue */
  #showPods({ counts, pods, continue: more }) {
    const all = counts.active + counts.backoff + counts.unschedulable + counts.gated;
    const shown =
      this.search || this.where ? `${counted(pods.length, "pod")} of ${all}` : counted(all, "pod");
    say(this.count, more ? `The first ${pods.length} of ${all} pods; search for others.` : shown);
    this.table.element.hidden = pods.length === 0;
    this.table.show(pods);
    fill(
      this.place,
      pods.length === 0 &&
        (all
          ? empty("No waiting pod is like that.", "Search for something else, or look anywhere.")
          : nothing()),
    );
  }

  /** @param {Pending} pending */
  #showCauses(pending) {
    say(
      this.count,
      pending.pods ? `${counted(pending.pods, "pod")}, ${counted(pending.groups.length, "cause")}` : "",
    );
    const text = this.search.toLowerCase();
    const groups = pending.groups.filter(
      (group) => !text || JSON.stringify(group).toLowerCase().includes(text),
    );
    const seen = JSON.stringify([groups, pending.best]);
    if (seen === this.#seen) return;
    const open = new Set(
      [...this.causes.querySelectorAll("details[open]")].map((each) => each.getAttribute("data-key")),
    );
    if (this.causes.contains(document.activeElement) && this.#pending) return; // not under the reader's hands
    this.#seen = seen;
    this.#pending = pending;
    const none = pending.pods ? empty("No cause has that in it.", "Search for something else.") : nothing();
    fill(this.place, groups.length === 0 && none);
    fill(
      this.causes,
      pending.best && best(pending.best),
      groups.map((group) => cause(group, open.has(group.cause))),
    );
    if (this.advise && pending.pods && !pending.best && !pending.groups.some((group) => group.advice)) {
      fill(
        this.place,
        empty("No single change would help.", "Look at a pod's story for what stands in its way."),
      );
    }
  }
}

function nothing() {
  return empty(
    "No pods wait.",
    "Everything has its place. ",
    make("a", { href: address("try") }, "Try a pod"),
    " to see where the next one would go.",
  );
}

/** @param {NonNullable<Pending["best"]>} given */
function best({ suggestion: change, frees, pods }) {
  return make(
    "section",
    { class: "panel best" },
    make("h2", {}, `One change that would free ${counted(frees, "pod")}`),
    suggestion(change),
    podList(pods, frees),
  );
}

/**
 * @param {PendingGroup} group
 * @param {boolean} isOpen
 */
function cause(group, isOpen) {
  return make(
    "article",
    { class: "panel cause" },
    make(
      "div",
      { class: "cause-count" },
      make("b", {}, group.count),
      make("span", {}, group.count === 1 ? "pod" : "pods"),
    ),
    make(
      "div",
      { class: "cause-body" },
      make("h2", {}, group.cause || "Not tried yet"),
      make(
        "dl",
        { class: "facts" },
        fact("Oldest", ageElement(group.oldest)),
        fact("Tries", group.tries),
        group.plugins.length > 0 && fact("Rejected by", tags(group.plugins)),
        group.waitsFor.length > 0 && fact("Waits for", tags(group.waitsFor, 4)),
      ),
      group.message && group.message !== group.cause && make("p", { class: "message" }, group.message),
      make(
        "details",
        { open: isOpen, "data-key": group.cause },
        make("summary", {}, "Pods"),
        podList(group.pods, group.count),
      ),
      group.advice && suggestion(group.advice),
    ),
  );
}

/**
 * @param {string} name
 * @param {Node | number} value
 */
function fact(name, value) {
  return make("div", {}, make("dt", {}, name), make("dd", {}, value));
}

/**
 * @param {string[]} pods
 * @param {number} count
 */
function podList(pods, count) {
  return make(
    "ul",
    { class: "pod-list" },
    pods.map((pod) => make("li", {}, podLinkByKey(pod))),
    count > pods.length && make("li", { class: "quiet" }, `and ${count - pods.length} more`),
  );
}

/** @returns {Table<Waiting>} */
function makeTable() {
  return new Table({
    label: "Waiting pods",
    key: (item) => item.pod.uid || `${item.pod.namespace}/${item.pod.name}`,
    sorted: [2, true],
    columns: [
      {
        label: "Pod",
        cell: (item) => [
          podLink(item.pod),
          item.owner && make("span", { class: "quiet small" }, ` ${item.owner.kind} ${item.owner.name}`),
        ],
        value: (item) => `${item.pod.namespace}/${item.pod.name}`,
      },
      { label: "Where", cell: (item) => placeChip(item.where), value: (item) => item.where },
      { label: "Age", cell: (item) => ageElement(item.since), value: (item) => -item.since, numeric: true },
      { label: "Tries", cell: (item) => String(item.tries), value: (item) => item.tries, numeric: true },
      {
        label: "Priority",
        cell: (item) => String(item.priority),
        value: (item) => item.priority,
        numeric: true,
      },
      { label: "Why", cell: (item) => why(item), value: (item) => item.message, class: "wide" },
      { label: "Waits for", cell: (item) => tags(item.waitsFor, 3), value: (item) => item.waitsFor.join() },
      {
        label: "Last try",
        cell: (item) => (item.lastAttempt === null ? "" : decisionLink(item.lastAttempt)),
        numeric: true,
      },
    ],
  });
}

/** @param {Waiting} item */
function why(item) {
  if (item.gatedBy) return ["held back by ", make("span", { class: "tag" }, item.gatedBy)];
  return [
    item.message,
    item.nominatedNode && make("span", { class: "quiet" }, ` Nominated to ${item.nominatedNode}.`),
  ];
}
