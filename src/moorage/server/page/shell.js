/** The frame around the views: tabs, the state of the connection, figures, and which view is shown. */

import { fill, make, say } from "./core/dom.js";
import { address, parse } from "./core/router.js";
import { whole } from "./core/text.js";
import * as theme from "./core/theme.js";
import { bytes, short } from "./core/units.js";
import { empty } from "./widgets/notice.js";
import { CompareView } from "./views/compare.js";
import { DecisionView } from "./views/decision.js";
import { DecisionsView } from "./views/decisions.js";
import { MapView } from "./views/map.js";
import { PluginsView } from "./views/plugins.js";
import { PodView } from "./views/pod.js";
import { QueueView } from "./views/queue.js";
import { TryView } from "./views/try.js";

/** @import { Summary } from "./core/documents.js" */
/** @import { Live } from "./core/live.js" */
/** @import { Route } from "./core/router.js" */
/** @import { Connection } from "./core/stream.js" */

/** @typedef {{ element: HTMLElement, title: string, show(route: Route): void, hide(): void }} View */

/** @type {[string, string][]} */
const TABS = [
  ["map", "Map"],
  ["queue", "Queue"],
  ["decisions", "Decisions"],
  ["pods", "Pods"],
  ["plugins", "Plugins"],
  ["try", "Try"],
  ["compare", "Compare"],
];

/** @type {Record<string, (live: Live) => View>} */
const VIEWS = {
  map: (live) => new MapView(live),
  queue: (live) => new QueueView(live),
  decisions: (live) => new DecisionsView(live),
  decision: () => new DecisionView(),
  pods: (live) => new PodView(live),
  plugins: () => new PluginsView(),
  try: () => new TryView(),
  compare: () => new CompareView(),
};

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

export class Shell {
  /** @type {Map<string, View>} */
  #views = new Map();
  /** @type {View | null} */
  #shown = null;
  #timer = 0;

  /**
   * @param {Live} live
   * @param {() => void} signOut
   */
  constructor(live, signOut) {
    this.live = live;
    this.main = byId("main");
    this.tabs = byId("tabs");
    this.connection = byId("connection");
    this.figures = byId("figures");
    fill(
      this.tabs,
      TABS.map(([view, word]) => make("a", { href: address(view), "data-view": view }, word)),
    );
    this.tabs.addEventListener("keydown", (event) => this.#walkTabs(event));
    byId("sign-out").hidden = false;
    byId("sign-out").addEventListener("click", signOut);
  }

  begin() {
    addEventListener("hashchange", () => this.#route(true));
    addEventListener("keydown", (event) => this.#key(event));
    this.live.on("summary", (summary) => this.#showFigures(summary));
    this.live.on("connection", (connection) => this.#showConnection(connection));
    fill(this.main);
    this.#route(false);
  }

  /** @param {boolean} isMove whether the reader went somewhere: then the focus goes along */
  #route(isMove) {
    if (location.hash === "#main") return;
    const route = parse(location.hash);
    if (!route.view) route.view = "map";
    const name = route.view === "decisions" && route.parts.length ? "decision" : route.view;
    for (const tab of this.tabs.querySelectorAll("a")) {
      if (tab.dataset.view === route.view) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    const view = this.#view(name);
    if (!view) {
      this.#shown?.hide();
      this.#shown = null;
      fill(this.main, empty("There is no such view.", make("a", { href: address("map") }, "Go to the map")));
      return;
    }
    if (view !== this.#shown) {
      this.#shown?.hide();
      fill(this.main, view.element);
      this.#shown = view;
      scrollTo(0, 0);
    }
    view.show(route);
    document.title = `${view.title} · Moorage`;
    if (isMove && !this.tabs.contains(document.activeElement)) this.main.focus({ preventScroll: true });
  }

  /** @param {string} name */
  #view(name) {
    const known = this.#views.get(name);
    if (known) return known;
    const made = Object.hasOwn(VIEWS, name) ? VIEWS[name]?.(this.live) : undefined;
    if (made) this.#views.set(name, made);
    return made;
  }

  /** Arrows walk the tabs. @param {KeyboardEvent} event */
  #walkTabs(event) {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const all = [...this.tabs.querySelectorAll("a")];
    const at = all.findIndex((tab) => tab === document.activeElement);
    if (!step || at < 0) return;
    event.preventDefault();
    all[(at + step + all.length) % all.length]?.focus();
  }

  /** `/` goes to the search of the view. @param {KeyboardEvent} event */
  #key(event) {
    const isTyping = event.target instanceof Element && event.target.closest("input, textarea, select");
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const search = /** @type {HTMLElement | null} */ (this.main.querySelector("input[type=search]"));
    if (!search) return;
    event.preventDefault();
    search.focus();
  }

  /** @param {Connection} connection */
  #showConnection(connection) {
    clearInterval(this.#timer);
    this.connection.className = `connection ${connection.is}`;
    if (connection.is === "live") say(this.connection, "Live");
    else if (connection.is === "connecting") say(this.connection, "Connecting…");
    else if (connection.is === "refused") say(this.connection, connection.why);
    else {
      const countdown = make("span", { "aria-hidden": "true" });
      const tell = () => {
        const left = Math.max(0, Math.ceil(connection.until - Date.now() / 1000));
        say(countdown, `again in ${left} s`);
      };
      tell();
      fill(this.connection, make("span", {}, `Cut off: ${connection.why}, `, countdown));
      this.#timer = setInterval(tell, 1000);
    }
  }

  /** @param {Summary} summary */
  #showFigures(summary) {
    const { queue, rates, log } = summary;
    const waiting = queue.active + queue.backoff + queue.unschedulable + queue.gated;
    this.figures.hidden = false;
    const told = [
      [whole(summary.nodes), "nodes"],
      [whole(summary.placedPods), "pods placed"],
      [whole(waiting), "waiting"],
      [short(Math.round(rates.boundPerSecond * 10) / 10), "bound a second"],
      [short(Math.round(rates.failedPerSecond * 10) / 10), "failed a second"],
      [whole(log.attempts), `decisions in ${bytes(log.bytes)} of log`],
    ];
    if (!summary.leads) told.push(["Standby", "another one leads"]);
    const seen = this.figures.children;
    if (seen.length !== told.length)
      fill(
        this.figures,
        told.map(() => make("div", { class: "figure" }, make("b"), make("span"))),
      );
    told.forEach(([value, label], place) => {
      const [number, word] = seen[place]?.children ?? [];
      if (number && word) {
        say(number, value);
        say(word, label);
      }
    });
  }
}

const themeButton = byId("theme");

function showTheme() {
  say(themeButton, theme.isDark() ? "Light" : "Dark");
  themeButton.setAttribute("aria-label", theme.isDark() ? "Use light colours" : "Use dark colours");
}

themeButton.addEventListener("click", theme.turn);
theme.follow(showTheme);
showTheme();
