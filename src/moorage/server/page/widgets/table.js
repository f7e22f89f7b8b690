/** A table that is kept up to date row by row, sorted by its heads. */

import { fill, make } from "../core/dom.js";
import { natural } from "../core/nodes.js";

/** @import { Child } from "../core/dom.js" */

/**
 * @template Item
 * @typedef {object} Column
 * @property {string} label
 * @property {(item: Item) => Child | Child[]} cell
 * @property {(item: Item) => string | number} [value] what to sort by; without it the head is no button
 * @property {boolean} [numeric]
 * @property {string} [class]
 */

/** @template Item */
export class Table {
  /** @type {Map<string, { row: HTMLTableRowElement, seen: string }>} */
  #rows = new Map();
  /** @type {Item[]} */
  #items = [];
  #sortedBy = -1;
  #descending = false;

  /**
   * @param {object} options
   * @param {string} options.label what the table holds, for those who cannot see it
   * @param {Column<Item>[]} options.columns
   * @param {(item: Item) => string} options.key
   * @param {(item: Item) => string} [options.open] the address that a click on a row leads to
   * @param {[number, boolean]} [options.sorted] column, and whether descending
   */
  constructor({ label, columns, key, open, sorted }) {
    this.columns = columns;
    this.key = key;
    this.open = open;
    if (sorted) [this.#sortedBy, this.#descending] = sorted;
    this.head = make("tr");
    this.body = make("tbody");
    this.element = make(
      "div",
      { class: "table-frame stacks", tabindex: 0, role: "region", "aria-label": label },
      make("table", {}, make("caption", { class: "unseen" }, label), make("thead", {}, this.head), this.body),
    );
    this.#showHead();
  }

  /** @param {Item[]} items */
  show(items) {
    this.#items = items;
    const column = this.columns[this.#sortedBy];
    const value = column?.value;
    const sorted = value
      ? [...items].sort((a, b) => compare(value(a), value(b)) * (this.#descending ? -1 : 1))
      : items;
    const keys = new Set();
    /** @type {Element | null} */
    let at = this.body.firstElementChild;
    for (const item of sorted) {
      const key = this.key(item);
      if (keys.has(key)) continue;
      keys.add(key);
      const row = this.#row(key, item);
      if (row === at) at = at.nextElementSibling;
      else this.body.insertBefore(row, at);
    }
    for (const [key, { row }] of this.#rows) {
      if (!keys.has(key)) {
        row.remove();
        this.#rows.delete(key);
      }
    }
  }

  /**
   * The row of an item, made anew only if what it shows changed.
   * @param {string} key
   * @param {Item} item
   */
  #row(key, item) {
    const seen = JSON.stringify(item);
    const known = this.#rows.get(key);
    if (known?.seen === seen) return known.row;
    const row =
      known?.row ??
      make(
        "tr",
        this.open
          ? { class: "opens", onclick: (/** @type {MouseEvent} */ event) => this.#follow(event, row) }
          : {},
      );
    if (this.open) row.dataset.href = this.open(item);
    fill(
      row,
      this.columns.map(({ label, cell, numeric, class: kind }) =>
        make(
          "td",
          { "data-label": label, class: [numeric && "number", kind].filter(Boolean).join(" ") || null },
          cell(item),
        ),
      ),
    );
    this.#rows.set(key, { row, seen });
    return row;
  }

  /**
   * A click anywhere in a row opens it, unless it is on a link of its own or selects text.
   * @param {MouseEvent} event
   * @param {HTMLTableRowElement} row
   */
  #follow(event, row) {
    const isOnControl = event.target instanceof Element && event.target.closest("a, button, summary");
    if (isOnControl || String(getSelection())) return;
    location.hash = row.dataset.href ?? "";
  }

  #showHead() {
    fill(
      this.head,
      this.columns.map((column, place) => {
        const isSorted = place === this.#sortedBy;
        const direction = isSorted ? (this.#descending ? "descending" : "ascending") : null;
        const kind = [column.numeric && "number", column.class].filter(Boolean).join(" ") || null;
        const name = column.value
          ? sortButton(column.label, direction, () => this.#sort(place))
          : column.label;
        return make("th", { scope: "col", class: kind, "aria-sort": direction }, name);
      }),
    );
  }

  /** @param {number} place */
  #sort(place) {
    this.#descending = place === this.#sortedBy ? !this.#descending : Boolean(this.columns[place]?.numeric);
    this.#sortedBy = place;
    this.#showHead();
    this.head.children[place]?.querySelector("button")?.focus();
    this.show(this.#items);
  }
}

/**
 * The button in the head of a column.
 * @param {string | Node} label
 * @param {string | null} direction
 * @param {() => void} press
 */
export function sortButton(label, direction, press) {
  const arrow = direction === "ascending" ? "▲" : direction === "descending" ? "▼" : "";
  return make(
    "button",
    { type: "button", class: "sort", onclick: press },
    label,
    make("span", { class: "arrow", "aria-hidden": "true" }, arrow),
  );
}

/**
 * @param {string | number} a
 * @param {string | number} b
 */
function compare(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b : natural.compare(String(a), String(b));
}
