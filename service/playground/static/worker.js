// The engine: Pyodide and the archive, loaded from this folder; one call after the other. The first visit keeps the interpreter's
// memory as it is before any log was read, so that later visits need not start it again: most of the time goes there.
const BUILD = "{build}";
let calls;
let ready;

async function load(here) {
  const began = performance.now();
  const archive = fetch(`${here}engine.bin`).then(({ body }) => new Response(body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
  const name = `${here}memory/${BUILD}`;
  const store = await globalThis.caches?.open("vllm-triage").catch(() => undefined);
  const memory = await (await store?.match(name))?.arrayBuffer();
  let python = memory && (await start(here, new Uint8Array(memory)).catch(() => undefined));
  const restored = Boolean(python);
  python ??= await start(here);
  // Files are no part of the memory.
  unpack(python.FS, await archive);
  if (!restored) python.runPython('import sys; sys.path.insert(0, "/engine")');
  calls = python.pyimport("in_browser");
  if (!restored && store) await keep(python, store, name, here).catch(() => {});
  postMessage({ ready: true, restored, seconds: (performance.now() - began) / 1000 });
}

// A tar archive, as build.py makes it: plain files alone. The browser unpacks it while Pyodide starts, and its bytes are not copied.
function unpack(files, archive) {
  const text = (at, length) => new TextDecoder().decode(new Uint8Array(archive, at, length)).replace(/\0.*$/s, "");
  for (let at = 0; text(at, 1); ) {
    const prefix = text(at + 345, 155);
    const path = `/engine/${prefix && `${prefix}/`}${text(at, 100)}`;
    const size = parseInt(text(at + 124, 12), 8);
    files.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    files.createDataFile(path, null, new Uint8Array(archive, at + 512, size), true, false, true);
    at += 512 + Math.ceil(size / 512) * 512;
  }
}

async function start(here, memory) {
  const { loadPyodide } = await import(`${here}pyodide/pyodide.mjs`);
  const { default: create } = await import(`${here}pyodide/pyodide.asm.mjs`);
  const createPyodideModule = async (settings) => {
    const made = await create(settings);
    // Pyodide restores memory into what it began with, which is smaller.
    if (memory) made.growMemory(memory.length);
    return made;
  };
  return loadPyodide({ indexURL: `${here}pyodide/`, createPyodideModule, ...(memory ? { _loadSnapshot: memory } : { _makeSnapshot: true }) });
}

async function keep(python, store, name, here) {
  // The example's answer loads and compiles what most answers need.
  const example = await fetch(`${here}static/page/example.log`);
  calls.answer(new Uint8Array(await example.arrayBuffer()));
  const memory = python.makeMemorySnapshot();
  for (const old of await store.keys()) await store.delete(old);
  store.put(name, new Response(memory)).catch(() => {});
}

onmessage = async ({ data: { here, id, call, given } }) => {
  if (here) {
    ready = load(here);
    ready.catch((error) => postMessage({ problem: error.message }));
    return;
  }
  try {
    await ready;
    const told = JSON.parse(calls[call](call === "answer" ? new Uint8Array(given) : given));
    postMessage({ id, ...told });
  } catch (error) {
    postMessage({ id, problem: `The engine failed: ${error.message}` });
  }
};
