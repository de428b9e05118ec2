// Elements without markup: every text goes in as a text node, so nothing from a log can become an element.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element: h("p", {class: "note", on: {click: f}}, "text", child, null). */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** Make an SVG element. */
export function s(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  put(element, children);
  return element;
}

/** Append children; strings become text, null and false nothing, lists are walked. */
export function put(element, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/** Replace what an element holds. */
export function set(element, ...children) {
  element.replaceChildren();
  return put(element, children);
}

/** A section with a heading; nothing where it holds nothing. */
export function section(title, cls, ...children) {
  const held = children.flat().filter(Boolean);
  return held.length ? h("section", { class: cls }, h("h2", {}, title), held) : null;
}

let wait = 0;
/** Tell it to those who listen rather than look. */
export function say(text) {
  const place = document.getElementById("say");
  place.textContent = "";
  clearTimeout(wait);
  wait = setTimeout(() => (place.textContent = text), 60);
}

/** A button that copies text (or what a function returns) and says so. */
export function copyButton(text, label = "Copy", name = "") {
  const word = h("span", {}, label);
  const button = h("button", { type: "button", class: "copy", "aria-label": name || null, on: { click: copy } }, word);
  let back = 0;
  async function copy() {
    const done = await toClipboard(typeof text === "function" ? await text() : text);
    word.textContent = done ? "Copied" : "Not allowed";
    button.classList.toggle("done", done);
    say(done ? "Copied" : "The browser does not allow copying");
    clearTimeout(back);
    back = setTimeout(() => {
      word.textContent = label;
      button.classList.remove("done");
    }, 1600);
  }
  return button;
}

/** Copy; true where the browser allowed it. */
export async function toClipboard(text) {
  if (!text) return false;
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return oldCopy(text);
  }
}

// The clipboard's own interface exists under HTTPS and on localhost only; this service often runs on neither.
function oldCopy(text) {
  const area = h("textarea", { class: "sr", "aria-hidden": "true", value: text });
  const before = document.activeElement;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  let done = false;
  try {
    done = document.execCommand("copy");
  } catch {
    // Stays false.
  }
  area.remove();
  before?.focus?.({ preventScroll: true });
  return done;
}

/** Offer a text as a download. */
export function download(name, text, type) {
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Read or keep a setting; where storage is off, nothing is kept. */
export const store = {
  get(name, area = localStorage) {
    try {
      return area.getItem(`vllm-triage.${name}`) ?? "";
    } catch {
      return "";
    }
  },
  set(name, value, area = localStorage) {
    try {
      if (value) area.setItem(`vllm-triage.${name}`, value);
      else area.removeItem(`vllm-triage.${name}`);
    } catch {
      // Not kept.
    }
  },
};
