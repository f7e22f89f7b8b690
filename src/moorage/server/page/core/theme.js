/** Light or dark: as the system has it, until the switch says otherwise; the choice is remembered. */

const KEY = "moorage-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

/** @type {Set<() => void>} */
const followers = new Set();

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : system.matches;
}

export function begin() {
  const kept = localStorage.getItem(KEY);
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  system.addEventListener("change", tell);
  tell();
}

export function turn() {
  const next = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  localStorage.setItem(KEY, next);
  tell();
}

/**
 * Has a drawing made anew when the colours change.
 * @param {() => void} follower
 */
export function follow(follower) {
  followers.add(follower);
}

function tell() {
  for (const follower of followers) follower();
}

/**
 * A colour of the style sheet as it is now, for drawings.
 * @param {string} name
 */
export function ink(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
