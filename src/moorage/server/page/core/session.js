/** The token: taken out of the address at once, kept for this tab of the browser alone. */

const KEY = "moorage-token";

let token = "";

/** Takes the token from `#token=` or from this tab's storage; returns whether there is one. */
export function begin() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given !== null) {
    history.replaceState(null, "", location.pathname + location.search);
    keep(given);
  } else {
    token = sessionStorage.getItem(KEY) ?? "";
  }
  return token !== "";
}

/** @param {string} given */
export function keep(given) {
  token = given.trim();
  sessionStorage.setItem(KEY, token);
}

export function forget() {
  token = "";
  sessionStorage.removeItem(KEY);
}

/** The header that says who asks. */
export function authorization() {
  return { Authorization: `Bearer ${token}` };
}
