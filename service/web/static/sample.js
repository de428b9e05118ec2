// A first visit: what an answer looks like, from the example log and the engine behind this page.

import { post } from "./api.js";
import { h, set } from "./dom.js";
import { percent } from "./format.js";

/** Show a sample answer; nothing where the service does not give one without being asked for a key. */
export async function showSample(place, tryIt) {
  const file = await fetch(new URL("example.log", import.meta.url)).catch(() => null);
  if (!file?.ok) return;
  const report = await post("v1/triage?store=false", { log: await file.text(), name: "example.log" }, { quiet: true }).catch(() => null);
  if (!report?.title || !place.isConnected) return;
  const [proof] = report.evidence ?? [];
  const [fix] = report.fixes ?? [];
  set(place, h("h2", {}, "What comes back"),
    h("div", { class: "sample" },
      h("p", {}, h("strong", {}, report.title), " ", h("span", { class: "about" }, `${percent(report.confidence)} likely, from an example log`)),
      proof ? h("p", {}, h("code", { class: "proof" }, `line ${proof.line}: ${proof.text.length > 240 ? `${proof.text.slice(0, 240).replace(/\s\S*$/, "")} …` : proof.text}`)) : null,
      fix ? h("p", {}, `First fix: ${fix.title}`, fix.change ? [" – ", h("code", {}, fix.change)] : null) : null,
      h("p", {}, h("button", { type: "button", class: "link", on: { click: tryIt } }, "See the whole answer"))));
  place.hidden = false;
}
