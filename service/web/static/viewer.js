// The whole log, of any size: only the rows that are seen exist.

import { h, say, set } from "./dom.js";
import { number, plural } from "./format.js";
import { logRow } from "./rows.js";

const ROW = 20;
const SPARE = 12;
const SHORT = 14;
// Browsers end an element somewhere above 16 million pixels; longer logs scroll more than a line for a line.
const TALLEST = 12_000_000;
const HITS = 5000;
const NAMES = { proof: "evidence", raised: "raised from it", symptom: "symptom" };

/** A window on a LogFile. Returns {element, jump(line, focus)}. */
export function viewer(log, marks, palette, kind, onProcesses) {
  const names = { cause: kind === "failed" ? "cause" : "most telling", ...NAMES };
  const height = Math.min(log.count * ROW, TALLEST);
  const space = h("div", { class: "space" });
  space.style.blockSize = `${height}px`;
  const rows = h("div", { class: "rows" });
  const scroller = h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": `The log, ${plural(log.count, "line")}` }, space, rows);
  // A short log leaves no empty paper below it; there is room for the bar that scrolls sideways.
  if (log.count < SHORT) scroller.style.blockSize = `${height + ROW}px`;
  const ruler = h("div", { class: "ruler", "aria-hidden": "true" });
  const count = h("span", { class: "hint", role: "status" });
  // Rows are one line high, so that logs of any length scroll; the chosen one, the cause to begin with, is never cut.
  const whole = h("p", { class: "wholeline", hidden: true });
  const field = h("input", { type: "search", placeholder: "Search the log", "aria-label": "Search the log", "data-search": true, spellcheck: "false" });
  const lines = [...marks.keys()].sort((a, b) => a - b);
  let top = 0;
  let chosen = 0;
  let drawn = 0;
  let asked = new AbortController();
  let hits = [];
  let at = -1;

  const chips = h("div", { class: "chips" }, lines.slice(0, 12).map((line) =>
    h("button", { type: "button", class: `chip ${marks.get(line)}`, on: { click: () => jump(line, true) } }, names[marks.get(line)], h("span", {}, number(line)))));
  const element = h("div", { class: "viewer" },
    h("div", { class: "viewbar" }, chips, h("div", { class: "find" }, count, field)),
    h("div", { class: "window" }, scroller, ruler), whole);

  for (const [line, role] of marks) tick(line, role);
  scroller.addEventListener("scroll", () => {
    const first = firstSeen();
    if (first !== top) {
      top = first;
      draw();
    }
  }, { passive: true });
  rows.addEventListener("click", (event) => {
    const row = event.target.closest(".logline");
    // Whoever marks text to copy it does not choose a line.
    if (row && !String(getSelection())) choose(Number(row.dataset.line));
  });
  scroller.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by || event.ctrlKey || event.metaKey || !chosen) return;
    event.preventDefault();
    jump(Math.min(log.count, Math.max(1, chosen + by)), true);
  });
  new ResizeObserver(draw).observe(scroller);
  field.addEventListener("input", search);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") (event.preventDefault(), step(event.shiftKey ? -1 : 1));
    if (event.key === "Escape" && field.value) (event.preventDefault(), (field.value = ""), search());
  });
  return { element, jump };

  function seen() {
    return Math.max(1, Math.floor(scroller.clientHeight / ROW));
  }

  function firstSeen() {
    const last = Math.max(0, log.count - seen());
    if (height === log.count * ROW) return Math.min(last, Math.floor(scroller.scrollTop / ROW));
    return Math.round((scroller.scrollTop / Math.max(1, height - scroller.clientHeight)) * last);
  }

  function choose(line) {
    chosen = line;
    draw();
    showWhole();
  }

  async function showWhole() {
    const line = chosen;
    const [text] = await log.lines(line - 1, 1);
    if (line !== chosen) return;
    whole.hidden = !text?.trim();
    set(whole, h("span", { class: "no" }, `line ${number(line)}`), text);
  }

  /** Show a line (1-based) in the upper third. */
  function jump(line, focus) {
    chosen = line;
    showWhole();
    const last = Math.max(0, log.count - seen());
    top = Math.min(last, Math.max(0, line - 1 - Math.floor(seen() / 3)));
    scroller.scrollTop = height === log.count * ROW ? top * ROW : (top / Math.max(1, last)) * (height - scroller.clientHeight);
    draw();
    if (focus) {
      scroller.focus({ preventScroll: true });
      say(`Line ${line}`);
    }
  }

  async function draw() {
    const turn = (drawn += 1);
    const from = Math.max(0, top - SPARE);
    const texts = await log.lines(from, seen() + 2 * SPARE);
    // A later scroll has asked for others since.
    if (turn !== drawn) return;
    const known = palette.names.length;
    const wanted = field.value.toLowerCase();
    const shown = texts.map((text, index) => {
      const line = from + index + 1;
      const row = logRow(line, text, marks.get(line), palette, "", wanted.length > 1 ? wanted : "");
      row.dataset.line = line;
      if (line === chosen) row.classList.add("chosen");
      return row;
    });
    set(rows, shown);
    const start = height === log.count * ROW ? from * ROW : scroller.scrollTop - (top - from) * ROW;
    rows.style.transform = `translateY(${Math.max(0, start)}px)`;
    if (palette.names.length > known) onProcesses();
  }

  function tick(line, role) {
    const mark = h("i", { class: role });
    mark.style.insetBlockStart = `${((line - 1) / Math.max(1, log.count)) * 100}%`;
    ruler.append(mark);
  }

  async function search() {
    asked.abort();
    asked = new AbortController();
    const { signal } = asked;
    hits = [];
    at = -1;
    count.textContent = "";
    for (const mark of ruler.querySelectorAll(".hit")) mark.remove();
    const wanted = field.value;
    if (wanted.length < 2) return draw();
    try {
      const found = await log.search(wanted, HITS, signal);
      if (signal.aborted) return undefined;
      hits = found;
    } catch {
      return undefined;
    }
    if (!hits.length) {
      count.textContent = "nothing found";
      return draw();
    }
    for (const line of hits.length > 400 ? hits.filter((_, index) => index % Math.ceil(hits.length / 400) === 0) : hits) tick(line + 1, "hit");
    const here = hits.findIndex((line) => line + 1 >= (chosen || top + 1));
    at = (here < 0 ? 0 : here) - 1;
    return step(1);
  }

  function step(by) {
    if (!hits.length) return;
    at = (at + by + hits.length) % hits.length;
    count.textContent = `${number(at + 1)} of ${number(hits.length)}${hits.length >= HITS ? "+" : ""}`;
    jump(hits[at] + 1, false);
  }
}
