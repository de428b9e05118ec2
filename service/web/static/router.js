// Which view stands at which address; the browser's history moves between them.

import { ROOT } from "./api.js";

const views = [];
let leave = null;

/** Add a view: `pattern` is matched against the path below the root, `show(main, match)` returns what to do on leaving. */
export function route(name, pattern, show) {
  views.push({ name, pattern, show });
}

/** Go to a path below the root. */
export function go(path, { replace = false } = {}) {
  const url = new URL(path, ROOT);
  history[replace ? "replaceState" : "pushState"](null, "", url);
  render();
}

/** Change the address and stay: what is shown is already what stands there. */
export function settle(path, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", new URL(path, ROOT));
}

/** Show what the address says. */
export function render(first = false) {
  const path = location.pathname.slice(ROOT.pathname.length);
  const found = views.map((view) => [view, view.pattern.exec(path)]).find(([, match]) => match);
  const [view, match] = found ?? [views[0], [""]];
  leave?.();
  const main = document.getElementById("main");
  main.replaceChildren();
  main.dataset.view = view.name;
  for (const link of document.querySelectorAll("[data-route]")) {
    if (link.dataset.route === view.name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  leave = view.show(main, match) ?? null;
  if (!first) {
    scrollTo(0, 0);
    // A view may have put the focus where it is wanted.
    if (!main.contains(document.activeElement)) main.focus({ preventScroll: true });
  }
}

/** Follow links and the back button. */
export function listen() {
  addEventListener("popstate", () => render());
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-nav]");
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const url = new URL(link.href);
    go(url.pathname.slice(ROOT.pathname.length) + url.search);
  });
}
