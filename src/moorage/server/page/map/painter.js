/** Draws the cells: all of them when the view moves, else only those whose colour changed, once per frame. */

import { visible } from "../core/text.js";
import { Camera } from "./camera.js";
import { NONE, colours, step } from "./scale.js";

/** @import { NodeColumns } from "../core/nodes.js" */
/** @import { Layout } from "./layout.js" */

const LARGEST_MARK = 26;

/** @typedef {{ ink: string, quiet: string, accent: string, none: string, page: string, mark: string }} Inks */

export class Painter {
  camera = new Camera();
  /** @type {NodeColumns | null} */
  nodes = null;
  /** @type {Layout | null} */
  layout = null;
  resource = "cpu";
  hovered = -1;
  cursor = -1;
  #colours = colours(false);
  /** @type {Inks} */
  #inks = { ink: "", quiet: "", accent: "", none: "", page: "", mark: "" };
  #steps = new Uint16Array(0);
  /** @type {Set<number>} */
  #changed = new Set();
  #all = true;
  #overlayChanged = true;
  #requested = 0;
  #ratio = 1;

  /**
   * @param {HTMLCanvasElement} canvas for the cells
   * @param {HTMLCanvasElement} overlay for what moves over them
   */
  constructor(canvas, overlay) {
    this.canvas = canvas;
    this.overlay = overlay;
    this.brush = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
    this.overBrush = /** @type {CanvasRenderingContext2D} */ (overlay.getContext("2d"));
  }

  /**
   * @param {boolean} isDark
   * @param {Inks} inks
   */
  setColours(isDark, inks) {
    this.#colours = colours(isDark);
    this.#inks = inks;
    this.drawAll();
  }

  /**
   * @param {NodeColumns} nodes
   * @param {Layout} layout
   */
  setScene(nodes, layout) {
    this.nodes = nodes;
    this.layout = layout;
    this.#steps = new Uint16Array(nodes.length);
    this.drawAll();
  }

