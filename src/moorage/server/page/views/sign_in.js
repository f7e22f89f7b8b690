/** Asks for a token. */

import { fill, make } from "../core/dom.js";
import { keep } from "../core/session.js";
import { field } from "../widgets/controls.js";

/**
 * @param {string} why what went wrong before, if anything did
 * @param {() => void} then
 */
export function askForToken(why, then) {
  const main = /** @type {HTMLElement} */ (document.getElementById("main"));
  const token = field("Token", { type: "password", hint: "It stays in this tab of the browser." });
  token.control.required = true;
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    if (!token.control.value.trim()) return;
    keep(token.control.value);
    then();
  };
  fill(
    main,
    make(
      "form",
      { class: "panel sign-in", onsubmit: submit },
      make("h1", {}, "Sign in"),
      why && make("p", { class: "notice fault", role: "alert" }, why),
      token.element,
      make("button", { type: "submit", class: "primary" }, "Open"),
      make("h2", {}, "Where the token is"),
      make(
        "ul",
        {},
        make(
          "li",
          {},
          make("code", {}, "moorage up"),
          " prints an address that has it, at start; it stands in the file ",
          make("code", {}, "KUBECONFIG.scheduler"),
          " beside the kubeconfig, too.",
        ),
        make(
          "li",
          {},
          "For ",
          make("code", {}, "moorage run --dashboard"),
          " any bearer token of the cluster whose owner may read ",
          make("code", {}, "/insight/v1/*"),
          ": ",
          make("code", {}, "kubectl create token NAME"),
          ".",
        ),
      ),
    ),
  );
  document.title = "Sign in · Moorage";
  token.control.focus();
}
