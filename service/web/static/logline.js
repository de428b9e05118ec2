// What stands in front of a log line: whose it is, and how bad. Pure functions.

const PROCESS = /\(([A-Za-z_][\w.:]{0,40}(?:[ =]\w{1,20}){0,3}) pid=(\d{1,10})(?:, ip=[\w.:]+)?\) ?/;
const RANK = /^\[(rank\d{1,4})\]: ?/;
const LEVEL = /(?:^|[\s([|])(INFO|WARNING|ERROR|DEBUG|CRITICAL|FATAL)(?= +\d\d-\d\d |:)/;
const VLLM = /^(?:.{0,160}?)(?:INFO|WARNING|ERROR|DEBUG|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)? (?:\[[\w./<> …-]{1,80}:\d+\] ?|[\w./<>-]{1,80}:\d+\] ?)/;

/** Part a line in front (process, level, place) and message. */
export function parse(text) {
  const head = text.slice(0, 300);
  const found = PROCESS.exec(head) ?? RANK.exec(head);
  const level = LEVEL.exec(head)?.[1] ?? "";
  let cut = VLLM.exec(head)?.[0].length ?? 0;
  if (!cut && found && found.index < 120) cut = found.index + found[0].length;
  if (!text.slice(cut).trim()) cut = 0;
  return { process: found ? found[1] : "", level, front: text.slice(0, cut), message: text.slice(cut) };
}

/** Colours of processes: numbers in the order in which they appear, the same for the whole page. */
export class Palette {
  #numbers = new Map();

  of(process) {
    if (!process) return "";
    if (!this.#numbers.has(process)) this.#numbers.set(process, this.#numbers.size % 8);
    return `p${this.#numbers.get(process)}`;
  }

  get names() {
    return [...this.#numbers.keys()];
  }
}
