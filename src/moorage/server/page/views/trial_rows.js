/** The nodes of a trial as rows of a matrix, sorted and searched here. */

import { natural } from "../core/nodes.js";

/** @import { Matrix, MatrixRow, Trial } from "../core/documents.js" */
/** @import { Asked } from "../widgets/matrix.js" */

/** @typedef {{ columns: Matrix["columns"], rows: MatrixRow[] }} Rows */

/**
 * @param {Trial} trial
 * @returns {Rows}
 */
export function rowsOf(trial) {
  const { scores = {}, totals = {}, nodeStatus = {}, best = [] } = trial;
  const plugins = Object.keys(Object.values(scores)[0] ?? {});
  const columns = plugins.map((plugin) => ({ plugin, weight: weightOf(plugin, scores) }));
  const ranked = Object.values(totals).sort((a, b) => b - a);
  /** @type {MatrixRow[]} */
  const fitting = trial.feasible.map((node) => ({
    node,
    fits: true,
    total: totals[node] ?? 0,
    rank: ranked.indexOf(totals[node] ?? 0) + 1,
    chosen: best.length === 1 && best[0] === node,
    scores: plugins.map((plugin) => {
      const given = scores[node]?.[plugin];
      return given ? { raw: given.raw, normalized: given.raw, weighted: given.weighted } : null;
    }),
  }));
  /** @type {MatrixRow[]} */
  const rejected = Object.entries(nodeStatus).map(([node, { plugin = "", code, reasons = [] }]) => ({
    node,
    fits: false,
    plugin,
    code,
    reasons,
    scores: null,
  }));
  return { columns, rows: [...fitting, ...rejected] };
}

/**
 * The weight of a plugin, from a node that it gave something.
 * @param {string} plugin
 * @param {NonNullable<Trial["scores"]>} scores
 */
function weightOf(plugin, scores) {
  for (const given of Object.values(scores)) {
    const { raw = 0, weighted = 0 } = given[plugin] ?? {};
    if (raw) return weighted / raw;
  }
  return 1;
}

/**
 * @param {Rows} all
 * @param {Asked} asked
 * @returns {Matrix}
 */
export function pageOf({ columns, rows }, { sort, order, search, only }) {
  const text = search.toLowerCase();
  const found = rows.filter(
    (row) =>
      isWanted(row, only) &&
      (!text ||
        `${row.node} ${row.plugin ?? ""} ${(row.reasons ?? []).join(" ")}`.toLowerCase().includes(text)),
  );
  const place = columns.findIndex((column) => column.plugin === sort);
  const value = (/** @type {MatrixRow} */ row) =>
    place < 0 ? (row.total ?? 0) : (row.scores?.[place]?.weighted ?? 0);
  const way = order === "asc" ? 1 : -1;
  const sorted = found.sort((a, b) =>
    sort === "name"
      ? natural.compare(a.node, b.node) * way
      : Number(b.fits) - Number(a.fits) || (value(a) - value(b)) * way || natural.compare(a.node, b.node),
  );
  return { columns, total: rows.length, matching: sorted.length, rows: sorted };
}

/**
 * @param {MatrixRow} row
 * @param {string} only
 */
function isWanted(row, only) {
  if (only === "feasible") return row.fits === true;
  if (only === "rejected") return row.fits === false;
  return only !== "unseen";
}
