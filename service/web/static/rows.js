// One line of a log as it is shown, in the excerpt and in the viewer.

import { h } from "./dom.js";
import { parse } from "./logline.js";

/** One row of a log. */
export function logRow(number, text, role, palette, process = "", hit = "") {
  const told = parse(text);
  const cls = palette.of(process || told.process);
  return h("div", { class: `logline ${cls} ${role ?? ""} ${told.level.toLowerCase()}` },
    h("span", { class: "no" }, number),
    h("span", { class: "front" }, highlight(told.front, hit)),
    h("span", { class: "text" }, highlight(told.message, hit)));
}

function highlight(text, hit) {
  if (!hit) return text;
  const parts = [];
  const low = text.toLowerCase();
  let from = 0;
  for (let at = low.indexOf(hit); at >= 0 && parts.length < 40; at = low.indexOf(hit, from)) {
    parts.push(text.slice(from, at), h("mark", {}, text.slice(at, at + hit.length)));
    from = at + hit.length;
  }
  return [...parts, text.slice(from)];
}