  /**
   * @param {number} width
   * @param {number} height
   */
  resize(width, height) {
    this.#ratio = Math.min(devicePixelRatio || 1, 2);
    for (const canvas of [this.canvas, this.overlay]) {
      canvas.width = Math.round(width * this.#ratio);
      canvas.height = Math.round(height * this.#ratio);
    }
    this.drawAll();
  }

  /** @param {number[] | null} rows whose usage changed; null for all */
  change(rows) {
    if (rows === null) this.#markAllChanged();
    else for (const row of rows) this.#changed.add(row);
    if (this.#changed.size) this.#ask();
  }

  #markAllChanged() {
    for (let row = 0; row < (this.nodes?.length ?? 0); row += 1) this.#changed.add(row);
  }

  drawAll() {
    this.#all = true;
    this.drawOverlay();
  }

  drawOverlay() {
    this.#overlayChanged = true;
    this.#ask();
  }

  #ask() {
    if (!this.#requested) this.#requested = requestAnimationFrame(() => this.#frame());
  }

  #frame() {
    this.#requested = 0;
    if (!this.nodes || !this.layout) return;
    if (this.#all) this.#drawEverything(this.nodes, this.layout);
    else this.#drawChanged(this.nodes, this.layout);
    this.#changed.clear();
    if (this.#overlayChanged) this.#drawOverlay(this.layout);
    this.#all = this.#overlayChanged = false;
  }

  /**
   * @param {NodeColumns} nodes
   * @param {Layout} layout
   */
  #drawEverything(nodes, layout) {
    const { brush } = this;
    brush.setTransform(1, 0, 0, 1, 0, 0);
    brush.fillStyle = this.#inks.page;
    brush.fillRect(0, 0, this.canvas.width, this.canvas.height);
    for (let row = 0; row < nodes.length; row += 1) {
      const at = (this.#steps[row] = step(nodes.share(this.resource, row)));
      this.#cell(nodes, layout, row, at);
    }
    this.#labels(layout);
  }

  /**
   * @param {NodeColumns} nodes
   * @param {Layout} layout
   */
  #drawChanged(nodes, layout) {
    for (const row of this.#changed) {
      const at = step(nodes.share(this.resource, row));
      if (at === this.#steps[row]) continue;
      this.#steps[row] = at;
      this.#cell(nodes, layout, row, at);
    }
  }

  /**
   * One cell on whole pixels, with the marks of its node.
   * @param {NodeColumns} nodes
   * @param {Layout} layout
   * @param {number} row
   * @param {number} at its step
   */
  #cell(nodes, layout, row, at) {
    const { left, top, side } = this.#box(layout, row);
    if (left > this.canvas.width || top > this.canvas.height || left + side < 0 || top + side < 0) return;
    const { brush } = this;
    brush.fillStyle = at === NONE ? this.#inks.none : (this.#colours[at] ?? "");
    brush.fillRect(left, top, side, side);
    if (side < 5) return;
    if (nodes.unschedulable[row]) this.#cordon(left, top, side);
    else if (nodes.taints[row]?.length) this.#taint(left, top, side);
  }

  /**
   * @param {Layout} layout
   * @param {number} row
   */
  #box(layout, row) {
    const { zoom, x, y } = this.camera;
    const scale = zoom * this.#ratio;
    const left = Math.round((layout.x[row] ?? 0) * scale + x * this.#ratio);
    const top = Math.round((layout.y[row] ?? 0) * scale + y * this.#ratio);
    const side = layout.cell * scale;
    const gap = side < 3 ? 0 : Math.max(1, Math.round(side * 0.08));
    return { left, top, side: Math.max(1, Math.round(side) - gap) };
  }

  /** A cross: nothing new comes here. @param {number} left @param {number} top @param {number} side */
  #cordon(left, top, side) {
    const { brush } = this;
    const spare = Math.max(0, (side - LARGEST_MARK * this.#ratio) / 2);
    [left, top, side] = [left + spare, top + spare, side - 2 * spare];
    const inset = side * 0.22;
    for (const [width, ink] of /** @type {const} */ ([
      [Math.max(3, side * 0.22), this.#inks.page],
      [Math.max(1.2, side * 0.1), this.#inks.ink],
    ])) {
      brush.strokeStyle = ink;
      brush.lineWidth = width;
      brush.beginPath();
      brush.moveTo(left + inset, top + inset);
      brush.lineTo(left + side - inset, top + side - inset);
      brush.moveTo(left + side - inset, top + inset);
      brush.lineTo(left + inset, top + side - inset);
      brush.stroke();
    }
  }

  /** A corner: only those that tolerate it come here. @param {number} left @param {number} top @param {number} side */
  #taint(left, top, side) {
    const { brush } = this;
    const leg = Math.max(3, Math.min(side, LARGEST_MARK * this.#ratio) * 0.45);
    brush.fillStyle = this.#inks.page;
    brush.beginPath();
    brush.moveTo(left + side, top);
    brush.lineTo(left + side - leg - 1.5, top);
    brush.lineTo(left + side, top + leg + 1.5);
    brush.fill();
    brush.fillStyle = this.#inks.mark;
    brush.beginPath();
    brush.moveTo(left + side, top);
    brush.lineTo(left + side - leg, top);
    brush.lineTo(left + side, top + leg);
    brush.fill();
  }

  /** @param {Layout} layout */
  #labels(layout) {
    const { brush } = this;
    const { zoom, x, y } = this.camera;
    brush.font = `${12 * this.#ratio}px system-ui, sans-serif`;
    brush.textBaseline = "alphabetic";
    for (const block of layout.blocks) {
      if (!block.name) continue;
      const left = (block.x * zoom + x) * this.#ratio;
      const top = (block.y * zoom + y) * this.#ratio;
      const room = block.width * zoom * this.#ratio;
      if (left + room < 0 || left > this.canvas.width || top < 0 || top - 20 > this.canvas.height) continue;
      const name = visible(block.name);
      brush.fillStyle = this.#inks.ink;
      const shown = shortened(brush, name, room);
      brush.fillText(shown, left, top - 6 * this.#ratio);
      const after = brush.measureText(`${shown}  `).width;
      const count = String(block.rows.length);
      if (shown === name && after + brush.measureText(count).width < room) {
        brush.fillStyle = this.#inks.quiet;
        brush.fillText(count, left + after, top - 6 * this.#ratio);
      }
    }
  }

  /** @param {Layout} layout */
  #drawOverlay(layout) {
    const { overBrush: brush } = this;
    brush.clearRect(0, 0, this.overlay.width, this.overlay.height);
    this.#ring(layout, this.hovered, this.#inks.ink, 2);
    this.#ring(layout, this.cursor, this.#inks.accent, 3);
  }

  /**
   * @param {Layout} layout
   * @param {number} row
   * @param {string} ink
   * @param {number} width
   */
  #ring(layout, row, ink, width) {
    if (row < 0 || row >= layout.x.length) return;
    const { left, top, side } = this.#box(layout, row);
    const { overBrush: brush } = this;
    for (const [wide, colour] of /** @type {const} */ ([
      [width + 3, this.#inks.page],
      [width, ink],
    ])) {
      brush.lineWidth = wide * this.#ratio;
      brush.strokeStyle = colour;
      brush.strokeRect(left - 1, top - 1, side + 2, side + 2);
    }
  }
}

/**
 * @param {CanvasRenderingContext2D} brush
 * @param {string} text
 * @param {number} room
 */
function shortened(brush, text, room) {
  if (brush.measureText(text).width <= room) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (brush.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
    else high = middle - 1;
  }
  return low ? `${text.slice(0, low)}…` : "";
}
