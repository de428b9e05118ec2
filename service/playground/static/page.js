// The page: hands a log to the worker, shows what comes back. The worker is made of a blob so that this page's
// Content-Security-Policy holds in it, too.
const $ = (id) => document.getElementById(id);
const here = new URL(".", location.href).href;
const source = URL.createObjectURL(new Blob([`import ${JSON.stringify(here + "worker.js")};`], { type: "text/javascript" }));
const worker = new Worker(source, { type: "module" });
const controls = [...document.querySelectorAll("button, input")];
let json = "";

worker.onmessage = ({ data }) => {
  if (data.problem) say(data.problem);
  else if (data.ready) say(`Ready after ${(data.seconds).toFixed(1)} s.`);
  else {
    json = data.json;
    $("answer").innerHTML = data.html; // escaped by the engine, as in notebooks
    $("rest").hidden = false;
    say(`Answered in ${data.seconds.toFixed(2)} s.`);
  }
  for (const control of controls) control.disabled = false;
};
worker.onerror = (event) => say(`The engine cannot be loaded: ${event.message || "serve this folder over HTTP"}`);
worker.postMessage({ here });

function say(text) { $("state").textContent = text; }

function ask(bytes) {
  for (const control of controls) control.disabled = true;
  say("Reading …");
  worker.postMessage({ log: bytes }, [bytes]);
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  ask(new TextEncoder().encode($("text").value).buffer);
});
$("file").addEventListener("change", async () => { if ($("file").files[0]) ask(await $("file").files[0].arrayBuffer()); });
$("example").addEventListener("click", async () => {
  $("text").value = await (await fetch("example.log")).text();
  $("form").requestSubmit();
});
$("json").addEventListener("click", () => navigator.clipboard.writeText(json));
addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("over"); });
addEventListener("dragleave", () => document.body.classList.remove("over"));
addEventListener("drop", async (event) => {
  event.preventDefault();
  document.body.classList.remove("over");
  const file = event.dataTransfer.files[0];
  if (file) ask(await file.arrayBuffer());
});
