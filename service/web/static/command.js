// The start command with the fix in it: what changes, and the whole in the form that is needed.

import { copyButton, h, section, store } from "./dom.js";

const FORMS = [
  ["diff", "Changes"], ["shell", "Shell"], ["docker", "Docker"], ["compose", "Compose"],
  ["kubernetes", "Kubernetes"], ["helm", "Helm"], ["python", "Python"],
];
const BASIS = {
  command: "made from the command in the log",
  arguments: "made from the arguments that the log printed",
  configuration: "made from the configuration that the engine printed: compare it with yours",
};

/** The corrected command, in tabs. */
export function commandSection(report) {
  const forms = report.corrected;
  if (!forms) {
    const command = report.corrected_command;
    return command ? section("The corrected command", "command", h("div", { class: "panel" }, copyButton(command), h("pre", { tabindex: "0", role: "region", "aria-label": "Corrected command" }, command))) : null;
  }
  const shown = FORMS.filter(([name]) => forms[name]);
  const tabs = shown.map(([name, label]) => h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `form-${name}` }, label));
  const panels = shown.map(([name]) => panel(name, forms));
  const choose = (index, focus) => {
    tabs.forEach((tab, at) => {
      tab.setAttribute("aria-selected", String(at === index));
      tab.tabIndex = at === index ? 0 : -1;
      panels[at].hidden = at !== index;
    });
    if (focus) tabs[index].focus();
    store.set("form", shown[index][0]);
  };
  const bar = h("div", { role: "tablist", "aria-label": "Forms of the command", class: "tabs" }, tabs);
  bar.addEventListener("click", (event) => tabs.includes(event.target) && choose(tabs.indexOf(event.target)));
  bar.addEventListener("keydown", (event) => {
    const here = tabs.indexOf(event.target);
    const to = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (here < 0 || to === undefined) return;
    event.preventDefault();
    choose((to + tabs.length) % tabs.length, true);
  });
  choose(Math.max(0, shown.findIndex(([name]) => name === store.get("form"))));
  const note = h("p", { class: "hint" }, `With fix ${forms.fix}, ${BASIS[forms.basis] ?? forms.basis}.`);
  return section("The corrected command", "command", bar, panels, note);
}

function panel(name, forms) {
  const text = forms[name];
  const body = name === "diff" ? diff(text) : h("code", {}, text);
  // A diff cannot be run: what is copied there is the command.
  const copied = name === "diff" ? forms.shell : text;
  return h("div", { role: "tabpanel", id: `form-${name}`, "aria-labelledby": `tab-${name}`, class: "panel" },
    copyButton(copied, name === "diff" ? "Copy command" : "Copy"),
    h("pre", { tabindex: "0", role: "region", "aria-label": name }, body));
}

function diff(text) {
  return text.replace(/\n$/, "").split("\n").filter((line) => !/^(---|\+\+\+|@@ -1,)/.test(line)).map((line) => {
    if (line.startsWith("@@")) return h("span", { class: "line gap" }, "⋯\n");
    const [cls, sign] = line.startsWith("+") ? ["ins", "added"] : line.startsWith("-") ? ["del", "removed"] : ["", ""];
    return h("span", { class: `line ${cls}` }, sign ? h("span", { class: "sr" }, `${sign}: `) : null,
      h("span", { class: "mark", "aria-hidden": "true" }, line.slice(0, 1)), `${line.slice(1)}\n`);
  });
}
