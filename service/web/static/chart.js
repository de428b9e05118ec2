// Buckets over time: stacked bars, with the same numbers as a table.

import { h, s, set } from "./dom.js";
import { number } from "./format.js";

const COLORS = 7;
const HEIGHT = 150;
const AXIS = 34;

/** Counts by step and bucket, the most frequent buckets first, the rest together. Pure. */
export function tally(stats, since, days, only = "") {
  const step = days === 1 ? 3_600_000 : 86_400_000;
  const first = Math.floor(Date.parse(since) / step) * step;
  const last = Math.floor(Math.max(Date.now(), ...stats.buckets.flatMap((one) => one.counts.map((count) => Date.parse(count.at)))) / step) * step;
  const slots = Array.from({ length: Math.min(Math.round((last - first) / step) + 1, 200) }, (_, index) => first + index * step);
  const series = stats.buckets
    .filter((one) => !only || one.bucket === only)
    .map(({ bucket, counts }) => {
      const values = slots.map(() => 0);
      for (const { at, count } of counts) {
        const slot = Math.floor(Date.parse(at) / step) - first / step;
        if (slot >= 0 && slot < values.length) values[slot] += count;
      }
      return { bucket, values, total: values.reduce((sum, value) => sum + value, 0) };
    })
    .filter((one) => one.total)
    .sort((one, other) => other.total - one.total || one.bucket.localeCompare(other.bucket));
  if (series.length > COLORS) {
    const rest = series.splice(COLORS - 1);
    const values = slots.map((_, index) => rest.reduce((sum, one) => sum + one.values[index], 0));
    series.push({ bucket: "", values, total: values.reduce((sum, value) => sum + value, 0), others: rest.length });
  }
  return { slots, series, hourly: days === 1 };
}

/** The picture with its legend and table. */
export function chart(stats, { since, days, only, choose }) {
  const told = tally(stats, since, days, only);
  if (!told.series.length) return null;
  const figure = h("div", { class: "drawing" });
  const total = told.series.reduce((sum, one) => sum + one.total, 0);
  let last = 0;
  const draw = (width) => set(figure, picture(told, Math.max(280, Math.round(width)), total));
  draw(900);
  new ResizeObserver(([entry]) => {
    if (Math.abs(entry.contentRect.width - last) < 2) return;
    last = entry.contentRect.width;
    draw(last);
  }).observe(figure);
  const legend = h("ul", { class: "legend" }, told.series.map((one, index) => h("li", {},
    h("span", { class: `swatch c${index}`, "aria-hidden": "true" }),
    one.bucket ? h("button", { type: "button", class: "link", on: { click: () => choose(only ? "" : one.bucket) }, title: only ? "Show all" : "Show only these" }, one.bucket) : h("span", {}, `${one.others} others`),
    h("span", { class: "hint" }, number(one.total)))));
  return [h("h2", {}, told.hourly ? "By hour" : "By day"), figure, legend, table(told)];
}

const stamp = (time, hourly) => new Date(time).toISOString().slice(hourly ? 11 : 5, hourly ? 16 : 10);

function picture({ slots, series, hourly }, width, total) {
  const room = width - AXIS - 4;
  const most = Math.max(...slots.map((_, index) => series.reduce((sum, one) => sum + one.values[index], 0)));
  const top = nice(most);
  const scale = (value) => (value / top) * (HEIGHT - 14);
  const step = room / slots.length;
  const bar = Math.max(1, Math.min(step - Math.min(3, step * 0.25), 26));
  const svg = s("svg", { viewBox: `0 0 ${width} ${HEIGHT + 22}`, width, height: HEIGHT + 22, role: "img", "aria-label": `${number(total)} in ${slots.length} ${hourly ? "hours" : "days"}, at most ${number(most)} at once. The table below has the numbers.` });
  for (const value of top > 1 ? [0, top / 2, top] : [0, 1]) {
    const y = HEIGHT - scale(value);
    svg.append(s("line", { class: value ? "grid" : "axis", x1: AXIS, x2: width - 4, y1: y, y2: y }), s("text", { class: "figure", x: AXIS - 8, y: y + 4, "text-anchor": "end" }, number(value)));
  }
  slots.forEach((slot, index) => {
    let y = HEIGHT;
    const x = AXIS + index * step + (step - bar) / 2;
    series.forEach((one, color) => {
      const tall = scale(one.values[index]);
      if (!tall) return;
      y -= tall;
      const piece = s("rect", { class: `c${color}`, x, y, width: bar, height: tall });
      piece.append(s("title", {}, `${stamp(slot, hourly)} ${one.bucket || "others"}: ${one.values[index]}`));
      svg.append(piece);
    });
  });
  const every = Math.ceil(slots.length / Math.max(2, Math.floor(room / 64)));
  for (let index = slots.length - 1; index >= 0; index -= every) {
    svg.append(s("text", { class: "figure", x: AXIS + index * step + step / 2, y: HEIGHT + 17, "text-anchor": "middle" }, stamp(slots[index], hourly)));
  }
  return svg;
}

// An even number above, so that half of it is one too.
function nice(value) {
  if (value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.2, 1.4, 1.6, 2, 3, 4, 5, 6, 8, 10].map((factor) => factor * power).find((mark) => mark >= value && mark % 2 === 0) ?? 2;
}

function table({ slots, series, hourly }) {
  const rows = slots.map((slot, index) => [slot, series.map((one) => one.values[index])]).filter(([, values]) => values.some(Boolean));
  return h("details", { class: "astable" }, h("summary", {}, "As a table"),
    h("div", { class: "scrollx", tabindex: "0", role: "region", "aria-label": "Counts" }, h("table", {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, hourly ? "Hour (UTC)" : "Day (UTC)"), series.map((one) => h("th", { scope: "col" }, one.bucket || "others")))),
      h("tbody", {}, rows.map(([slot, values]) => h("tr", {}, h("th", { scope: "row" }, new Date(slot).toISOString().slice(0, hourly ? 16 : 10).replace("T", " ")), values.map((value) => h("td", {}, value || ""))))))));
}
