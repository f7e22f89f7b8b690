/** The nodes in columns, and what the stream changes in them. */

/** @import { NodesDocument, Usage } from "./documents.js" */

export class NodeColumns {
  /** @param {NodesDocument} document */
  constructor(document) {
    this.version = document.version;
    this.names = document.names;
    this.resources = document.resources;
    this.unschedulable = document.unschedulable;
    this.taints = document.taints;
    this.labelKeys = document.labelKeys;
    this.labels = document.labels;
    this.allocatable = columns(document.allocatable);
    this.requested = columns(document.requested);
  }

  get length() {
    return this.names.length;
  }

  /**
   * The share of a resource that is requested on a node; NaN where the node has none of it.
   * @param {string} resource
   * @param {number} row
   */
  share(resource, row) {
    const has = this.allocatable.get(resource)?.[row] ?? 0;
    return has > 0 ? (this.requested.get(resource)?.[row] ?? 0) / has : NaN;
  }

  /**
   * What all nodes together have and give away.
   * @param {string} resource
   */
  total(resource) {
    const sum = (/** @type {Float64Array | undefined} */ column) =>
      column?.reduce((all, each) => all + each, 0) ?? 0;
    return { allocatable: sum(this.allocatable.get(resource)), requested: sum(this.requested.get(resource)) };
  }

  /**
   * Takes over changed usage; returns the rows that changed, null for all of them.
   * @param {Usage} usage
   * @returns {number[] | null}
   */
  apply(usage) {
    for (const [resource, values] of Object.entries(usage.requested)) {
      const column = this.requested.get(resource);
      if (!column) continue;
      if (usage.all) column.set(values.slice(0, column.length));
      else usage.rows?.forEach((row, place) => (column[row] = values[place] ?? 0));
    }
    return usage.all ? null : (usage.rows ?? []);
  }

  /**
   * The rows by the value of a label, values in natural order, those without it last.
   * @param {string} key empty for one group of all
   * @returns {{ name: string, rows: number[] }[]}
   */
  groups(key) {
    const label = this.labels[key];
    if (!label) return [{ name: "", rows: this.names.map((_, row) => row) }];
    /** @type {number[][]} */
    const rows = label.values.map(() => []);
    label.codes.forEach((code, row) => rows[code]?.push(row));
    const named = label.values.map((name, code) => ({ name, rows: rows[code] ?? [], code }));
    return named
      .filter((group) => group.rows.length)
      .sort((a, b) => Number(a.code === 0) - Number(b.code === 0) || natural.compare(a.name, b.name))
      .map(({ name, rows, code }) => ({ name: code === 0 ? `without ${key}` : name, rows }));
  }
}

export const natural = new Intl.Collator("en", { numeric: true });

/** @param {Record<string, number[]>} document */
function columns(document) {
  return new Map(Object.entries(document).map(([name, values]) => [name, Float64Array.from(values)]));
}
