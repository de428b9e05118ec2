// Talks to the service that the page came from, and to nothing else.

import { store } from "./dom.js";

/** Where the service begins: two folders above this module, whatever stands in front of it. */
export const ROOT = new URL("../../", import.meta.url);
/** Whether logs are read in this tab, by the engine itself (the playground has a module of this name that does). */
export const IN_TAB = false;
const PATIENCE = 20_000;

/** An error with words for people (RFC 9457, or the network's own). */
export class Problem extends Error {
  constructor({ title = "", detail = "", status = 0, request_id = "", retry = "", type = "" } = {}) {
    super(title || "Something went wrong");
    Object.assign(this, { title: this.message, detail, status, request: request_id, retry, type });
  }
}

let askForKey = async () => "";
/** Say how a person is asked for an API key. */
export function onKeyWanted(ask) {
  askForKey = ask;
}

export const get = (path, params = {}, options = {}) => ask("GET", path, params, undefined, options);
export const patch = (path, json, options = {}) => ask("PATCH", path, {}, json, options);
export const post = (path, json, options = {}) => ask("POST", path, {}, json, options);

/** A report in another format of the service's. */
export const rendered = (report, type) => ask("POST", "v1/render", {}, report, { type });

async function ask(method, path, params, json, { signal, quiet = false, type = "application/json" } = {}) {
  const limit = AbortSignal.timeout(PATIENCE);
  const used = kept();
  let response;
  try {
    response = await fetch(address(path, params), {
      method,
      headers: { Accept: type, ...(json ? { "Content-Type": "application/json" } : {}), ...credentials() },
      body: json ? JSON.stringify(json) : undefined,
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
      credentials: "same-origin",
      redirect: "error",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw unreachable(limit.aborted);
  }
  if (response.status === 401 && !quiet && (await renewKey(used))) return ask(method, path, params, json, { signal, quiet, type });
  const text = await response.text();
  if (!response.ok) throw problemOf(response.status, text, response.headers.get("Retry-After") ?? "");
  return type === "application/json" ? (text ? JSON.parse(text) : null) : text;
}

/**
 * Send a log and follow what comes back. XMLHttpRequest, because fetch tells nothing of how much was sent.
 * onSent(bytes, total); onEvent({event: "progress" | "verdict" …}). Returns the report.
 */
export async function sendLog(blob, params, { encoding = "", onSent, onEvent, signal }) {
  const request = new XMLHttpRequest();
  const used = kept();
  const stop = () => request.abort();
  const done = new Promise((resolve, reject) => {
    const reader = events(onEvent);
    request.upload.onprogress = (event) => onSent(event.loaded, event.total);
    request.upload.onload = () => onSent(blob.size, blob.size);
    request.onprogress = () => request.status === 200 && reader.read(request.responseText);
    request.onabort = () => reject(new DOMException("Cancelled", "AbortError"));
    request.onerror = () => reject(unreachable(false, blob.size));
    request.onload = () => {
      if (request.status !== 200) {
        return reject(problemOf(request.status, request.responseText, request.getResponseHeader("Retry-After") ?? ""));
      }
      reader.read(`${request.responseText}\n`);
      if (reader.report) resolve(reader.report);
      else reject(new Problem({ title: "The answer ended too early", ...reader.problem }));
    };
  });
  request.open("POST", address("v1/triage/stream", params));
  const headers = { Accept: "application/x-ndjson", "Content-Type": blob instanceof File ? "application/octet-stream" : "text/plain; charset=utf-8" };
  if (encoding) headers["Content-Encoding"] = encoding;
  for (const [name, value] of Object.entries({ ...headers, ...credentials() })) request.setRequestHeader(name, value);
  signal.addEventListener("abort", stop);
  try {
    request.send(blob);
    return await done;
  } catch (error) {
    if (error.status === 401 && (await renewKey(used))) return sendLog(blob, params, { encoding, onSent, onEvent, signal });
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

// One JSON object a line; what is not yet a whole line waits.
function events(onEvent) {
  let read = 0;
  return {
    report: null,
    problem: null,
    read(text) {
      for (let end = text.indexOf("\n", read); end >= 0; end = text.indexOf("\n", read)) {
        const line = text.slice(read, end).trim();
        read = end + 1;
        if (!line) continue;
        const event = JSON.parse(line);
        if (event.event === "report") this.report = event.report;
        else if (event.event === "problem") this.problem = event.problem;
        else onEvent(event);
      }
    },
  };
}

function address(path, params) {
  const url = new URL(path, ROOT);
  for (const [name, value] of Object.entries(params)) if (value !== "" && value !== null && value !== undefined) url.searchParams.append(name, value);
  return url;
}

// Kept for this tab alone: a key in lasting storage would outlive the person in front of it.
const kept = () => store.get("key", sessionStorage);
const credentials = () => (kept() ? { Authorization: `Bearer ${kept()}` } : {});

/** Keep a key for this tab. */
export const keepKey = (key) => store.set("key", key, sessionStorage);

let asking = null;
// Several requests may be refused at once; a person is asked once.
async function renewKey(used) {
  if (kept() !== used) return Boolean(kept());
  asking ??= askForKey(Boolean(used)).then((key) => {
    asking = null;
    keepKey(key);
    return Boolean(key);
  });
  return asking;
}

function problemOf(status, text, retry) {
  let told = {};
  try {
    told = JSON.parse(text);
  } catch {
    // A proxy in between answers in its own words.
  }
  const hint = { 413: "The log is bigger than this server takes.", 429: "Too many requests.", 502: "The service behind the proxy does not answer.", 503: "The service is busy or stopping." }[status];
  const { title, detail, request_id, type } = told && typeof told === "object" ? told : {};
  return new Problem({ status, retry, title: words(title) || hint || `The server answered ${status}`, detail: words(detail), request_id: words(request_id), type: words(type) });
}

const words = (value) => (typeof value === "string" ? value : "");

function unreachable(late, size = 0) {
  if (late) return new Problem({ title: "The server takes too long to answer", detail: "Try again; it may be busy." });
  if (!navigator.onLine) return new Problem({ title: "You are offline", detail: "The log was not sent. Try again when the network is back." });
  const big = size > 5e6 ? " With a log of this size, a limit of the server or of a proxy may have ended the upload." : "";
  return new Problem({ title: "The server cannot be reached", detail: `The connection could not be made, or broke.${big}` });
}
