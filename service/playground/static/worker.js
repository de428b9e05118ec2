// The engine: Pyodide and the archive, loaded from this folder; one call after the other.
let calls;
let ready;

async function load(here) {
  const began = performance.now();
  const archive = fetch(`${here}engine.zip`).then((response) => response.arrayBuffer());
  const { loadPyodide } = await import(`${here}pyodide/pyodide.mjs`);
  const python = await loadPyodide({ indexURL: `${here}pyodide/` });
  python.unpackArchive(await archive, "zip", { extractDir: "/engine" });
  python.runPython('import sys; sys.path.insert(0, "/engine")');
  calls = python.pyimport("in_browser");
  postMessage({ ready: true, seconds: (performance.now() - began) / 1000 });
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
