/** What the page knows of the running scheduler, kept up to date by the stream. */

import * as api from "./api.js";
import * as clock from "./clock.js";
import { NodeColumns } from "./nodes.js";
import { Stream } from "./stream.js";

/** @import { Attempt, NodesDocument, StreamedAttempts, StreamedOutcome, Summary, Usage } from "./documents.js" */
/** @import { Connection } from "./stream.js" */

const KEPT = 1000;
const ZONE = "topology.kubernetes.io/zone";

/**
 * What is told: `summary`, `attempts` (with those that are new), `outcomes`, `nodes` (all anew), `usage` (with the
 * rows, null for all), `connection`.
 * @typedef {"summary" | "attempts" | "outcomes" | "nodes" | "usage" | "connection"} Kind
 */

export class Live {
  /** @type {Summary | null} */
  summary = null;
  /** @type {NodeColumns | null} */
  nodes = null;
  /** @type {Attempt[]} newest last */
  attempts = [];
  /** @type {Map<number, Attempt>} */
  #byNumber = new Map();
  /** @type {Connection} */
  connection = { is: "connecting" };
  /** How many attempts the stream left out since the page was opened. */
  missed = 0;
  /** The label that nodes are grouped by; null: not chosen yet. @type {string | null} */
  groupKey = null;
  /** @type {Map<Kind, Set<(what: any) => void>>} */
  #listeners = new Map();
  #stream = new Stream(
    (kind, data) => this.#take(kind, data),
    (connection) => this.#takeConnection(connection),
  );
  #wasCut = false;
  #isResting = false;
  #loading = false;
  #again = false;

  begin() {
    // A page that nobody sees, or that the browser keeps for the way back, would hold one of the few
    // connections that a browser has to one server.
    const look = () => (document.visibilityState === "visible" ? this.#resume() : this.#rest());
    document.addEventListener("visibilitychange", look);
    addEventListener("pageshow", (event) => event.persisted && look());
    addEventListener("pagehide", () => this.#rest());
    this.#stream.start();
    void this.loadNodes();
  }

  #resume() {
    if (this.#isResting) this.#stream.start();
    this.#isResting = false;
  }

  #rest() {
    this.#isResting = this.#wasCut = true;
    this.#stream.stop();
  }

  end() {
    this.#stream.stop();
  }

  /**
   * @param {Kind} kind
   * @param {(what: any) => void} listener
   */
  on(kind, listener) {
    const listeners = this.#listeners.get(kind) ?? new Set();
    this.#listeners.set(kind, listeners.add(listener));
  }

  /**
   * @param {Kind} kind
   * @param {unknown} what
   */
  #tell(kind, what) {
    for (const listener of this.#listeners.get(kind) ?? []) listener(what);
  }

  /**
   * @param {string} kind
   * @param {any} data
   */
  #take(kind, data) {
    if (kind === "summary") this.#takeSummary(data);
    else if (kind === "attempts") this.#takeAttempts(data);
    else if (kind === "outcomes") this.#takeOutcomes(data);
    else if (kind === "usage") this.#takeUsage(data);
  }

  /** @param {Connection} connection */
  #takeConnection(connection) {
    this.connection = connection;
    if (connection.is === "cut") this.#wasCut = true;
    if (connection.is === "live" && this.#wasCut) {
      this.#wasCut = false;
      void this.loadNodes(); // what changed meanwhile was not told
    }
    this.#tell("connection", connection);
  }

  /** @param {Summary} summary */
  #takeSummary(summary) {
    clock.set(summary.now);
    const isNew = this.summary !== null && this.summary.started !== summary.started;
    this.summary = summary;
    if (isNew || (this.nodes && this.nodes.length !== summary.nodes)) void this.loadNodes();
    this.#tell("summary", summary);
  }

  /** @param {StreamedAttempts} news */
  #takeAttempts(news) {
    this.missed += news.missed;
    for (const attempt of news.attempts) {
      this.attempts.push(attempt);
      this.#byNumber.set(attempt.number, attempt);
    }
    const old = this.attempts.splice(0, Math.max(0, this.attempts.length - KEPT));
    for (const attempt of old) this.#byNumber.delete(attempt.number);
    this.#tell("attempts", news.attempts);
  }

  /** @param {StreamedOutcome[]} outcomes */
  #takeOutcomes(outcomes) {
    for (const outcome of outcomes) {
      const attempt = this.#byNumber.get(outcome.number);
      if (attempt) Object.assign(attempt, outcome);
    }
    this.#tell("outcomes", outcomes);
  }

  /** @param {Usage} usage */
  #takeUsage(usage) {
    if (!this.nodes) return;
    if (usage.version === this.nodes.version) this.#tell("usage", this.nodes.apply(usage));
    else void this.loadNodes();
  }

  /**
   * Groups nodes by another label.
   * @param {string} key
   */
  async groupBy(key) {
    if (key === this.groupKey && this.nodes) return;
    this.groupKey = key;
    await this.loadNodes();
  }

  /** Reads all nodes anew; a call meanwhile has it done once more. */
  async loadNodes() {
    if (this.#loading) {
      this.#again = true;
      return;
    }
    this.#loading = true;
    try {
      do {
        this.#again = false;
        const document = await allNodes(this.groupKey ?? ZONE);
        if (this.groupKey === null && document.labelKeys.includes(ZONE)) this.groupKey = ZONE;
        this.nodes = new NodeColumns(document);
        this.#tell("nodes", this.nodes);
      } while (this.#again);
    } catch (error) {
      if (error instanceof api.Refused && (error.code === 401 || error.code === 403)) return;
      setTimeout(() => this.loadNodes(), 2000); // what is wrong stands in the status line: the stream says it
    } finally {
      this.#loading = false;
    }
  }
}

/**
 * The nodes of all pages; begins again if they changed between two.
 * @param {string} labels
 * @returns {Promise<NodesDocument>}
 */
async function allNodes(labels) {
  const first = await api.nodes({ labels });
  for (let next = first.continue; next;) {
    const page = await api.nodes({ labels, continue: next });
    if (page.version !== first.version) return allNodes(labels);
    join(first, page);
    next = page.continue;
  }
  return first;
}

/**
 * @param {NodesDocument} first
 * @param {NodesDocument} page
 */
function join(first, page) {
  first.names.push(...page.names);
  first.unschedulable.push(...page.unschedulable);
  first.taints.push(...page.taints);
  for (const resource of first.resources) {
    first.allocatable[resource]?.push(...(page.allocatable[resource] ?? []));
    first.requested[resource]?.push(...(page.requested[resource] ?? []));
  }
  for (const [key, label] of Object.entries(page.labels)) {
    const into = first.labels[key];
    if (!into) continue;
    const places = label.values.map((value, code) => {
      if (code === 0) return 0;
      const place = into.values.indexOf(value, 1);
      return place > 0 ? place : into.values.push(value) - 1;
    });
    into.codes.push(...label.codes.map((code) => places[code] ?? 0));
  }
}
