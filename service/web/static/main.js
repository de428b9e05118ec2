// Starts the page: addresses, colours, keys, and logs that are dropped anywhere.

import { keepKey, onKeyWanted } from "./api.js";
import { askKey, showKeys, singleKeys } from "./dialogs.js";
import { say, store } from "./dom.js";
import { showHistory } from "./history.js";
import { takeFiles, showHome } from "./home.js";
import { showIncident } from "./incident.js";
import { sessionName, showPerson, signInAddress } from "./person.js";
import { go, listen, render, route } from "./router.js";
import { showUnnamed } from "./unnamed.js";

const THEMES = ["", "light", "dark"];
const SIGNS = { "": "◐", light: "☀", dark: "☾" };
const WORDS = { "": "as the system has them", light: "light", dark: "dark" };

function theme() {
  return document.documentElement.dataset.theme ?? "";
}

function showTheme() {
  const button = document.getElementById("theme");
  button.textContent = SIGNS[theme()];
  button.setAttribute("aria-label", `Colours: ${WORDS[theme()]}`);
  button.title = `Colours: ${WORDS[theme()]} (t)`;
}

function nextTheme() {
  const next = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
  if (next) document.documentElement.dataset.theme = next;
  else delete document.documentElement.dataset.theme;
  store.set("theme", next);
  showTheme();
  say(`Colours: ${WORDS[next]}`);
}

/** Move among what the view lists. */
function step(by) {
  const items = [...document.querySelectorAll("main [data-item]")].filter((item) => item.offsetParent !== null);
  if (!items.length) return;
  const here = items.indexOf(document.activeElement?.closest?.("[data-item]"));
  const next = here < 0 ? (by > 0 ? 0 : items.length - 1) : Math.min(Math.max(here + by, 0), items.length - 1);
  items[next].focus();
  items[next].scrollIntoView({ block: "nearest" });
}

const COMMANDS = {
  "/": () => document.querySelector("main [data-search]")?.focus(),
  "?": showKeys,
  j: () => step(1),
  k: () => step(-1),
  c: () => document.querySelector("main [data-first] .copy")?.click(),
  n: () => go(""),
  h: () => go("history"),
  u: () => go("unnamed"),
  t: nextTheme,
};

function onKey(event) {
  if (event.defaultPrevented || event.isComposing) return;
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key === "Escape") {
    document.querySelector("main [data-cancel]")?.click();
    typing?.blur();
    return;
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (!singleKeys() || !Object.hasOwn(COMMANDS, event.key)) return;
  event.preventDefault();
  COMMANDS[event.key]();
}

function acceptDrops() {
  const veil = document.getElementById("drop");
  let inside = 0;
  const carries = (event) => [...(event.dataTransfer?.types ?? [])].some((type) => type === "Files" || type === "text/plain");
  const show = (on) => (veil.hidden = !on);
  addEventListener("dragenter", (event) => carries(event) && (event.preventDefault(), (inside += 1), show(true)));
  addEventListener("dragover", (event) => carries(event) && event.preventDefault());
  addEventListener("dragleave", (event) => carries(event) && show((inside -= 1) > 0));
  addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    inside = 0;
    show(false);
    const text = event.dataTransfer.getData("text/plain");
    const files = [...event.dataTransfer.files];
    if (files.length || text) takeFiles(files.length ? files : [new Blob([text], { type: "text/plain" })]);
  });
}

/** Addresses below this document were relative to the first view; they must hold in all. */
function fixAddresses() {
  for (const link of document.querySelectorAll(".top a[href], link[rel=icon]")) link.href = new URL(link.href).href;
  for (const image of document.querySelectorAll(".top img")) image.src = new URL(image.src).href;
}

// The link that `serve --require-key link` prints; what follows the # never reaches a server, and does not stay in the address.
function takeKey() {
  const given = /^#key=([\w-]+)$/.exec(location.hash);
  if (!given) return;
  keepKey(given[1]);
  history.replaceState(history.state, "", location.pathname + location.search);
}

takeKey();
onKeyWanted(async (again) => askKey(again, await signInAddress(), await sessionName()));
fixAddresses();
route("home", /^$/, showHome);
route("history", /^history\/?$/, showHistory);
route("unnamed", /^unnamed\/?$/, showUnnamed);
route("incident", /^incidents\/([^/]+)\/?$/, showIncident);
document.getElementById("theme").addEventListener("click", nextTheme);
document.getElementById("keys").addEventListener("click", showKeys);
document.addEventListener("keydown", onKey);
acceptDrops();
showTheme();
showPerson(document.getElementById("person"));
listen();
render(true);
