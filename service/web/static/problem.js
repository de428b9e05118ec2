// What went wrong with a request, and what can be done about it.

import { h } from "./dom.js";

/** A box with the words of a problem, and buttons: [["Try again", f], …]. */
export function problemBox(error, actions = []) {
  const title = error.title ?? "Something went wrong on this page";
  const facts = [
    error.status ? `status ${error.status}` : "",
    error.request ? `request ${error.request}` : "",
    error.retry ? `try again in ${error.retry} s` : "",
  ].filter(Boolean);
  return h("section", { class: "problem", role: "alert", tabindex: "-1" },
    h("h1", {}, title),
    h("p", {}, error.detail ?? error.message),
    facts.length ? h("p", { class: "hint" }, facts.join(" · ")) : null,
    actions.length ? h("p", { class: "row" }, actions.map(([label, act], index) => h("button", { type: "button", class: index ? "" : "primary", on: { click: act } }, label))) : null);
}
