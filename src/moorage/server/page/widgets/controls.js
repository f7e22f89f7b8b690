/** Form controls with their labels. */

import { freshId, make } from "../core/dom.js";

/**
 * A text field with its label.
 * @param {string} label
 * @param {{ value?: string, placeholder?: string, type?: string, list?: string, hint?: string, input?: (value: string) => void }} [options]
 */
export function field(label, { value = "", placeholder = "", type = "text", list, hint, input } = {}) {
  const id = freshId();
  const control = make("input", {
    id,
    type,
    placeholder,
    list,
    autocomplete: "off",
    spellcheck: "false",
    autocapitalize: "off",
    "aria-describedby": hint ? `${id}-hint` : null,
    oninput: () => input?.(control.value),
  });
  control.value = value;
  const element = make(
    "div",
    { class: "field" },
    make("label", { for: id }, label),
    control,
    hint && make("p", { id: `${id}-hint`, class: "hint" }, hint),
  );
  return { element, control };
}

/**
 * A list to choose from, with its label.
 * @param {string} label
 * @param {[string, string][]} options values and their words
 * @param {string} value
 * @param {(value: string) => void} change
 */
export function choice(label, options, value, change) {
  const id = freshId();
  const control = make("select", { id, onchange: () => change(control.value) });
  setOptions(control, options, value);
  return { element: make("div", { class: "field" }, make("label", { for: id }, label), control), control };
}

/**
 * @param {HTMLSelectElement} control
 * @param {[string, string][]} options
 * @param {string} value
 */
export function setOptions(control, options, value) {
  control.replaceChildren(...options.map(([each, word]) => make("option", { value: each }, word)));
  control.value = value;
}

/**
 * One of a few, all in sight.
 * @param {string} label
 * @param {[string, string][]} options
 * @param {string} value
 * @param {(value: string) => void} change
 */
export function oneOf(label, options, value, change) {
  const name = freshId();
  const element = make("fieldset", { class: "one-of" }, make("legend", {}, label));
  for (const [each, word] of options) {
    const control = make("input", { type: "radio", name, value: each, onchange: () => change(each) });
    control.checked = each === value;
    element.append(make("label", {}, control, make("span", {}, word)));
  }
  return {
    element,
    /** @param {string} value */
    set(value) {
      for (const control of element.querySelectorAll("input")) control.checked = control.value === value;
    },
  };
}

/**
 * @param {string} word
 * @param {() => void} press
 * @param {string} [kind]
 */
export function button(word, press, kind = "") {
  return make("button", { type: "button", class: kind, onclick: press }, word);
}
