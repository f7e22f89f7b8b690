/** Making elements. Text always becomes a text node, never markup, and shows what cannot be seen as escapes. */

import { visible } from "./text.js";

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} Attributes */

/**
 * An element with attributes (a function listens to the event of its name, without the `on`) and children.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  decorate(element, attributes);
  append(element, ...children);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/**
 * The same for drawings.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  decorate(element, attributes);
  append(element, ...children);
  return element;
}

/**
 * @param {Element} element
 * @param {Attributes} attributes
 */
function decorate(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, visible(value));
  }
}

/**
 * @param {Element} element
 * @param {...(Child | Child[])} children
 */
export function append(element, ...children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : visible(child));
  }
}

/**
 * Puts these children in the place of those that are there.
 * @param {Element} element
 * @param {...(Child | Child[])} children
 */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, ...children);
}

/**
 * Sets the text of an element, if it differs: a text that stays keeps selections and costs no layout.
 * @param {Element} element
 * @param {unknown} value
 */
export function say(element, value) {
  const text = visible(value);
  if (element.textContent !== text) element.textContent = text;
}

/**
 * A long name that may be broken between its words: `NodeResourcesFit`, `example.com/name`.
 * @param {string} name
 */
export function breakable(name) {
  const parts = name.split(/(?<=[a-z0-9])(?=[A-Z])|(?<=[/.])/);
  return make(
    "span",
    {},
    parts.flatMap((part, place) => (place ? [make("wbr"), part] : [part])),
  );
}

let made = 0;

/** An id that no other element has, for labels. */
export function freshId() {
  made += 1;
  return `made-${made}`;
}

/**
 * Calls at most once in so many milliseconds after the last call.
 * @template {unknown[]} Given
 * @param {number} milliseconds
 * @param {(...given: Given) => void} call
 * @returns {(...given: Given) => void}
 */
export function settled(milliseconds, call) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...given), milliseconds);
  };
}
