/** What each plugin takes at each point, and how often it fails. */

import * as api from "../core/api.js";
import { fill, make, say } from "../core/dom.js";
import { Polling } from "../core/polling.js";
import { counted, whole } from "../core/text.js";
import { percent, took } from "../core/units.js";
import { choice, field } from "../widgets/controls.js";
import { empty, failed } from "../widgets/notice.js";
import { Table } from "../widgets/table.js";

/** @import { Plugins, PointTimes } from "../core/documents.js" */

/** @typedef {PointTimes & { name: string, inTree: boolean, failures: number, slow: number, share: number }} Line */

export class PluginsView {
  title = "Plugins";
  /** @type {Plugins | null} */
  #plugins = null;

  constructor() {
    this.search = field("Search", {
      type: "search",
      placeholder: "plugin or point",
      input: () => this.#draw(),
    });
    this.whose = choice(
      "Whose",
      [
        ["", "all"],
        ["own", "only your own"],
      ],
      "",
      () => this.#draw(),
    );
    this.count = make("p", { class: "hint", role: "status" });
    this.place = make("div");
    this.table = makeTable();
    this.element = make(
      "section",
      {},
      make("div", { class: "view-head" }, make("h1", {}, "Plugins"), this.count),
      make("div", { class: "bar" }, this.search.element, this.whose.element),
      this.place,
      this.table.element,
    );
    this.polling = new Polling(
      2,
      (signal) => this.#load(signal),
      (error) => fill(this.place, failed(error)),
    );
  }

  show() {
    this.polling.start();
  }

  hide() {
    this.polling.stop();
  }

  /** @param {AbortSignal} signal */
  async #load(signal) {
    this.#plugins = await api.plugins(signal);
    this.#draw();
  }

  #draw() {
    if (!this.#plugins) return;
    const { plugins } = this.#plugins;
    const all = plugins.reduce(
      (sum, plugin) => sum + plugin.points.reduce((part, point) => part + point.seconds, 0),
      0,
    );
    const text = this.search.control.value.trim().toLowerCase();
    const lines = plugins
      .filter((plugin) => !this.whose.control.value || !plugin.inTree)
      .flatMap(({ name, inTree, failures, slow, points }) =>
        points.map((point) => ({
          ...point,
          name,
          inTree,
          failures,
          slow,
          share: all ? point.seconds / all : 0,
        })),
      )
      .filter((line) => `${line.name} ${line.point}`.toLowerCase().includes(text));
    const failing = plugins.filter((plugin) => plugin.failures > 0).length;
    say(
      this.count,
      `${counted(plugins.length, "plugin")}, ${took(all)} in all${failing ? `, ${whole(failing)} failed at times` : ", none failed"}`,
    );
    this.table.show(lines);
    this.table.element.hidden = lines.length === 0;
    fill(
      this.place,
      lines.length === 0 &&
        (text || this.whose.control.value
          ? empty("No plugin is like that.")
          : empty("No plugin was called yet.", "Times come with the first pods.")),
    );
  }
}

/** @returns {Table<Line>} */
function makeTable() {
  return new Table({
    label: "Times by plugin and point",
    key: (line) => `${line.name} ${line.point}`,
    sorted: [3, true],
    columns: [
      {
        label: "Plugin",
        cell: (line) => [line.name, !line.inTree && make("span", { class: "chip own" }, "yours")],
        value: (line) => line.name,
      },
      { label: "Point", cell: (line) => line.point, value: (line) => line.point },
      { label: "Calls", cell: (line) => whole(line.calls), value: (line) => line.calls, numeric: true },
      { label: "Time", cell: (line) => took(line.seconds), value: (line) => line.seconds, numeric: true },
      {
        label: "Share",
        cell: (line) => share(line.share),
        value: (line) => line.share,
        numeric: true,
        class: "share-cell",
      },
      { label: "Mean", cell: (line) => took(line.mean), value: (line) => line.mean, numeric: true },
      {
        label: "99 % within",
        cell: (line) => (line.p99 === null ? "–" : took(line.p99)),
        value: (line) => line.p99 ?? 0,
        numeric: true,
      },
      {
        label: "Failures",
        cell: (line) => counter(line.failures),
        value: (line) => line.failures,
        numeric: true,
      },
      { label: "Slow calls", cell: (line) => counter(line.slow), value: (line) => line.slow, numeric: true },
    ],
  });
}

/** @param {number} value */
function counter(value) {
  return value ? make("b", { class: "alarm" }, whole(value)) : make("span", { class: "quiet" }, "0");
}

/** @param {number} value */
function share(value) {
  const inner = make("i");
  inner.style.width = `${Math.max(1, value * 100)}%`;
  return [make("span", { class: "share", "aria-hidden": "true" }, inner), percent(value)];
}
