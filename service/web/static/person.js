// Who is in front of the page: signed in, or not; and where one can.

import { ROOT, get, post } from "./api.js";
import { h, put } from "./dom.js";

let asked = null;
/** Who asks, as the service sees it; nobody where it does not say. */
export function me() {
  asked ??= get("auth/me", {}, { quiet: true }).catch(() => null).then((told) => told ?? {});
  return asked;
}

/** Whether who asks may do something; where the service does not say who that is, trying shows it. */
export async function may(scope) {
  const { name, scopes = [] } = await me();
  return !name || scopes.includes(scope);
}

/** Where to sign in and come back to this view; empty where that is not possible. */
export async function signInAddress() {
  const { sign_in: path } = await me();
  if (!path) return "";
  const below = location.pathname.slice(new URL(ROOT).pathname.length - 1);
  return `${path}?${new URLSearchParams({ after: (below || "/") + location.search })}`;
}

/** Who was signed in when the page was opened; empty where nobody was. */
export async function sessionName() {
  const { name, signed_in: session } = await me();
  return session ? name : "";
}

/** The name in the header, with the way out; or the way in. */
export async function showPerson(place) {
  const { name, signed_in: session } = await me();
  if (session) {
    put(place, [h("span", { class: "person", title: "Signed in" }, name), h("button", { type: "button", class: "quiet", on: { click: leave } }, "Sign out")]);
    return;
  }
  const address = name ? "" : await signInAddress();
  if (address) put(place, h("a", { class: "button quiet", href: address }, "Sign in"));
}

async function leave() {
  const told = await post("auth/logout", undefined, { quiet: true }).catch(() => null);
  location.assign(told?.provider ?? ROOT);
}
