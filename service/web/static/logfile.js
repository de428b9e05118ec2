// A log in the browser, read by line number: only an index of blocks is kept, never the text.

const READ = 4 << 20;
const LINES = 256;
const BYTES = 128 << 10;
const LONGEST = 2000;
const UNPACKED = 1 << 30;

export class LogFile {
  /** Number of lines, once indexed. */
  count = 0;
  #blob;
  #line = [0];
  #offset = [0];
  #cache = new Map();

  constructor(blob, name) {
    this.#blob = blob;
    this.name = name;
  }

  get size() {
    return this.#blob.size;
  }

  /** Find the line ends. Throws where the bytes are no text that can be shown by lines. */
  async index(signal) {
    this.#blob = await readable(this.#blob);
    let line = 0;
    let since = 0;
    let last = 0;
    for (let start = 0; start < this.#blob.size; start += READ) {
      const data = new Uint8Array(await this.#blob.slice(start, start + READ).arrayBuffer());
      signal?.throwIfAborted();
      for (let at = data.indexOf(10); at >= 0; at = data.indexOf(10, at + 1)) {
        line += 1;
        const next = start + at + 1;
        if (line - since >= LINES || next - last >= BYTES) {
          this.#line.push(line);
          this.#offset.push(next);
          since = line;
          last = next;
        }
      }
    }
    const end = new Uint8Array(await this.#blob.slice(-1).arrayBuffer());
    this.count = end[0] === 10 || !end.length ? line : line + 1;
    return this;
  }

  /** The texts of `count` lines from the 0-based line `from`. */
  async lines(from, count) {
    const out = [];
    for (let block = this.#find(from); block < this.#line.length && out.length < count; block += 1) {
      const texts = await this.#read(block);
      const skip = Math.max(0, from - this.#line[block]);
      out.push(...texts.slice(skip, skip + count - out.length));
    }
    return out;
  }

  /** The 0-based numbers of lines that hold `query` (letters of either case), at most `limit`. */
  async search(query, limit, signal) {
    const wanted = query.toLowerCase();
    const found = [];
    // Whole blocks at a time: one long text is searched much faster than many short ones.
    for (let block = 0; block < this.#line.length; ) {
      let end = block + 1;
      while (end < this.#line.length && this.#offset[end] - this.#offset[block] < READ) end += 1;
      const text = (await this.#text(block, end)).toLowerCase();
      signal?.throwIfAborted();
      let line = this.#line[block];
      let counted = 0;
      for (let at = text.indexOf(wanted); at >= 0; ) {
        for (let next = text.indexOf("\n", counted); next >= 0 && next < at; next = text.indexOf("\n", counted)) {
          line += 1;
          counted = next + 1;
        }
        found.push(line);
        if (found.length >= limit) return found;
        const after = text.indexOf("\n", at);
        at = after < 0 ? -1 : text.indexOf(wanted, after);
      }
      block = end;
    }
    return found;
  }

  async #read(block) {
    let texts = this.#cache.get(block);
    if (!texts) {
      // A line may be longer than any screen: what is beyond is not read.
      const text = await this.#text(block, block + 1, BYTES * 2);
      texts = text.split("\n").map(tidy);
      const room = (this.#line[block + 1] ?? this.count) - this.#line[block];
      texts.length = Math.min(texts.length, room);
      if (this.#cache.size > 24) this.#cache.delete(this.#cache.keys().next().value);
      this.#cache.set(block, texts);
    }
    return texts;
  }

  async #text(block, end, most = Infinity) {
    const start = this.#offset[block];
    const stop = Math.min(this.#offset[end] ?? this.#blob.size, start + most);
    return new TextDecoder().decode(await this.#blob.slice(start, stop).arrayBuffer());
  }

  #find(line) {
    let low = 0;
    let high = this.#line.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#line[middle] <= line) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** What is sent as it is: "gzip", "zstd", or "" for everything else. */
export async function packing(blob) {
  const [a, b, c, d] = new Uint8Array(await blob.slice(0, 4).arrayBuffer());
  if (a === 0x1f && b === 0x8b) return "gzip";
  if (a === 0x28 && b === 0xb5 && c === 0x2f && d === 0xfd) return "zstd";
  return "";
}

async function readable(blob) {
  const packed = await packing(blob);
  const start = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
  const wide = (start[0] === 0xff && start[1] === 0xfe) || (start[0] === 0xfe && start[1] === 0xff);
  if (packed === "zstd" || wide) throw new Error("This browser cannot show such a file line by line.");
  if (!packed) return blob;
  let size = 0;
  const guard = new TransformStream({
    transform(chunk, controller) {
      size += chunk.length;
      if (size > UNPACKED) controller.error(new Error("Unpacked, the log is too big to be shown here."));
      else controller.enqueue(chunk);
    },
  });
  return new Response(blob.stream().pipeThrough(new DecompressionStream("gzip")).pipeThrough(guard)).blob();
}

// As the answer counts and shows lines: colours and control characters out, a progress bar's last state.
function tidy(text) {
  let line = text.endsWith("\r") ? text.slice(0, -1) : text;
  const bar = line.lastIndexOf("\r");
  if (bar >= 0) line = line.slice(bar + 1);
  const more = line.length - LONGEST;
  if (more > 0) line = line.slice(0, LONGEST);
  // eslint-disable-next-line no-control-regex
  line = line.replace(/\x1b\[[0-9;?]*[ -/]*[@-~]/g, "").replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, " ");
  return more > 0 ? `${line} … (${more.toLocaleString("en-US")} more characters)` : line;
}
