// The two dialogs: the API key, and the list of keys.

import { h, store } from "./dom.js";

/** Ask for an API key; "" where the person does not give one. `signIn` is where one can sign in instead, `was` who was signed in. */
export function askKey(again, signIn = "", was = "") {
  const input = h("input", { type: "password", id: "api-key", autocomplete: "off", spellcheck: "false", required: true });
  const form = h("form", { method: "dialog" },
    h("h2", { id: "key-title" }, was ? "Your session has ended" : "This server asks for an API key"),
    was ? h("p", {}, "Sign in again: a log that was pasted is still there then.") : null,
    h("p", {}, again ? "The key was not accepted. " : "", "It is kept in this tab only, and forgotten when the tab is closed."),
    h("label", { for: "api-key" }, "API key"), input,
    h("div", { class: "row end" },
      signIn ? h("a", { class: was ? "button primary" : "button", href: signIn }, was ? "Sign in again" : "Sign in instead") : null,
      h("button", { type: "button", on: { click: () => dialog.close("") } }, "Cancel"),
      h("button", { type: "submit", class: "primary", value: "ok" }, "Continue")));
  const dialog = h("dialog", { class: "box", "aria-labelledby": "key-title" }, form);
  document.body.append(dialog);
  dialog.showModal();
  input.focus();
  return new Promise((resolve) => {
    // A form with method=dialog sends nothing, but form-action 'none' stops even that in some browsers.
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      dialog.close("ok");
    });
    dialog.addEventListener("close", () => {
      const key = dialog.returnValue === "ok" ? input.value.trim() : "";
      dialog.remove();
      resolve(key);
    });
  });
}

const KEYS = [
  ["Ctrl/⌘ Enter", "triage what was pasted"],
  ["/", "search in the log, or in the history"],
  ["j  k", "next, previous fix, line, incident or group"],
  ["Enter", "open it · next hit of a search (Shift: previous)"],
  ["c", "copy the first fix"],
  ["n", "a new log"],
  ["h", "history"],
  ["u", "not named yet"],
  ["t", "light, dark, as the system"],
  ["Esc", "close, clear, cancel"],
  ["?", "this list"],
];

/** Show the list of keys. */
export function showKeys() {
  if (document.querySelector("dialog[open]")) return;
  const single = h("input", { type: "checkbox", id: "single", checked: singleKeys() });
  single.addEventListener("change", () => store.set("keys", single.checked ? "" : "off"));
  const dialog = h("dialog", { class: "box", "aria-labelledby": "keys-title" },
    h("h2", { id: "keys-title" }, "Keys"),
    h("dl", { class: "keylist" }, KEYS.map(([key, what]) => h("div", {},
      h("dt", {}, key.split("  ").map((part) => h("kbd", {}, part))), h("dd", {}, what)))),
    h("label", { class: "check" }, single, "Single keys (without Ctrl or ⌘)"),
    h("div", { class: "row end" }, h("button", { type: "button", class: "primary", on: { click: () => dialog.close() } }, "Close")));
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.showModal();
}

/** Whether keys without Ctrl are wanted. */
export function singleKeys() {
  return store.get("keys") !== "off";
}
