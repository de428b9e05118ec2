// Figures and phrases as people read them. Pure functions; no element is touched here.

export const STAGES = [
  "launch", "config", "engine_init", "distributed_init", "weights", "compile",
  "profile", "kv_cache", "graph_capture", "api_ready", "serving", "shutdown",
];

export const STAGE_NAMES = {
  launch: "Launch", config: "Configuration", engine_init: "Engine", distributed_init: "Distributed",
  weights: "Weights", compile: "Compilation", profile: "Profile run", kv_cache: "KV cache",
  graph_capture: "Graph capture", api_ready: "API up", serving: "Serving", shutdown: "Shutdown",
};

/** 0.984 → 98. A half goes to the even neighbour, as Python has it: all formats show the same number. */
export function hundredths(share) {
  const value = share * 100;
  const below = Math.floor(value);
  return value - below === 0.5 ? below + (below % 2) : Math.round(value);
}

/** 0.984 → "98 %". */
export function percent(share) {
  return `${hundredths(share)} %`;
}

/** How sure an answer is; nothing where nothing was decided. */
export const sureOf = ({ bucket, confidence }) => (bucket === "unknown" ? "" : percent(confidence));

/** How sure an answer is, in words. */
export function sureness(confidence) {
  if (confidence >= 0.95) return "very sure";
  if (confidence >= 0.8) return "sure";
  if (confidence >= 0.6) return "likely";
  if (confidence >= 0.4) return "a guess";
  return "unsure";
}

export const DECIDED = {
  rule: "decided by a rule",
  model: "decided by the text model",
  stage: "decided by how far the server got",
  none: "nothing decided it",
};

export function bytes(count) {
  if (count < 1000) return `${count} B`;
  let value = count;
  for (const unit of ["kB", "MB", "GB", "TB"]) {
    value /= 1000;
    if (value < 999.5 || unit === "TB") return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
  }
  return "";
}

export function number(value) {
  return Number(value).toLocaleString("en-US");
}

/** Seconds: "0.4 s", "22 s", "3 min 10 s", "2 h 5 min". */
export function seconds(value) {
  if (value < 10) return `${Math.round(value * 10) / 10} s`;
  const whole = Math.round(value);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return whole % 60 ? `${minutes} min ${whole % 60} s` : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
}

/** "just now", "5 min ago", "3 h ago", "4 days ago"; then the date. */
export function ago(time, now = Date.now()) {
  const past = (now - Date.parse(time)) / 1000;
  if (Number.isNaN(past)) return "";
  if (past < 60) return "just now";
  if (past < 3600) return `${Math.floor(past / 60)} min ago`;
  if (past < 86400) return `${Math.floor(past / 3600)} h ago`;
  if (past < 14 * 86400) return `${Math.floor(past / 86400)} d ago`;
  return time.slice(0, 10);
}

/** A moment in full, for titles. */
export function moment(time) {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : date.toLocaleString("en-GB", { timeZoneName: "short" });
}

/** 1 → "1 line", 3 → "3 lines". */
export function plural(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** What ran where: the parts of the line below the title. */
export function headline(facts) {
  const parts = [];
  const engine = facts.engine ? String(facts.engine) : "";
  if (facts.vllm_version) parts.push(`vLLM ${facts.vllm_version}${engine ? ` (${engine})` : ""}`);
  else if (engine) parts.push(`vLLM ${engine}`);
  if (facts.model) parts.push(String(facts.model).replace(/\/+$/, "").split("/").pop() || String(facts.model));
  const gpu = String(facts.gpu_name ?? "").replace(/NVIDIA |GeForce /g, "");
  const total = facts.gpu_memory_total_gib;
  if (gpu || total) {
    const what = [gpu, total ? `${total} GiB` : ""].filter(Boolean).join(", ");
    parts.push(facts.gpu_count ? `${facts.gpu_count} × ${what}` : what);
  }
  for (const [name, label] of [["tensor_parallel_size", "TP"], ["pipeline_parallel_size", "PP"], ["data_parallel_size", "DP"]]) {
    if (facts[name] && (name === "tensor_parallel_size" || facts[name] !== 1)) parts.push(`${label} ${facts[name]}`);
  }
  if (facts.max_model_len) parts.push(`max_model_len ${facts.max_model_len}`);
  if (facts.quantization) parts.push(String(facts.quantization));
  return parts;
}

/** Whether a cost says that there is one. */
export function costs(text) {
  return Boolean(text) && text.toLowerCase().replace(/\.$/, "") !== "none";
}
