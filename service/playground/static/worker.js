// The engine: Pyodide and the archive, loaded from this folder; one log after the other.
let answer;

async function load(here) {
  const began = performance.now();
  const { loadPyodide } = await import(`${here}pyodide/pyodide.mjs`);
  const python = await loadPyodide({ indexURL: `${here}pyodide/` });
  const archive = await (await fetch(`${here}engine.zip`)).arrayBuffer();
  python.unpackArchive(archive, "zip", { extractDir: "/engine" });
  python.runPython('import sys; sys.path.insert(0, "/engine")');
  answer = python.pyimport("in_browser").answer;
  postMessage({ ready: true, seconds: (performance.now() - began) / 1000 });
}

onmessage = ({ data }) => {
  if (data.here) {
    load(data.here).catch((error) => postMessage({ problem: `The engine cannot be loaded: ${error.message}` }));
    return;
  }
  const began = performance.now();
  try {
    const told = JSON.parse(answer(new Uint8Array(data.log)));
    postMessage({ ...told, seconds: (performance.now() - began) / 1000 });
  } catch (error) {
    postMessage({ problem: `The engine failed: ${error.message}` });
  }
};
