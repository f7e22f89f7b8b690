/** The cluster map: each node a cell, coloured by how much of a resource is requested on it. */

import { Refused } from "../core/api.js";
import { fill, make, say, settled } from "../core/dom.js";
import { address, note, toNode } from "../core/router.js";
import * as theme from "../core/theme.js";
import { listen } from "../map/gestures.js";
import { layOut, neighbour, rowAt } from "../map/layout.js";
import { Legend } from "../map/legend.js";
import { Painter } from "../map/painter.js";
import { spokenFor, tipFor } from "../map/tips.js";
import { button, choice, field, setOptions } from "../widgets/controls.js";
import { empty, failed } from "../widgets/notice.js";

/** @import { Live } from "../core/live.js" */
/** @import { NodeColumns } from "../core/nodes.js" */
/** @import { Route } from "../core/router.js" */

/** @type {Record<string, [number, number]>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const HELP =
  "Arrow keys move between nodes, Enter shows the decisions for a node, plus and minus zoom, 0 shows all.";

export class MapView {
  title = "Map";
  #isShown = false;

  /** @param {Live} live */
  constructor(live) {
    this.live = live;
    this.resource = choice("Colour by", [["cpu", "cpu"]], "cpu", (resource) => this.#choose({ resource }));
    this.group = choice("Group by", [["", "nothing"]], "", (group) => this.#choose({ group }));
    this.search = field("Find a node", { type: "search", input: settled(120, (text) => this.#find(text)) });
    this.search.control.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.stage.focus();
    });
    this.canvas = make("canvas", { "aria-hidden": "true" });
    this.overlay = make("canvas", { "aria-hidden": "true", class: "overlay" });
    this.tip = make("div", { class: "tip", hidden: true });
    this.spoken = make("p", { class: "unseen", role: "status" });
    this.stage = make(
      "div",
      { class: "stage", tabindex: 0, role: "application", "aria-label": `Map of the nodes. ${HELP}` },
      this.canvas,
      this.overlay,
      this.tip,
    );
    this.place = make("div");
    this.legend = new Legend();
    const zooms = make(
      "div",
      { class: "zooms", role: "group", "aria-label": "Zoom" },
      labelled("−", "Zoom out", () => this.#zoom(1 / 1.5)),
      labelled("+", "Zoom in", () => this.#zoom(1.5)),
      button("All", () => this.#showAll()),
    );
    this.element = make(
      "section",
      { class: "map-view" },
      make("h1", { class: "unseen" }, "Map of the cluster"),
      make("div", { class: "bar" }, this.resource.element, this.group.element, this.search.element, zooms),
      this.place,
      make("div", { class: "map-frame" }, this.stage, this.legend.element),
      this.spoken,
      make("p", { class: "hint map-help" }, HELP),
    );
    this.painter = new Painter(this.canvas, this.overlay);
    this.#listen();
  }

  #listen() {
    const { painter } = this;
    listen(this.stage, {
      zoom: (factor, x, y) => this.#zoom(factor, x, y),
      pan: (right, down) => {
        painter.camera.pan(right, down, this.stage.clientWidth, this.stage.clientHeight);
        painter.drawAll();
      },
      hover: (x, y) => this.#hover(this.#rowAt(x, y), x, y),
      leave: () => this.#hover(-1, 0, 0),
      click: (x, y) => this.#open(this.#rowAt(x, y)),
    });
    this.stage.addEventListener("keydown", (event) => this.#key(event));
    this.stage.addEventListener("blur", () => this.#moveCursor(-1));
    new ResizeObserver(() => this.#resize()).observe(this.stage);
    theme.follow(() => this.#colour());
    this.live.on("connection", (connection) => {
      if (connection.is === "refused") fill(this.place, failed(new Refused(403, connection.why)));
    });
    this.live.on("nodes", (nodes) => this.#setNodes(nodes));
    this.live.on("usage", (rows) => {
      painter.change(rows);
      this.#legendLater();
    });
    this.#colour();
  }

  /** @param {Route} route */
  show(route) {
    this.#isShown = true;
    this.painter.resource = route.query.get("resource") ?? "cpu";
    const group = route.query.get("group");
    const key = group === "-" ? "" : group;
    if (key !== null && key !== this.live.groupKey) {
      this.painter.camera.reset();
      void this.live.groupBy(key);
    }
    if (this.live.nodes) this.#setNodes(this.live.nodes);
    requestAnimationFrame(() => this.#resize());
  }

  hide() {
    this.#isShown = false;
    this.#hover(-1, 0, 0);
  }

  /** @param {{ resource?: string, group?: string }} chosen */
  #choose({ resource = this.painter.resource, group }) {
    this.painter.resource = resource;
    const key = group ?? this.live.groupKey ?? "";
    note(address("map", [], { resource, group: key || "-" }));
    if (group !== undefined) {
      this.painter.camera.reset();
      void this.live.groupBy(group);
    }
    this.painter.drawAll();
    this.#tellLegend();
  }

  /** @param {NodeColumns} nodes */
  #setNodes(nodes) {
    if (!this.#isShown) return;
    if (!nodes.resources.includes(this.painter.resource)) this.painter.resource = nodes.resources[0] ?? "cpu";
    setOptions(
      this.resource.control,
      nodes.resources.map((name) => [name, name]),
      this.painter.resource,
    );
    setOptions(
      this.group.control,
      [["", "nothing"], ...nodes.labelKeys.map((key) => /** @type {[string, string]} */ ([key, key]))],
      this.live.groupKey ?? "",
    );
    fill(
      this.place,
      nodes.length === 0 &&
        empty(
          "There are no nodes.",
          "Add some: ",
          make("code", {}, "moorage up --nodes 20"),
          " starts with twenty.",
        ),
    );
    this.#layOut();
    this.#tellLegend();
  }

  #layOut() {
    const { nodes } = this.live;
    const [width, height] = [this.stage.clientWidth, this.stage.clientHeight];
    if (!nodes || !width || !height) return;
    const padded = layOut(nodes.groups(this.live.groupKey ?? ""), nodes.length, width - 24, height - 24);
    for (let row = 0; row < nodes.length; row += 1) {
      padded.x[row] = (padded.x[row] ?? 0) + 12;
      padded.y[row] = (padded.y[row] ?? 0) + 12;
    }
    for (const block of padded.blocks) [block.x, block.y] = [block.x + 12, block.y + 12];
    this.painter.setScene(nodes, padded);
  }

  #resize() {
    const [width, height] = [this.stage.clientWidth, this.stage.clientHeight];
    if (!width || !height) return;
    this.painter.resize(width, height);
    this.painter.camera.pan(0, 0, width, height);
    this.#layOut();
  }

  #colour() {
    const { ink } = theme;
    this.painter.setColours(theme.isDark(), {
      ink: ink("--ink"),
      quiet: ink("--quiet"),
      accent: ink("--accent"),
      none: ink("--none"),
      page: ink("--panel"),
      mark: ink("--mark"),
    });
    this.#tellLegend();
  }

  #tellLegend() {
    if (this.live.nodes) this.legend.show(this.live.nodes, this.painter.resource);
  }

  #legendPending = false;

  /** The legend's numbers follow, twice a second at most. */
  #legendLater() {
    if (this.#legendPending || !this.#isShown) return;
    this.#legendPending = true;
    setTimeout(() => {
      this.#legendPending = false;
      if (this.#isShown) this.#tellLegend();
    }, 500);
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  #rowAt(x, y) {
    const { camera, layout } = this.painter;
    return layout ? rowAt(layout, (x - camera.x) / camera.zoom, (y - camera.y) / camera.zoom) : -1;
  }

  /**
   * @param {number} factor
   * @param {number} [x]
   * @param {number} [y]
   */
  #zoom(factor, x = this.stage.clientWidth / 2, y = this.stage.clientHeight / 2) {
    this.painter.camera.zoomAt(factor, x, y, this.stage.clientWidth, this.stage.clientHeight);
    this.painter.drawAll();
  }

  #showAll() {
    this.painter.camera.reset();
    this.painter.drawAll();
  }

  /**
   * @param {number} row
   * @param {number} x
   * @param {number} y
   */
  #hover(row, x, y) {
    if (row !== this.painter.hovered) {
      this.painter.hovered = row;
      this.painter.drawOverlay();
    }
    this.#showTip(row, x, y);
  }

  /**
   * @param {number} row
   * @param {number} x
   * @param {number} y
   */
  #showTip(row, x, y) {
    const { nodes } = this.live;
    this.tip.hidden = row < 0 || !nodes;
    if (row < 0 || !nodes) return;
    fill(this.tip, tipFor(nodes, row, this.live.groupKey ?? ""));
    const [width, height] = [this.tip.offsetWidth, this.tip.offsetHeight];
    const left = x + 16 + width > this.stage.clientWidth ? Math.max(4, x - width - 12) : x + 16;
    const top = Math.max(4, Math.min(y + 16, this.stage.clientHeight - height - 4));
    this.tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  /** @param {number} row */
  #open(row) {
    const name = this.live.nodes?.names[row];
    if (name) location.hash = toNode(name);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const { painter } = this;
    const { layout } = painter;
    if (!layout || event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = ARROWS[event.key];
    if (arrow)
      this.#moveCursor(
        painter.cursor < 0 ? (layout.blocks[0]?.rows[0] ?? -1) : neighbour(layout, painter.cursor, ...arrow),
      );
    else if (event.key === "Enter") this.#open(painter.cursor);
    else if (event.key === "+" || event.key === "=") this.#zoom(1.5, ...this.#cursorPlace());
    else if (event.key === "-") this.#zoom(1 / 1.5, ...this.#cursorPlace());
    else if (event.key === "0") this.#showAll();
    else if (event.key === "Home") this.#moveCursor(layout.blocks[0]?.rows[0] ?? -1);
    else if (event.key === "End") this.#moveCursor(layout.blocks.at(-1)?.rows.at(-1) ?? -1);
    else if (event.key === "Escape") this.#moveCursor(-1);
    else return;
    event.preventDefault();
  }

  /** Where the cursor is on the screen, the middle if there is none. @returns {[number, number]} */
  #cursorPlace() {
    const { cursor, layout, camera } = this.painter;
    if (cursor < 0 || !layout) return [this.stage.clientWidth / 2, this.stage.clientHeight / 2];
    const middle = layout.cell / 2;
    return [
      ((layout.x[cursor] ?? 0) + middle) * camera.zoom + camera.x,
      ((layout.y[cursor] ?? 0) + middle) * camera.zoom + camera.y,
    ];
  }

  /** @param {number} row */
  #moveCursor(row) {
    const { painter } = this;
    const { nodes } = this.live;
    if (row === painter.cursor) return;
    painter.cursor = row;
    if (row >= 0 && painter.layout && nodes) {
      painter.camera.reveal(
        painter.layout.x[row] ?? 0,
        painter.layout.y[row] ?? 0,
        painter.layout.cell,
        this.stage.clientWidth,
        this.stage.clientHeight,
      );
      say(this.spoken, spokenFor(nodes, row, painter.resource));
      if (painter.camera.zoom > 1) painter.drawAll();
    }
    painter.drawOverlay();
    this.#showTip(row, ...this.#cursorPlace());
  }

  /** @param {string} text */
  #find(text) {
    const wanted = text.trim().toLowerCase();
    const row = wanted
      ? (this.live.nodes?.names.findIndex((name) => name.toLowerCase().includes(wanted)) ?? -1)
      : -1;
    this.#moveCursor(row);
    if (wanted && row < 0) say(this.spoken, "No node has that in its name.");
    this.search.control.classList.toggle("not-found", Boolean(wanted) && row < 0);
  }
}

/**
 * @param {string} sign
 * @param {string} label
 * @param {() => void} press
 */
function labelled(sign, label, press) {
  const made = button(sign, press);
  made.setAttribute("aria-label", label);
  return made;
}
