// The start as a picture: when each stage began, how long it took, where it ended.

import { h, s, section } from "./dom.js";
import { STAGES, STAGE_NAMES, seconds } from "./format.js";

const ROW = 24;
const LABEL = 104;
const FIGURE = 84;
const LATER = ["api_ready", "serving", "shutdown"];

/** What is drawn: rows with start and length in seconds, made from `startup`. Pure, for the picture and the table. */
export function plan(startup, kind) {
  const stages = startup?.stages ?? [];
  if (!stages.length) return { rows: [], total: 0, timed: false };
  const seen = new Map(stages.map((stage) => [stage.stage, stage]));
  const up = LATER.includes(startup.reached);
  const timed = stages.some((stage) => stage.seconds > 0);
  const reached = STAGES.indexOf(startup.reached);
  const ahead = (name) => !up && STAGES.indexOf(name) > reached && ["weights", "kv_cache", "api_ready"].includes(name);
  const shown = STAGES.filter((name) => seen.has(name) || ahead(name));
  let at = 0;
  const rows = shown.map((name, index) => {
    const stage = seen.get(name);
    // Hours of serving would press the start to nothing: they are told, not drawn.
    const open = up && LATER.includes(name);
    const took = stage?.seconds;
    const state = name === startup.reached && kind !== "fine" && !up ? "last" : stage && STAGES.indexOf(name) <= reached ? "done" : "open";
    const row = { name, label: STAGE_NAMES[name] ?? name, state, open, took, start: timed ? at : index, line: stage?.line, time: stage?.time ?? "" };
    row.length = timed ? (open || !stage ? 0 : took ?? 0) : 1;
    if (timed) at += row.length;
    return row;
  });
  return { rows, total: timed ? at : shown.length, timed };
}

/** The section with the picture, and the same as a table for those who do not see it. */
export function timelineSection(report, kind) {
  const drawing = plan(report.startup, kind);
  if (drawing.rows.filter((row) => row.state !== "open").length < 2) return null;
  const figure = h("div", { class: "drawing" });
  const words = summary(drawing);
  const draw = (width) => figure.replaceChildren(picture(drawing, Math.max(260, Math.round(width)), words));
  draw(560);
  let last = 0;
  new ResizeObserver(([entry]) => {
    const width = entry.contentRect.width;
    if (Math.abs(width - last) < 2) return;
    last = width;
    draw(width);
  }).observe(figure);
  return section("The start", "start", figure, table(drawing), drawing.timed ? null : h("p", { class: "hint" }, "The log has no time stamps: the order is true, the lengths are not known."));
}

function summary({ rows, total, timed }) {
  const stop = rows.find((row) => row.state === "last");
  const where = stop ? `It stopped at: ${stop.label}.` : `It got as far as: ${rows.filter((row) => row.state === "done").at(-1)?.label ?? rows[0].label}.`;
  return `${timed ? `${seconds(total)} in ${rows.length} stages. ` : ""}${where}`;
}

function picture({ rows, total, timed }, width, words) {
  const room = width - LABEL - FIGURE;
  const scale = (value) => LABEL + (total ? (value / total) * room : 0);
  const height = rows.length * ROW + 6;
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `Start-up. ${words}` });
  svg.append(s("line", { class: "axis", x1: LABEL, x2: LABEL, y1: 2, y2: height - 4 }), s("line", { class: "axis", x1: LABEL + room, x2: LABEL + room, y1: 2, y2: height - 4 }));
  rows.forEach((row, index) => {
    const middle = index * ROW + ROW / 2 + 2;
    const x = scale(row.start);
    const long = Math.max(scale(row.start + row.length) - x, row.state === "open" ? 0 : 3);
    const group = s("g", { class: `stage ${row.state}` });
    group.append(s("text", { class: "name", x: LABEL - 12, y: middle + 4, "text-anchor": "end" }, row.label));
    if (row.state === "open") {
      group.append(s("line", { class: "never", x1: LABEL + 6, x2: LABEL + room - 6, y1: middle, y2: middle }));
    } else if (row.state === "last") {
      const drawn = timed && row.length > 0;
      const at = Math.min(Math.max(drawn ? x + long : x, LABEL + 8), LABEL + room - 8);
      if (drawn) group.append(s("rect", { x, y: middle - 6, width: long, height: 12, rx: 2 }));
      group.append(s("circle", { class: "stop", cx: at, cy: middle, r: 8 }), s("path", { class: "cross", d: `M${at - 3} ${middle - 3}l6 6m0-6l-6 6` }));
    } else if (row.open) {
      const end = LABEL + room;
      group.append(s("rect", { class: "on", x: Math.min(x, end - 12), y: middle - 6, width: Math.max(end - x, 12), height: 12, rx: 2 }));
    } else {
      group.append(s("rect", { x, y: middle - 6, width: long, height: 12, rx: 2 }));
    }
    const figure = row.state === "last" ? "stopped here" : row.state === "open" ? "not reached" : row.took === undefined || row.took === null ? "" : seconds(row.took);
    group.append(s("text", { class: "figure", x: LABEL + room + 8, y: middle + 4 }, figure));
    svg.append(group);
  });
  return svg;
}

function table({ rows }) {
  const state = { done: "done", last: "stopped here", open: "not reached" };
  // Within a box: a table is as wide as its words, not as its own width says, and so would be the page.
  return h("div", { class: "sr" }, h("table", {}, h("caption", {}, "Stages of the start"),
    h("thead", {}, h("tr", {}, ["Stage", "State", "Seconds", "Line"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, h("th", { scope: "row" }, row.label), h("td", {}, state[row.state]), h("td", {}, row.took ?? "–"), h("td", {}, row.line ?? "–"))))));
}
