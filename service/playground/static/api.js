// In the place of the service's module of this name: the same calls, answered by the engine in a worker of this page.
// The worker is made of a blob so that the page's Content-Security-Policy holds in it, too.

/** The folder of the page. */
export const ROOT = new URL("../../", import.meta.url);
export const IN_TAB = true;

/** An error with words for people. */
export class Problem extends Error {
  constructor({ title = "", detail = "", type = "" } = {}) {
    super(title);
    Object.assign(this, { title, detail, type, status: 0, request: "", retry: "" });
  }
}

const source = URL.createObjectURL(new Blob([`import ${JSON.stringify(`${ROOT}worker.js`)};`], { type: "text/javascript" }));
const worker = new Worker(source, { type: "module" });
const waiting = new Map();
let asked = 0;
let broken = null;

worker.onmessage = ({ data }) => {
  if (data.ready) document.documentElement.dataset.engine = `${data.restored ? "restored" : "started"} in ${data.seconds.toFixed(1)} s`;
  else if (data.id) settle(data.id, data);
  else fail(data.problem);
};
worker.onerror = (event) => fail(event.message || "serve this folder over HTTP");
worker.postMessage({ here: `${ROOT}` });

function fail(detail) {
  broken = new Problem({ title: "The engine cannot be loaded", detail });
  for (const id of [...waiting.keys()]) settle(id, { failed: broken });
}

function settle(id, { value, problem, failed }) {
  const [resolve, reject] = waiting.get(id) ?? [];
  waiting.delete(id);
  if (failed || problem) reject?.(failed ?? new Problem({ title: "This log cannot be read", detail: problem }));
  else resolve?.(value);
}

// One after the other; the first waits until the engine is there.
function engine(call, given, transfer = []) {
  if (broken) return Promise.reject(broken);
  return new Promise((resolve, reject) => {
    waiting.set((asked += 1), [resolve, reject]);
    worker.postMessage({ id: asked, call, given }, transfer);
  });
}

const MOST = 32e6; // bytes
const texts = new WeakMap();
async function answer(blob) {
  const bytes = await blob.arrayBuffer();
  const { json, text, prompt } = await engine("answer", bytes, [bytes]);
  const report = JSON.parse(json);
  texts.set(report, { text, prompt });
  return report;
}

/** Read a log; nothing is sent anywhere. */
export async function sendLog(blob, _params, { signal, onSent, onEvent }) {
  if (blob.size > MOST) {
    const detail = `A browser needs more than a second for each MB, and takes ${MOST / 1e6} MB at most: the command vllm-triage reads this in seconds.`;
    throw new Problem({ title: "The log is too large for this page", detail });
  }
  onSent(blob.size, blob.size);
  onEvent({ event: "progress", lines: 0 });
  const stopped = new Promise((_, reject) => signal.addEventListener("abort", () => reject(new DOMException("Cancelled", "AbortError"))));
  return Promise.race([answer(blob), stopped]);
}

/** What a bucket means; there is no history here. */
export async function get(path) {
  const [, bucket] = /^v1\/buckets\/([\w%]+)$/.exec(path) ?? [];
  if (bucket) return engine("bucket", decodeURIComponent(bucket));
  throw new Problem({ title: "There is no history here", detail: "vllm-triage serve keeps one.", type: "no-history" });
}

/** The answer for a text. */
export const post = (_path, { log }) => (log === undefined ? get("") : answer(new Blob([log])));
export const patch = () => get("");
/** A report as text to be pasted, or its evidence with the question. */
export const rendered = async (report, type = "") => type.endsWith(".prompt") ? texts.get(report)?.prompt ?? ""
  : `\`\`\`text\n${texts.get(report)?.text ?? report.title}\n\`\`\``;
export const onKeyWanted = () => {};
export const keepKey = () => {};
