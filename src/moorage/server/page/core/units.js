/** Amounts, shares and durations in the words that people of Kubernetes use. */

import { whole } from "./text.js";

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

/**
 * An amount of a resource as it stands in the columns: cpu in millicores, all else in whole units.
 * @param {string} resource
 * @param {number} value
 */
export function amount(resource, value) {
  if (resource === "cpu")
    return value % 1000 === 0 || value >= 10_000 ? short(value / 1000) : `${whole(value)}m`;
  if (resource === "memory" || resource === "ephemeral-storage" || resource.startsWith("hugepages-"))
    return bytes(value);
  return whole(value);
}

/** @param {number} value */
export function bytes(value) {
  let power = 0;
  while (Math.abs(value) >= 1024 && power < BINARY.length - 1) {
    value /= 1024;
    power += 1;
  }
  return `${short(value)}${BINARY[power] ? ` ${BINARY[power]}` : ""}`;
}

/**
 * Three figures at most behind nothing, one digit behind the point where that matters.
 * @param {number} value
 */
export function short(value) {
  if (Number.isInteger(value) || Math.abs(value) >= 100) return whole(value);
  return String(Number(value.toPrecision(Math.abs(value) < 1 ? 2 : 3)));
}

/** @param {number} share */
export function percent(share) {
  return Number.isFinite(share) ? `${(share * 100).toFixed(share < 0.0995 ? 1 : 0)} %` : "–";
}

/**
 * How long something took: `0.4 ms`, `12 ms`, `3.1 s`, `4 min`.
 * @param {number} seconds
 */
export function took(seconds) {
  if (seconds < 1e-3) return `${short(Math.round(seconds * 1e7) / 10)} µs`;
  if (seconds < 1) return `${short(Math.round(seconds * 1e5) / 100)} ms`;
  return seconds < 60 ? `${short(Math.round(seconds * 10) / 10)} s` : age(seconds);
}

/**
 * How long something has lasted, as coarse as a reader wants it.
 * @param {number} seconds
 */
export function age(seconds) {
  const all = Math.max(0, Math.floor(seconds));
  if (all < 60) return `${all} s`;
  if (all < 600) return all % 60 ? `${Math.floor(all / 60)} min ${all % 60} s` : `${all / 60} min`;
  if (all < 3600) return `${Math.floor(all / 60)} min`;
  if (all < 86_400) return `${Math.floor(all / 3600)} h ${Math.floor((all % 3600) / 60)} min`;
  return `${Math.floor(all / 86_400)} d ${Math.floor((all % 86_400) / 3600)} h`;
}

/**
 * The time of day, with milliseconds.
 * @param {number} time seconds since the epoch
 */
export function timeOfDay(time) {
  const date = new Date(time * 1000);
  const two = (/** @type {number} */ part) => String(part).padStart(2, "0");
  const milliseconds = String(date.getMilliseconds()).padStart(3, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${milliseconds}`;
}

/**
 * Date and time of day, for titles.
 * @param {number} time seconds since the epoch
 */
export function dateAndTime(time) {
  return new Date(time * 1000).toISOString().replace("T", " ").replace("Z", " UTC");
}
