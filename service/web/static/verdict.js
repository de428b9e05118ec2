// The answer at a glance: what it is, how sure, of which server, and the first thing to do.

import { get } from "./api.js";
import { copyButton, h, s, set } from "./dom.js";
import { DECIDED, costs, headline, hundredths, percent, sureness } from "./format.js";
import { pasted } from "./fixes.js";

const SHAPES = {
  failed: ["M9 9l6 6M15 9l-6 6", "Failure"],
  unknown: ["M9.300 9.400a2.800 2.800 0 1 1 4 2.900c-.900.500-1.300 1-1.300 2M12 16.900v.100", "Not recognised"],
  fine: ["m8 12.300 2.700 2.700L16 9.500", "No failure"],
};

/** The head of the report. */
export function verdict(report, kind) {
  const [path, word] = SHAPES[kind];
  const sign = s("svg", { class: "sign", viewBox: "0 0 24 24", role: "img", "aria-label": word },
    s("circle", { cx: 12, cy: 12, r: 11 }), s("path", { d: path }));
  const server = headline(report.facts ?? {});
  return h("header", { class: "verdict" },
    h("div", { class: "what" }, sign,
      h("div", {},
        h("h1", { tabindex: "-1" }, report.title),
        h("p", { class: "identity" }, bucketButton(report), h("span", {}, DECIDED[report.decided_by] ?? report.decided_by)),
        server.length ? h("p", { class: "server" }, server.map((part) => h("span", {}, part))) : null)),
    kind === "unknown" ? null : meter(report.confidence),
    h("div", { class: "words" },
      report.summary ? h("p", { class: "summary" }, report.summary) : null,
      (report.story?.told ?? []).map((sentence) => h("p", { class: "story" }, sentence)),
      (report.notes ?? []).map((note) => h("p", { class: "note" }, note))),
    kind === "failed" ? first(report) : null,
    kind === "unknown" ? nearest(report, true) : null,
    kind === "unknown" ? attach() : null,
    kind === "failed" ? nearest(report, false) : null);
}

function meter(confidence) {
  const share = hundredths(confidence);
  const fillBar = h("span", { class: "fill" });
  fillBar.style.inlineSize = `${share}%`;
  const words = `${percent(confidence)}, ${sureness(confidence)}`;
  return h("div", { class: "meter" },
    h("div", { class: "figure" }, h("strong", {}, percent(confidence)), h("span", {}, sureness(confidence))),
    h("div", { class: "track", role: "meter", "aria-label": "Confidence", "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": share, "aria-valuetext": words }, fillBar));
}

// The cause's id; opened, it says what the bucket means. Asked for when wanted: most people know after the title.
function bucketButton(report) {
  const [bucket, cause = ""] = report.cause.split("/");
  const code = h("code", {}, bucket, cause && ["/", h("wbr"), cause]);
  const meaning = h("div", { class: "meaning", id: "meaning", hidden: true });
  const button = h("button", { type: "button", class: "id", "aria-expanded": "false", "aria-controls": "meaning", title: "What this means" }, code);
  button.addEventListener("click", async () => {
    const open = meaning.hidden;
    meaning.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    if (!open || meaning.childElementCount) return;
    set(meaning, h("p", {}, "…"));
    try {
      const bucket = await get(`v1/buckets/${encodeURIComponent(report.bucket)}`);
      set(meaning, h("p", {}, h("strong", {}, bucket.title)), h("p", {}, bucket.meaning));
    } catch (error) {
      set(meaning, h("p", {}, error.title));
    }
  });
  return [button, meaning];
}

function first(report) {
  const fix = (report.fixes ?? [])[0];
  if (!fix) return null;
  return h("div", { class: "first", "data-first": true },
    h("h2", {}, "Try first"),
    h("div", { class: "paste" }, pasted(fix) ? [h("code", {}, fix.change), copyButton(fix.change, "Copy", "Copy the first fix")] : h("p", {}, fix.change || fix.title)),
    h("p", { class: "hint" }, pasted(fix) ? `${fix.title}.` : "", costs(fix.cost) ? ` Costs: ${fix.cost}` : ""),
    report.corrected_command ? h("div", { class: "paste" }, h("code", {}, report.corrected_command), copyButton(report.corrected_command, "Copy", "Copy the corrected command")) : null);
}

function nearest(report, open) {
  const others = (report.alternatives ?? []).filter((other) => open || other.confidence >= 0.05);
  if (!others.length) return null;
  return h("div", { class: "nearest" },
    h("h2", {}, open ? "Nearest candidates" : "Less likely"),
    h("ul", {}, others.slice(0, 4).map((other) => {
      const fillBar = h("span", { class: "fill" });
      fillBar.style.inlineSize = `${hundredths(other.confidence)}%`;
      return h("li", {}, h("code", {}, other.bucket), h("span", { class: "track", "aria-hidden": "true" }, fillBar), h("span", {}, percent(other.confidence)));
    })));
}

function attach() {
  return h("div", { class: "attach" },
    h("h2", {}, "What helps somebody else to find it"),
    h("ul", {},
      h("li", {}, "the log from its first line on, of all processes – not only its end"),
      h("li", {}, "the start command, with what was set around it (image, manifest, variables)"),
      h("li", {}, "this report (", h("em", {}, "Copy Markdown"), "); known secrets are masked in it, look through it all the same"),
      h("li", {}, "what changed since it last worked: vLLM, driver, model, machine")));
}
