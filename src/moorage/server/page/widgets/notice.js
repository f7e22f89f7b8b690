/** What is said in place of content: that there is none, that it is under way, or what went wrong. */

import { Refused } from "../core/api.js";
import { make } from "../core/dom.js";

/** @import { Child } from "../core/dom.js" */

/**
 * Nothing to show, and what to do about it.
 * @param {string} title
 * @param {...Child} more
 */
export function empty(title, ...more) {
  return make(
    "div",
    { class: "notice" },
    make("p", { class: "notice-title" }, title),
    more.length > 0 && make("p", {}, more),
  );
}

/** @param {string} text */
export function waiting(text) {
  return make("p", { class: "notice waiting", role: "status" }, text);
}

/**
 * What went wrong, in the words of the server where it has any.
 * @param {unknown} error
 */
export function failed(error) {
  const text = error instanceof Refused ? error.message : `This page has a fault: ${error}`;
  return make("p", { class: "notice fault", role: "alert" }, text);
}

/**
 * Whether a question was given up on purpose.
 * @param {unknown} error
 */
export function isAborted(error) {
  return error instanceof DOMException && error.name === "AbortError";
}
