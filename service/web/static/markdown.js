// The report for an issue or a chat. Pure functions.

import { costs, headline, percent } from "./format.js";

/** A report as Markdown. */
export function markdown(report, link = "") {
  const facts = headline(report.facts ?? {});
  const lines = [`## ${plain(report.title)}`, "", [`\`${report.cause}\``, percent(report.confidence), ...facts.map(plain)].join(" · "), ""];
  if (report.summary) lines.push(plain(report.summary), "");
  const proof = [...(report.evidence ?? []), ...(report.chain ?? []), ...(report.symptoms ?? []).slice(-1)];
  if (proof.length) {
    lines.push("### Evidence", "", ...fenced(proof.map((line) => `${line.line}: ${line.text}${line.count > 1 ? `  (× ${line.count})` : ""}`), "text"), "");
  }
  for (const note of report.notes ?? []) lines.push(`> ${plain(note)}`, "");
  const fixes = (report.fixes ?? []).slice(0, 5);
  if (fixes.length) lines.push("### Fixes, best first", "");
  for (const fix of fixes) {
    lines.push(`${fix.rank}. **${plain(fix.title)}**`);
    if (fix.kind !== "step" && fix.change) lines.push(...fenced(fix.change.split("\n"), "shell").map((line) => `   ${line}`));
    else if (fix.change && fix.change !== fix.title) lines.push(`   ${plain(fix.change)}`);
    if (fix.why) lines.push(`   ${plain(fix.why)}`);
    if (costs(fix.cost)) lines.push(`   Costs: ${plain(fix.cost)}`);
    if (fix.verify) lines.push(`   Check: ${plain(fix.verify)}`);
  }
  if (report.corrected_command) lines.push("", ...fenced(report.corrected_command.split("\n"), "shell"));
  if (link) lines.push("", `<${link}>`);
  return `${lines.join("\n").trim()}\n`;
}

// A fence longer than any run of backticks in the text itself.
function fenced(lines, language) {
  const longest = Math.max(0, ...lines.flatMap((line) => line.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(Math.max(3, longest + 1));
  return [fence + language, ...lines, fence];
}

// What may come from a log must not become markup, nor call anybody.
function plain(text) {
  return String(text).replace(/[\\*_[\]|#`~]/g, "\\$&").replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/@(?=\w)/g, "@\u200b");
}
