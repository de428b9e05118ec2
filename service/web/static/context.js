// The cause in its log: what stands around it, coloured by process; the whole log where the browser has it.

import { h, put, section, set } from "./dom.js";
import { parse } from "./logline.js";
import { logRow } from "./rows.js";
import { viewer } from "./viewer.js";

/** The section, and `jump(line)` for others that name lines. */
export function contextSection(report, log, palette, kind) {
  const marks = marksOf(report, kind);
  const rows = report.context?.length ? report.context : (report.evidence ?? []);
  for (const row of [...rows, ...(report.chain ?? []), ...(report.symptoms ?? [])]) palette.of(row.process || parse(row.text).process);
  const still = rows.length ? excerpt(rows, marks, palette) : null;
  const legend = h("p", { class: "legend" });
  const seeProcesses = () => set(legend, palette.names.map((name) => h("span", { class: `process ${palette.of(name)}` }, name)));
  seeProcesses();
  const title = { failed: "The cause in its log", unknown: "Where it ended", fine: "The log" }[kind];
  const element = section(title, "context", still, log ? null : legend);
  if (!log || !element) return { element, jump: () => {} };

  const place = h("div", { class: "whole" });
  put(element, [place, legend]);
  let jump = () => {};
  log.index().then(
    () => {
      const shown = viewer(log, marks, palette, kind, seeProcesses);
      set(place, shown.element);
      still?.classList.add("paper-only");
      jump = shown.jump;
      jump(report.evidence?.[0]?.line ?? rows[0]?.line ?? log.count, false);
    },
    (error) => set(place, h("p", { class: "hint" }, `Only these lines are shown. ${error.message}`)),
  );
  return {
    element,
    jump(line) {
      element.scrollIntoView({ block: "nearest" });
      jump(line, true);
    },
  };
}

function marksOf(report, kind) {
  const marks = new Map();
  const add = (lines, role) => (lines ?? []).forEach((line) => marks.has(line.line) || marks.set(line.line, role));
  add((report.evidence ?? []).slice(0, 1), kind === "fine" ? "proof" : "cause");
  add((report.evidence ?? []).slice(1), "proof");
  add(report.chain, "raised");
  add(report.symptoms, "symptom");
  return marks;
}

function excerpt(rows, marks, palette) {
  let before = rows[0]?.line;
  const shown = [];
  for (const row of rows) {
    if (row.line > before + 1) shown.push(h("div", { class: "gap", "aria-label": "lines left out" }, "⋯"));
    shown.push(logRow(row.line, row.text, marks.get(row.line), palette, row.process));
    before = row.line;
  }
  return h("div", { class: "loglines wrapped", tabindex: "0", role: "region", "aria-label": "Lines around the cause" }, shown);
}
