/** Starts the page: sign-in, then the frame with its views. */

import { whenSignedOut } from "./core/api.js";
import * as clock from "./core/clock.js";
import { Live } from "./core/live.js";
import * as session from "./core/session.js";
import * as theme from "./core/theme.js";
import { Shell } from "./shell.js";
import { askForToken } from "./views/sign_in.js";

const NOT_KNOWN = "The scheduler does not know this token (401). It may be old, or another cluster's.";

/** @type {Live | null} */
let live = null;

function start() {
  live = new Live();
  new Shell(live, () => signOut("")).begin();
  live.begin();
}

/** @param {string} why */
function signOut(why) {
  live?.end();
  session.forget();
  sessionStorage.setItem("moorage-signed-out", why);
  location.reload(); // nothing of what was seen stays in memory
}

theme.begin();
clock.begin();
whenSignedOut(() => signOut(NOT_KNOWN));
const why = sessionStorage.getItem("moorage-signed-out") ?? "";
sessionStorage.removeItem("moorage-signed-out");
if (session.begin()) start();
else askForToken(why, start);
