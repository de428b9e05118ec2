// Before anything is painted, so that a chosen theme does not flash. (A classic script: modules run later.)
(() => {
  try {
    const chosen = localStorage.getItem("vllm-triage.theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // Storage is off: the system's colours are used.
  }
})();
