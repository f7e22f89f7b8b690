/** A pod's story: what it waits for or where it is, all its attempts on a time line, and what would help. */

import * as api from "../core/api.js";
import { ageElement } from "../core/clock.js";
import { fill, make, say } from "../core/dom.js";
import { address, toPod } from "../core/router.js";
import { counted, whole } from "../core/text.js";
import { dateAndTime, timeOfDay, took } from "../core/units.js";
import { adviceList } from "../widgets/advice.js";
import { decisionLink, nodeLink, outcomeChip, placeChip, podLink, tags } from "../widgets/chips.js";
import { button, field } from "../widgets/controls.js";
import { empty, failed, isAborted, waiting } from "../widgets/notice.js";
import { timeStrip } from "../widgets/time_strip.js";

/** @import { Attempt, PodStory } from "../core/documents.js" */
/** @import { Live } from "../core/live.js" */
/** @import { Route } from "../core/router.js" */

const STATES = {
  pending: "pending",
  placed: "placed",
  binding: "being bound",
  gated: "held back",
  unknown: "gone",
};

export class PodView {
  title = "Pods";
  #asking = new AbortController();
  #key = "";

  /** @param {Live} live */
  constructor(live) {
    this.live = live;
    this.name = field("Pod", { type: "search", placeholder: "namespace/name" });
    const open = (/** @type {SubmitEvent} */ event) => {
      event.preventDefault();
      const [namespace = "", name] = this.name.control.value.trim().split("/");
      if (namespace)
        location.hash = name ? toPod({ namespace, name }) : toPod({ namespace: "default", name: namespace });
    };
    this.again = button("Read again", () => this.#read());
    live.on("attempts", (news) => this.#hear(news));
    this.body = make("div");
    this.element = make(
      "section",
      { class: "pod-view" },
      make(
        "form",
        { class: "bar", onsubmit: open },
        this.name.element,
        make("button", { type: "submit" }, "Show"),
      ),
      this.body,
    );
  }

  /** @param {Route} route */
  show({ parts: [namespace = "", name = ""] }) {
    this.#asking.abort();
    this.#key = name ? `${namespace}/${name}` : "";
    this.title = this.#key ? `Pod ${this.#key}` : "Pods";
    this.name.control.value = this.#key;
    if (!name) return this.#showRecent();
    fill(this.body, waiting("Reading…"));
    this.#read();
  }

  hide() {
    this.#asking.abort();
    this.#key = "";
  }

  #read() {
    say(this.again, "Read again");
    this.again.classList.remove("primary");
    const cut = this.#key.indexOf("/");
    void this.#load(this.#key.slice(0, cut), this.#key.slice(cut + 1));
  }

  /**
   * Says that there is more to read; what is read stays where it is.
   * @param {Attempt[]} news
   */
  #hear(news) {
    if (!news.some(({ pod }) => `${pod.namespace}/${pod.name}` === this.#key)) return;
    say(this.again, "Tried again: read it");
    this.again.classList.add("primary");
  }

  #showRecent() {
    /** @type {Map<string, Attempt>} */
    const recent = new Map();
    for (const attempt of [...this.live.attempts].reverse()) {
      const key = `${attempt.pod.namespace}/${attempt.pod.name}`;
      if (recent.size < 20 && !recent.has(key)) recent.set(key, attempt);
    }
    fill(
      this.body,
      make("h1", {}, "A pod's story"),
      recent.size === 0 &&
        empty(
          "Name a pod above.",
          "Or take one from the ",
          make("a", { href: address("queue") }, "queue"),
          " or the ",
          make("a", { href: address("decisions") }, "decisions"),
          ".",
        ),
      recent.size > 0 &&
        make(
          "section",
          { class: "panel" },
          make("h2", {}, "Decided last"),
          make(
            "ul",
            { class: "recent" },
            [...recent.values()].map((attempt) =>
              make(
                "li",
                {},
                outcomeChip(attempt.outcome),
                podLink(attempt.pod),
                attempt.node && make("span", { class: "quiet" }, "→ "),
                attempt.node && nodeLink(attempt.node),
              ),
            ),
          ),
        ),
    );
  }

  /**
   * @param {string} namespace
   * @param {string} name
   */
  async #load(namespace, name) {
    const { signal } = (this.#asking = new AbortController());
    try {
      const story = await api.pod(namespace, name, false, signal);
      const advice = make("section", { class: "panel", "aria-live": "polite" });
      fill(
        this.body,
        heading(story, this.again),
        make(
          "div",
          { class: "story-parts" },
          make(
            "section",
            { class: "panel words" },
            make("h2", {}, "In words"),
            story.words.map((line) => make("p", {}, line)),
            facts(story),
          ),
          story.state === "pending" && advice,
        ),
        attempts(story),
      );
      if (story.state === "pending") await showAdvice(advice, namespace, name, signal);
    } catch (error) {
      if (!isAborted(error)) fill(this.body, make("h1", {}, `${namespace}/${name}`), failed(error));
    }
  }
}

/**
 * @param {HTMLElement} place
 * @param {string} namespace
 * @param {string} name
 * @param {AbortSignal} signal
 */
async function showAdvice(place, namespace, name, signal) {
  const title = make("h2", {}, "What would help");
  fill(place, title, waiting("Trying it out…"));
  try {
    const { advice = [] } = await api.pod(namespace, name, true, signal);
    fill(place, title, advice.length ? adviceList(advice) : empty("No single change that was tried helps."));
  } catch (error) {
    if (!isAborted(error)) fill(place, title, failed(error));
  }
}

/**
 * @param {PodStory} story
 * @param {HTMLButtonElement} again
 */
function heading(story, again) {
  const { pod, state, node, since } = story;
  return make(
    "div",
    { class: "view-head" },
    make(
      "div",
      {},
      make(
        "h1",
        {},
        make("span", { class: "quiet" }, `${pod.namespace}/`),
        pod.name,
        " ",
        make("span", { class: `chip state-${STATES[state] ? state : "unknown"}` }, STATES[state] ?? state),
        node && make("span", { class: "on-node" }, " on ", nodeLink(node)),
      ),
      make(
        "p",
        { class: "hint" },
        since !== null && ["Made ", ageElement(since), " ago. "],
        counted(story.tries, "try", "tries"),
        ".",
      ),
    ),
    make(
      "div",
      { class: "neighbours" },
      make(
        "a",
        { class: "button", href: address("try", [], { pod: `${pod.namespace}/${pod.name}` }) },
        "Try it changed",
      ),
      again,
    ),
  );
}

/** @param {PodStory} story */
function facts({ queue }) {
  if (!queue) return null;
  const fact = (/** @type {string} */ name, /** @type {Node | string} */ value) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, value));
  return make(
    "dl",
    { class: "facts" },
    fact("In the queue", placeChip(queue.where)),
    fact("Priority", whole(queue.priority)),
    queue.gatedBy && fact("Held back by", tags([queue.gatedBy])),
    queue.plugins.length > 0 && fact("Rejected by", tags(queue.plugins)),
    queue.waitsFor.length > 0 && fact("Waits for", tags(queue.waitsFor)),
    queue.nominatedNode && fact("Nominated to", nodeLink(queue.nominatedNode)),
    queue.owner && fact("Belongs to", `${queue.owner.kind} ${queue.owner.name}`),
  );
}

