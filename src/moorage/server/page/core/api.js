/** Questions to the scheduler's HTTP API, and what went wrong with them in words. */

import { authorization } from "./session.js";

/** @import { Attempts, Comparison, Decision, Matrix, NodesDocument, Pending, Plugins, PodStory, Queue, Summary, Trial, Status } from "./documents.js" */

const ROOT = new URL("../../insight/v1/", import.meta.url);

/** A refusal, with words for people. */
export class Refused extends Error {
  /**
   * @param {number} code
   * @param {string} message
   */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** @type {() => void} */
let onSignedOut = () => {};

/**
 * Says what to do when the server no longer knows the token.
 * @param {() => void} call
 */
export function whenSignedOut(call) {
  onSignedOut = call;
}

/**
 * @typedef {Record<string, string | number | boolean | undefined>} Query
 * @param {string} path
 * @param {Query} [query]
 */
function place(path, query = {}) {
  const url = new URL(path, ROOT);
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") url.searchParams.set(key, String(value));
  }
  return url;
}

/**
 * The answer to a request, once it is known to be a good one.
 * @param {string} path
 * @param {Query} query
 * @param {RequestInit} [init]
 */
export async function request(path, query = {}, init = {}) {
  let response;
  try {
    response = await fetch(place(path, query), {
      ...init,
      headers: { ...authorization(), ...init.headers },
      cache: "no-store",
      credentials: "omit",
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refused(0, "The scheduler does not answer. Is it still running?");
  }
  if (response.ok) return response;
  const refused = new Refused(response.status, words(response.status, await said(response)));
  if (response.status === 401) onSignedOut();
  throw refused;
}

/** @param {Response} response */
async function said(response) {
  try {
    const status = /** @type {Status} */ (await response.json());
    return status.message || response.statusText;
  } catch {
    return response.statusText;
  }
}

/**
 * @param {number} code
 * @param {string} message
 */
function words(code, message) {
  if (code === 401)
    return "The scheduler does not know this token (401). It may be old, or another cluster's.";
  if (code === 403) return `This token may not see that (403): ${message}`;
  if (code === 404) return message;
  return code === 400 || code === 422 ? message : `The scheduler answered ${code}: ${message}`;
}

/**
 * @template T
 * @param {string} path
 * @param {Query} [query]
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
async function get(path, query = {}, signal) {
  return (await request(path, query, signal ? { signal } : {})).json();
}

/**
 * @template T
 * @param {string} path
 * @param {unknown} body
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
async function post(path, body, signal) {
  const init = {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  return (await request(path, {}, signal ? { ...init, signal } : init)).json();
}

/** @param {string} part */
const part = (part) => encodeURIComponent(part);

export const summary = () => /** @type {Promise<Summary>} */ (get("summary"));

/** @param {Query} query */
export const nodes = (query) => /** @type {Promise<NodesDocument>} */ (get("nodes", query));

/** @param {Query} query @param {AbortSignal} [signal] */
export const queue = (query, signal) => /** @type {Promise<Queue>} */ (get("queue", query, signal));

/** @param {boolean} advise @param {AbortSignal} [signal] */
export const pending = (advise, signal) =>
  /** @type {Promise<Pending>} */ (get("pending", { advise }, signal));

/** @param {Query} query @param {AbortSignal} [signal] */
export const attempts = (query, signal) => /** @type {Promise<Attempts>} */ (get("attempts", query, signal));

/** @param {number} number @param {AbortSignal} [signal] */
export const decision = (number, signal) =>
  /** @type {Promise<Decision>} */ (get(`attempts/${number}`, {}, signal));

/** @param {number} number @param {Query} query @param {AbortSignal} [signal] */
export const matrix = (number, query, signal) =>
  /** @type {Promise<Matrix>} */ (get(`attempts/${number}/nodes`, query, signal));

/** @param {string} namespace @param {string} name @param {boolean} advise @param {AbortSignal} [signal] */
export const pod = (namespace, name, advise, signal) =>
  /** @type {Promise<PodStory>} */ (get(`pods/${part(namespace)}/${part(name)}`, { advise }, signal));

/** @param {AbortSignal} [signal] */
export const plugins = (signal) => /** @type {Promise<Plugins>} */ (get("plugins", {}, signal));

/** @param {unknown} body @param {AbortSignal} [signal] */
export const tryPod = (body, signal) => /** @type {Promise<Trial>} */ (post("try", body, signal));

/** @param {string} config @param {AbortSignal} [signal] */
export const compare = (config, signal) =>
  /** @type {Promise<Comparison>} */ (post("compare", { config }, signal));
