// What to do, best first: what to paste, why it works, what it costs, how to see that it helped.

import { copyButton, h, section } from "./dom.js";
import { costs, plural } from "./format.js";

const SAFETY = { quality: "changes the quality of answers", destructive: "destroys something: read before you paste" };

/** Whether a fix is to be pasted (and not only read). */
export function pasted(fix) {
  return ["flag", "env", "command"].includes(fix.kind) && Boolean(fix.change);
}

/** The ranked fixes. */
export function fixesSection(report, kind) {
  const fixes = report.fixes ?? [];
  if (!fixes.length) return report.withheld?.length && kind !== "fine" ? section("No fix is sure enough", "todo", left(report.withheld)) : null;
  const [best, ...others] = fixes.map((fix) => card(fix));
  // On a phone the others wait behind a word.
  const fold = kind !== "fine" && others.length && matchMedia("(max-width: 40rem)").matches;
  const list = fold
    ? [h("ol", { class: "fixes" }, best), h("details", { class: "fold" }, h("summary", {}, plural(others.length, "more fix", "more fixes")), h("ol", { class: "fixes" }, others))]
    : h("ol", { class: "fixes" }, best, others);
  if (kind !== "fine") return section(kind === "unknown" ? "What to do next" : "Fixes, best first", "todo", list, left(report.withheld));
  return h("details", { class: "todo" }, h("summary", {}, h("h2", {}, "If you see trouble all the same")), list);
}

// What was left out, each with the fact or the record that speaks against it.
function left(withheld = []) {
  if (!withheld.length) return null;
  const row = ({ title, reason }) => h("div", {}, h("dt", {}, title), h("dd", {}, reason));
  return h("details", { class: "fold" }, h("summary", {}, `${withheld.length} left out`), h("dl", { class: "left" }, withheld.map(row)));
}

function card(fix) {
  const meta = [
    ["Costs", costs(fix.cost) ? fix.cost : ""],
    ["Check", fix.verify],
    ["Needs", fix.root ? "the superuser, or access to the host" : ""],
    ["Takes", fix.restart === true ? "a restart" : fix.restart === false && pasted(fix) ? "no restart" : ""],
    ["vLLM", fix.versions],
    ["Fixed in", fix.fixed_in],
  ].filter(([, text]) => text);
  return h("li", { tabindex: "-1", "data-item": true, class: `fix ${fix.safety ?? ""}`, "aria-label": `Fix ${fix.rank}: ${fix.title}` },
    h("span", { class: "rank", "aria-hidden": "true" }, fix.rank),
    h("div", { class: "body" },
      h("h3", {}, fix.title, SAFETY[fix.safety] ? h("span", { class: "badge" }, SAFETY[fix.safety]) : null),
      pasted(fix)
        ? h("div", { class: "paste" }, h("code", {}, fix.change), copyButton(fix.change, "Copy", `Copy fix ${fix.rank}`))
        : fix.change && fix.change !== fix.title ? h("p", { class: "step" }, fix.change) : null,
      fix.why ? h("p", { class: "why" }, fix.why) : null,
      meta.length || fix.source ? h("dl", { class: "meta" },
        meta.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))),
        source(fix.source)) : null));
}

// Sources come from the rules; rules may be anybody's, so only a web address becomes a link.
function source(text) {
  if (!text) return null;
  let shown = text;
  if (/^https:\/\/[\w.-]+\//.test(text)) {
    const url = new URL(text);
    shown = h("a", { href: url.href, rel: "noopener noreferrer", target: "_blank" }, url.hostname + shorten(url.pathname));
  }
  return h("div", {}, h("dt", {}, "Source"), h("dd", {}, shown));
}

function shorten(path) {
  const parts = path.split("/").filter(Boolean);
  return parts.length > 1 ? `/…/${parts.at(-1)}` : path.replace(/\/$/, "");
}
