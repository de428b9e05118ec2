// What nobody has named yet: failures with like words that no rule names, and a rule proposed for each group.

import { ROOT, get } from "./api.js";
import { copyButton, download, h, put, say, set } from "./dom.js";
import { ago, moment, number, plural } from "./format.js";
import { problemBox } from "./problem.js";

const AGAIN = 2500;

/** The view at `/unnamed`. */
export function showUnnamed(main) {
  document.title = "Not named yet – vllm-triage";
  const state = h("p", { class: "waiting", role: "status" }, "Looking for what failures have in common …");
  const about = h("p", { class: "note", hidden: true });
  const list = h("ol", { class: "groups" });
  put(main, h("div", { class: "unnamed" }, h("h1", { tabindex: "-1" }, "Not named yet"),
    h("p", { class: "lead" }, "Failures that no rule is sure of, in groups with the same words. Where a rule would name a group it is proposed: give it words and a fix of your own, and put it into the folder of the setting ", h("code", {}, "rules"), "."),
    about, state, list));
  const leaving = new AbortController();
  let waiting = 0;
  let shown = "";
  load();
  return () => {
    clearTimeout(waiting);
    leaving.abort();
  };

  async function load() {
    try {
      show(await get("v1/unnamed", {}, { signal: leaving.signal }));
    } catch (error) {
      if (!leaving.signal.aborted) set(state, problemBox(error, [["Try again", load]]));
    }
  }

  function show(found) {
    if (found.pending) waiting = setTimeout(load, AGAIN);
    about.hidden = !found.problem;
    about.textContent = found.problem;
    const { groups, incidents } = found;
    // What is being worked out anew is shown when it has changed: nothing that is open closes by itself.
    const now = JSON.stringify(groups);
    if (now !== shown) set(list, groups.map(row));
    shown = now;
    set(state, told(found));
    if (!found.pending) say(groups.length ? plural(groups.length, "group") : incidents ? "No groups" : "Nothing is without a name");
  }

  function told({ groups, incidents, alone, made, pending, problem }) {
    if (!made) return pending ? "Looking for what failures have in common …" : problem ? "" : "Nothing has been triaged here yet.";
    if (!incidents) return "Every failure of this history was answered by a rule that is sure of it. What none recognises will stand here as soon as three logs fail with the same words.";
    const rest = alone ? h("a", { href: new URL("history", ROOT).pathname + "?judged=unknown", "data-nav": true }, groups.length ? `${plural(alone, "incident")} alone` : "the history") : null;
    const when = h("span", { title: moment(made) }, ` Looked ${ago(made)}${pending ? ", looking again …" : "."}`);
    if (!groups.length) return [`No group of three logs with the same error yet: ${plural(incidents, "incident")} without a name, see `, rest, ".", when];
    return [`${plural(incidents, "incident")} without a name in ${plural(groups.length, "group")}`, rest && [", ", rest], ".", when];
  }
}

function row(group) {
  const [first, ...others] = group.examples;
  const facts = [
    plural(group.logs, "log"),
    group.incidents > 1 ? plural(group.incidents, "incident") : "",
    group.releases.length ? `vLLM ${group.releases.slice(0, 4).join(", ")}${group.releases.length > 4 ? " …" : ""}` : "",
    group.nearest ? `nearest: ${group.nearest}` : "",
  ].filter(Boolean);
  return h("li", {},
    h("h2", {}, example(first, true)),
    h("p", { class: "facts" }, facts.map((part) => h("span", {}, part)),
      h("span", {}, "first ", time(group.first_seen)), h("span", {}, "last ", time(group.last_seen))),
    others.length ? h("ul", { class: "others", "aria-label": "Other wordings" }, others.map((one) => h("li", {}, example(one, false)))) : null,
    group.confirmed?.length ? h("div", { class: "confirmed" }, h("p", { class: "hint" }, "A model proposed this and somebody said that it was right. Read it before it becomes a fix of the rule:"),
      h("ul", {}, group.confirmed.map((text) => h("li", {}, h("code", {}, text))))) : null,
    group.rule ? proposal(group) : h("p", { class: "hint" }, `No rule is proposed: ${group.problem}.`));
}

function example({ line, incident, service }, first) {
  const href = new URL(`incidents/${encodeURIComponent(incident)}`, ROOT).pathname;
  return [h("a", { href, "data-nav": true, "data-item": first, class: "line" }, h("code", {}, line)), service ? h("span", { class: "service" }, service) : null];
}

const time = (at) => h("time", { datetime: at, title: moment(at) }, ago(at));

function proposal(group) {
  const file = `found_${group.id}.toml`;
  const fits = `fits ${number(group.covers)} of ${plural(group.incidents, "incident")}`;
  const save = h("button", { type: "button", "aria-label": `Download ${file}`, on: { click: () => (download(file, group.rule, "application/toml"), say(`${file} downloaded`)) } }, "Download TOML");
  return h("details", {},
    h("summary", {}, "Proposed rule", h("span", { class: "fits" }, fits)),
    h("pre", { tabindex: "0", role: "region", "aria-label": file }, h("code", {}, group.rule)),
    h("p", { class: "row" }, save, copyButton(group.rule, "Copy", `Copy ${file}`)));
}