/** @param {PodStory} story */
function attempts({ attempts: all }) {
  if (!all.length)
    return empty(
      "The log has no attempt for it.",
      "It was placed before the scheduler started, or so long ago that the log has let go of it.",
    );
  return make(
    "section",
    { class: "panel" },
    make("h2", {}, `Its ${counted(all.length, "attempt")}`),
    all.length > 1 && timeStrip(all),
    make(
      "ol",
      { class: "story", reversed: true, start: all.length },
      all.map((attempt, place) => make("li", {}, entry(attempt, all[place + 1]))),
    ),
  );
}

/**
 * @param {Attempt} attempt
 * @param {Attempt | undefined} before
 */
function entry(attempt, before) {
  const { after } = attempt;
  return make(
    "div",
    { class: `entry entry-${attempt.outcome}` },
    make(
      "p",
      { class: "entry-head" },
      decisionLink(attempt.number),
      outcomeChip(attempt.outcome),
      attempt.node && nodeLink(attempt.node),
      make("time", { class: "quiet", title: dateAndTime(attempt.time) }, timeOfDay(attempt.time)),
      before && make("span", { class: "quiet" }, `${took(attempt.time - before.time)} after the one before`),
      attempt.try > 1 &&
        attempt.wokenBy &&
        make("span", { class: "quiet" }, "woken by ", make("span", { class: "tag" }, attempt.wokenBy)),
    ),
    attempt.message && make("p", { class: "message" }, attempt.message),
    after && make("p", { class: "hint" }, afterwards(attempt, after)),
  );
}

/**
 * @param {Attempt} attempt
 * @param {NonNullable<Attempt["after"]>} after
 */
function afterwards(attempt, after) {
  if (attempt.outcome === "bound") return `Bound ${took(after.seconds)} later.`;
  return `${took(after.seconds)} later${after.by ? `, by ${after.by}` : ""}${after.message ? `: ${after.message}` : "."}`;
}
