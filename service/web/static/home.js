// Where a log comes in: pasted, dropped or chosen; and what is seen while it is read.

import { IN_TAB, get } from "./api.js";
import { h, say, set, store } from "./dom.js";
import { bytes, number } from "./format.js";
import { incidentRow } from "./history.js";
import { triageLog } from "./run.js";
import { go } from "./router.js";
import { showSample } from "./sample.js";

// More than this is not laid out in a text field: it is kept aside, like a file.
const FIELD = 1 << 20;

const LOCAL = /^(localhost|127\.[\d.]+|\[::1\])$/.test(location.hostname);

// In this tab alone, and only while the log is on its way.
const pasted = {
  keep: (text) => { try { sessionStorage.setItem("pasted", text); } catch { /* full, or not allowed */ } },
  take: () => { try { const text = sessionStorage.getItem("pasted") ?? ""; sessionStorage.removeItem("pasted"); return text; } catch { return ""; } },
};

let waiting = null;
let accept = null;

/** Take files from anywhere on the page. */
export function takeFiles(files) {
  waiting = files;
  if (accept) accept();
  else go("");
}

/** The view at `/`. */
export function showHome(main) {
  document.title = "vllm-triage";
  const chosen = h("div", { class: "picked", hidden: true });
  const field = h("textarea", {
    id: "log", rows: 13, spellcheck: "false", autocomplete: "off", autocapitalize: "off", wrap: "off",
    placeholder: "(EngineCore pid=4190) ERROR 11-02 09:15:01 [core.py:1108] EngineCore failed to start.\n…",
    "aria-describedby": "log-help",
  });
  const picker = h("input", { type: "file", id: "file", class: "sr", tabindex: "-1", "aria-label": "Log file", on: { change: () => picker.files.length && take([...picker.files]) } });
  const service = h("input", { id: "service", type: "text", value: store.get("service"), maxlength: 100, autocomplete: "off", placeholder: "optional" });
  const keep = h("input", { id: "keep", type: "checkbox", checked: store.get("store") !== "no" });
  const keeping = h("label", { class: "check", for: "keep" }, keep, "keep the answer in the history");
  const start = h("button", { type: "submit", class: "primary" }, "Triage", matchMedia("(hover: none)").matches ? null : h("kbd", {}, /Mac|iP/.test(navigator.platform) ? "⌘ ↵" : "Ctrl ↵"));
  const wrong = h("p", { class: "problem", role: "alert", hidden: true });
  let big = null;

  const form = h("form", { class: "intake", on: { submit: (event) => (event.preventDefault(), begin()) } },
    h("div", { class: "paper" },
      h("label", { for: "log", class: "sr" }, "The log"), field, chosen,
      h("p", { id: "log-help", class: "hint" }, "Paste it, drop it anywhere, or ",
        h("button", { type: "button", class: "link", on: { click: () => picker.click() } }, "choose a file"),
        " – plain, .gz or .zst, of any size. From its first line, if you can."), picker),
    wrong,
    h("div", { class: "bar" },
      IN_TAB ? null : [h("label", { for: "service" }, "Service"), service],
      IN_TAB ? null : keeping,
      h("span", { class: "grow" }),
      h("button", { type: "button", on: { click: example } }, "Try an example"), start));

  const recent = h("section", { class: "recent", hidden: true });
  const room = h("div", {},
    h("div", { class: "hello" },
      h("h1", {}, "What is wrong with this vLLM server?"),
      h("p", {}, "Give it the log. It names the root cause, shows the lines that prove it, and ranks the fixes with the values worked out from this log’s own numbers."),
      h("p", { class: "hint" }, IN_TAB ? "The log is read in this tab, by the same engine. Nothing of it leaves your machine, and nothing is kept." : `The log goes to this service${LOCAL ? ", on this machine," : ` (${location.host})`} and nowhere else; where the service asks a language model, that is sent the masked evidence alone. The log is not kept; the answer is, with its secrets masked, unless you say otherwise.`)),
    form, recent);
  put(main, room);
  field.value = pasted.take();

  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  field.addEventListener("input", () => (wrong.hidden = true));
  const onPaste = (event) => {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length) return event.preventDefault(), take(files);
    const elsewhere = event.target !== field && !event.target.closest?.("input");
    if (text.length > FIELD) return event.preventDefault(), take([new Blob([text], { type: "text/plain" })]);
    if (elsewhere && text && !document.querySelector("dialog[open]")) {
      event.preventDefault();
      field.value = text;
      field.focus();
    }
    return undefined;
  };
  document.addEventListener("paste", onPaste);
  const leaving = new AbortController();
  accept = () => {
    const files = waiting;
    waiting = null;
    if (files) take(files);
  };
  accept();
  showRecent(recent, leaving.signal).then(
    (some) => some || showSample(recent, example),
    (error) => {
      keeping.hidden = Boolean(error.type?.endsWith("no-history"));
      if (keeping.hidden) showSample(recent, example);
    },
  );
  return () => {
    accept = null;
    leaving.abort();
    document.removeEventListener("paste", onPaste);
  };

  function take(files) {
    [big] = files;
    const more = files.length > 1 ? ` One log at a time: the other ${number(files.length - 1)} are left out.` : "";
    field.hidden = true;
    chosen.hidden = false;
    wrong.hidden = true;
    const drop = h("button", { type: "button", class: "link", "data-cancel": true, on: { click: release } }, "Take another");
    set(chosen, h("strong", {}, big.name ?? "Pasted text"), h("span", {}, bytes(big.size)), more && h("span", {}, more), drop);
    say(`${big.name ?? "Pasted text"}, ${bytes(big.size)}.${more}`);
    // Who drops a file has chosen; several are a question first, and so is a text that was pasted.
    if (big.name && files.length === 1) begin();
    else start.focus();
  }

  function release() {
    big = null;
    picker.value = "";
    chosen.hidden = true;
    field.hidden = false;
    field.focus();
  }

  function complain(text) {
    wrong.textContent = text;
    wrong.hidden = false;
  }

  async function example() {
    const response = await fetch(new URL("example.log", import.meta.url)).catch(() => null);
    if (!response?.ok) return complain("The example could not be loaded.");
    release();
    field.value = await response.text();
    // An example is nobody's incident.
    return begin("example.log", false);
  }

  function begin(name = "", keeps = keep.checked) {
    const log = big ?? (field.value.trim() ? new Blob([field.value], { type: "text/plain" }) : null);
    if (!log) {
      field.focus();
      return complain("There is no log yet: paste one, or choose a file.");
    }
    if (!log.size) return complain("This file is empty.");
    store.set("service", service.value.trim());
    store.set("store", keep.checked ? "" : "no");
    const params = { service: service.value.trim(), name: (name || log.name || "").slice(-200), store: keeps ? "" : "false" };
    leaving.abort();
    // Whoever has to sign in on the way leaves the page, and comes back.
    if (!big) pasted.keep(field.value);
    return triageLog(main, log, params, () => {
      set(main, room);
      field.focus();
    }).finally(pasted.take);
  }
}

function put(main, room) {
  main.replaceChildren(room);
}

// Where there is a history, and it may be read without asking for a key first.
async function showRecent(place, signal) {
  const page = await get("v1/incidents", { limit: 5 }, { signal, quiet: true });
  if (!page?.items?.length) return false;
  set(place, h("h2", {}, "Lately"), h("ul", { class: "incidents" }, page.items.map((item) => incidentRow(item))),
    h("p", {}, h("a", { href: new URL("../../history", import.meta.url).pathname, "data-nav": true }, "All of the history")));
  place.hidden = false;
  return true;
}
