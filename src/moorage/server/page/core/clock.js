/** Ages by the server's clock: `<time data-since>` elements are told anew each second. */

import { make, say } from "./dom.js";
import { age, dateAndTime } from "./units.js";

let ahead = 0;

/**
 * Takes over the server's time.
 * @param {number} serverNow seconds since the epoch
 */
export function set(serverNow) {
  ahead = serverNow - Date.now() / 1000;
}

/** Seconds since the epoch, by the server's clock. */
export function now() {
  return Date.now() / 1000 + ahead;
}

/**
 * An element with the age of something, which goes on growing.
 * @param {number} since
 */
export function ageElement(since) {
  return make("time", { "data-since": since, title: `since ${dateAndTime(since)}` }, age(now() - since));
}

function tick() {
  for (const element of document.querySelectorAll("[data-since]")) {
    say(element, age(now() - Number(element.getAttribute("data-since"))));
  }
}

export function begin() {
  setInterval(tick, 1000);
}
