/** Nodes by plugins as a heat map: rows come page by page, and only those in sight are in the document. */

import { breakable, fill, make, say, settled } from "../core/dom.js";
import { counted, whole } from "../core/text.js";
import { nodeLink } from "./chips.js";
import { field, oneOf } from "./controls.js";
import { empty, failed, isAborted } from "./notice.js";
import { sortButton } from "./table.js";

/** @import { Matrix as Page, MatrixRow, Score } from "../core/documents.js" */

/**
 * @typedef {{ sort: string, order: "asc" | "desc", search: string, only: string, show: string }} Asked
 * @typedef {(asked: Asked, next: string | undefined, signal: AbortSignal) => Promise<Page>} Source
 */

const ROW_HEIGHT = 28;
const AROUND = 12; // rows kept beyond what is in sight

export class Matrix {
  /** @type {Asked} */
  asked = { sort: "total", order: "desc", search: "", only: "", show: "weighted" };
  /** @type {Page["columns"]} */
  #columns = [];
  /** @type {MatrixRow[]} */
  #rows = [];
  #next = /** @type {string | undefined} */ (undefined);
  #loading = new AbortController();
  #isLoading = false;
  #shown = "";

  /**
   * @param {Source} source
   * @param {(asked: Asked) => void} [note] told when the reader asks for something else
   */
  constructor(source, note = () => {}) {
    this.source = source;
    this.note = note;
    this.head = make("tr");
    this.body = make("tbody");
    this.table = make(
      "table",
      { class: "matrix" },
      make("caption", { class: "unseen" }, "Nodes and their scores by plugin"),
      make("thead", {}, this.head),
      this.body,
    );
    this.frame = make(
      "div",
      {
        class: "table-frame matrix-frame",
        tabindex: 0,
        role: "region",
        "aria-label": "Nodes and their scores",
        onscroll: () => this.#scrolled(),
      },
      this.table,
    );
    this.count = make("p", { class: "hint", role: "status" });
    this.search = field("Search nodes", {
      type: "search",
      placeholder: "name, plugin or reason",
      input: settled(200, (search) => this.#ask({ search })),
    });
    this.only = oneOf(
      "Nodes",
      [
        ["", "All"],
        ["feasible", "Fit"],
        ["rejected", "Rejected"],
        ["unseen", "Not looked at"],
      ],
      "",
      (only) => this.#ask({ only }),
    );
    this.values = oneOf(
      "Scores",
      [
        ["weighted", "Weighted"],
        ["normalized", "Normalised"],
        ["raw", "Raw"],
      ],
      "weighted",
      (show) => this.#ask({ show }),
    );
    this.place = make("div");
    this.element = make(
      "div",
      { class: "matrix-view" },
      make("div", { class: "bar" }, this.search.element, this.only.element, this.values.element),
      this.count,
      this.place,
      this.frame,
    );
    new ResizeObserver(() => this.#draw()).observe(this.frame);
  }

  /**
   * Shows what is asked for; the rest stays as it was.
   * @param {Partial<Asked>} asked
   */
  async open(asked = {}) {
    Object.assign(this.asked, asked);
    if (this.search.control.value.trim() !== this.asked.search) this.search.control.value = this.asked.search;
    this.only.set(this.asked.only);
    this.values.set(this.asked.show);
    this.#loading.abort();
    this.#loading = new AbortController();
    this.#isLoading = false;
    this.#next = undefined;
    await this.#load(true);
  }

  /** @param {Partial<Asked>} asked */
  #ask(asked) {
    if (asked.search !== undefined) asked.search = asked.search.trim();
    const isOnlyLook = Object.keys(asked).join() === "show";
    Object.assign(this.asked, asked);
    this.note(this.asked);
    if (!isOnlyLook) return void this.open();
    this.#shown = "";
    this.#draw();
  }

  /** @param {boolean} isFirst */
  async #load(isFirst) {
    if (this.#isLoading) return;
    this.#isLoading = true;
    const { signal } = this.#loading;
    try {
      const page = await this.source(this.asked, this.#next, signal);
      if (signal.aborted) return;
      this.#columns = page.columns;
      this.#rows = isFirst ? page.rows : this.#rows.concat(page.rows);
      this.#next = page.continue;
      this.#isLoading = false;
      if (isFirst) this.frame.scrollTop = 0;
      this.#tellCount(page);
      this.#showHead();
      this.#shown = "";
      this.#draw();
    } catch (error) {
      if (isAborted(error) || signal.aborted) return;
      this.#isLoading = false;
      fill(this.place, failed(error));
    }
  }

  /** @param {Page} page */
  #tellCount(page) {
    const { matching, total } = page;
    say(
      this.count,
      matching === total ? counted(total, "node") : `${whole(matching)} of ${counted(total, "node")}`,
    );
    fill(
      this.place,
      matching === 0 && empty("No node is like that.", "Search for something else, or show all nodes."),
    );
    this.frame.hidden = matching === 0;
    this.table.setAttribute("aria-rowcount", String(matching + 1));
  }

  #showHead() {
    const { sort, order } = this.asked;
    const head = (
      /** @type {string} */ key,
      /** @type {string} */ label,
      /** @type {string} */ kind,
      /** @type {string} */ title,
    ) => {
      const direction = key === sort ? (order === "asc" ? "ascending" : "descending") : null;
      return make(
        "th",
        { scope: "col", class: kind, "aria-sort": direction, title },
        sortButton(breakable(label), direction, () => {
          const turned = order === "desc" ? "asc" : "desc";
          this.#ask({ sort: key, order: key === sort ? turned : key === "name" ? "asc" : "desc" });
        }),
      );
    };
    const focused = [...this.head.children].findIndex((each) => each.contains(document.activeElement));
    fill(
      this.head,
      make("th", { scope: "col", class: "number rank" }, "Rank"),
      head("name", "Node", "node", "the node's name"),
      head("total", "Sum", "number", "the weighted sum"),
      this.#columns.map(({ plugin = "", extender, weight }) =>
        extender
          ? head(extender, extender, "number plugin", `the extender ${extender}`)
          : head(plugin, `${plugin} ×${weight}`, "number plugin", `${plugin}, with weight ${weight}`),
      ),
      this.#columns.length === 0 && make("th", { scope: "col" }, "Why not"),
    );
    if (focused >= 0) this.head.children[focused]?.querySelector("button")?.focus();
  }

  #scrolled() {
    this.#draw();
    const { scrollTop, clientHeight, scrollHeight } = this.frame;
    if (this.#next && scrollTop + clientHeight * 2 > scrollHeight) void this.#load(false);
  }

  /** Puts the rows in sight into the document, with room for the others above and below. */
  #draw() {
    const height = this.frame.clientHeight || 400;
    const first = Math.max(0, Math.floor(this.frame.scrollTop / ROW_HEIGHT) - AROUND);
    const last = Math.min(this.#rows.length, first + Math.ceil(height / ROW_HEIGHT) + 2 * AROUND);
    const shown = `${first} ${last}`;
    if (shown === this.#shown) return;
    this.#shown = shown;
    fill(
      this.body,
      room(first, this.#columns.length),
      this.#rows.slice(first, last).map((row, place) => this.#row(row, first + place)),
      room(this.#rows.length - last, this.#columns.length),
    );
  }

  /**
   * @param {MatrixRow} row
   * @param {number} place
   */
  #row(row, place) {
    const kind = row.chosen ? "chosen" : row.fits ? "fits" : row.fits === null ? "unseen-node" : "rejected";
    const cells = row.scores
      ? [
          make(
            "td",
            { class: "number total" },
            row.total === undefined || row.total === null ? "" : whole(row.total),
          ),
          ...row.scores.map((score) => heatCell(score, this.asked.show)),
        ]
      : [
          make("td", { class: "number total" }, "–"),
          make(
            "td",
            {
              colspan: Math.max(1, this.#columns.length),
              class: "why",
              title: (row.reasons ?? []).join("; "),
            },
            whyNot(row),
          ),
        ];
    return make(
      "tr",
      { class: kind, "aria-rowindex": place + 2 },
      make("td", { class: "number rank" }, row.rank ?? ""),
      make(
        "th",
        { scope: "row", class: "node" },
        nodeLink(row.node),
        row.chosen && make("span", { class: "chip chosen-chip" }, "chosen"),
      ),
      cells,
    );
  }
}

/** @param {MatrixRow} row */
function whyNot(row) {
  if (row.fits === null) return make("span", { class: "quiet" }, "not looked at");
  return [
    make("span", { class: "tag" }, row.plugin ?? ""),
    " ",
    (row.reasons ?? []).join("; ") || row.code || "",
  ];
}

/**
 * @param {Score | null} score
 * @param {string} show
 */
function heatCell(score, show) {
  const value = show === "raw" ? score?.raw : show === "normalized" ? score?.normalized : score?.weighted;
  if (!score || value === undefined) return make("td", { class: "number quiet" }, "–");
  const { raw, normalized, weighted } = score;
  if (normalized === undefined) return make("td", { class: "number" }, whole(value));
  const heat = Math.max(0, Math.min(10, Math.round(normalized / 10)));
  return make(
    "td",
    {
      class: `number heat heat-${heat}`,
      title: `raw ${raw}, normalised ${normalized}, weighted ${weighted}`,
    },
    whole(value),
  );
}

/**
 * Room for rows that are out of sight.
 * @param {number} rows
 * @param {number} columns
 */
function room(rows, columns) {
  if (rows <= 0) return null;
  const cell = make("td", { colspan: columns + 4 });
  cell.style.height = `${rows * ROW_HEIGHT}px`;
  return make("tr", { "aria-hidden": "true", class: "room" }, cell);
}
