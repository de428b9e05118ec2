"""Whether two checkouts give the same answers: ``python benchmarks/same.py BEFORE [AFTER] [--logs FILE …]``.

BEFORE and AFTER are interpreters in whose environments the checkouts are installed (AFTER: the one that runs this). Each answers in
one process: every log of ``corpus/logs`` and ``tests/fixtures``, the rows (``id``, ``text``, perhaps ``set``) of JSONL files, and
every N-th message that has a remedy, raised in its own module (``--messages N``). Each log is asked as it is and, with
``--questions``, also with its first cause ignored, with only a sure answer wanted, and for another start command. What differs is
listed by field; the texts only with ``-v``. At the end stands the processor time of both sides, and their ratio. Exit code 1 where
something differs. Two minutes on one core for the logs of the repository and each tenth message.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ANSWERS = "--answer"
SURE, COMMAND = 0.95, "docker run vllm/vllm-openai --model acme/model-7b --max-model-len 65536 --dtype auto -tp 2"
MISSING = "absent"


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, print, and return 1 where an answer differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("before", help="Python of the checkout as it was")
    parser.add_argument("after", nargs="?", default=sys.executable, help="Python of the checkout as it is")
    parser.add_argument(
        "--logs", type=Path, nargs="+", default=[], metavar="FILE", help="further logs (.jsonl, .jsonl.xz)"
    )
    parser.add_argument("--messages", type=int, default=10, metavar="N", help="each N-th message; 0: none")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th log")
    parser.add_argument("--questions", action="store_true", help="ask each log four questions")
    parser.add_argument("-v", "--verbose", action="store_true", help="print what was said before and after")
    options = parser.parse_args(argv)
    fields: Counter[str] = Counter()
    spent = [0.0, 0.0]
    asked = differ = 0
    with _start(options.before) as old, _start(options.after) as new:
        for name, text in _inputs(options):
            request = json.dumps({"text": text, "questions": options.questions}) + "\n"
            replies: list[Any] = [None, None]
            for index in (0, 1) if asked % 2 else (1, 0):  # in turn, so that neither side always finds the caches warm
                replies[index] = _ask((old, new)[index], request)
                spent[index] += replies[index]["seconds"]
            asked += 1
            found = list(_differences(replies[0]["answers"], replies[1]["answers"]))
            differ += bool(found)
            fields.update({re.sub(r"\[\d+\]", "", path.partition(".")[2]) for path, _, _ in found})
            for path, before, after in found:
                print(
                    f"{name}: {path}" + (f"\n    - {_shown(before)}\n    + {_shown(after)}" if options.verbose else "")
                )
    print(f"{asked} inputs, {differ} answered differently")
    for field, count in fields.most_common():
        print(f"{count:6} {field}")
    print(f"processor time: {spent[0]:.1f} s before, {spent[1]:.1f} s after, ratio {spent[1] / spent[0]:.3f}")
    return int(differ > 0)


def answer() -> None:
    """Answer the requests of standard input, a JSON object a line each."""
    from vllm_triage import Question, Triage, TriageError
    from vllm_triage.classifier.input.read import read_blocks

    triage = Triage()
    for line in sys.stdin:
        request = json.loads(line)
        answers: list[object] = []
        began = time.process_time()
        try:
            session = triage.start()
            for block in read_blocks(request["text"].encode("utf-8", "replace")):
                session.feed(block)
            report = triage.peek(session)
            reports = [report]
            if request["questions"]:
                reports.append(triage.peek(session, Question(ignore=[report.cause])))
                reports.append(triage.peek(session, Question(min_confidence=SURE)))
                reports.append(triage.peek(session, Question(command=COMMAND)))
            answers = [{**each.to_dict(), "explanation": list(each.explanation)} for each in reports]
        except TriageError as error:
            answers = [str(error)]
        seconds = time.process_time() - began
        print(json.dumps({"answers": answers, "seconds": seconds}, default=str), flush=True)


def _start(python: str) -> subprocess.Popen[str]:
    # -P: no module beside this one may stand in for another.
    return subprocess.Popen(
        [python, "-P", __file__, ANSWERS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )


def _ask(side: subprocess.Popen[str], request: str) -> Any:
    assert side.stdin is not None
    assert side.stdout is not None
    side.stdin.write(request)
    side.stdin.flush()
    reply = side.stdout.readline()
    if not reply:
        sys.exit(f"{side.args!r} ended")
    return json.loads(reply)


def _inputs(options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Yield a name and a text for all that is to be answered."""
    paths = sorted([*(ROOT / "corpus/logs").rglob("*.log"), *(ROOT / "tests/fixtures").rglob("*.log")])
    for path in paths[:: options.every]:
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8", errors="replace")
    for path in options.logs:
        with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as file:
            for line in list(file)[:: options.every]:
                row = json.loads(line)
                yield f"{row.get('set', path.name)}:{row['id']}", row["text"]
    if options.messages:
        from vllm_triage.corpus.remedies import remedies

        for remedy in remedies()[:: options.messages]:
            frame = f'  File "/usr/lib/python3/dist-packages/{remedy.package.replace("-", "_")}/{remedy.path}.py", line 7, in f'
            said = remedy.template.replace("{}", "7")
            yield (
                f"{remedy.package}/{remedy.path}: {remedy.template}",
                f"Traceback (most recent call last):\n{frame}\n    raise ValueError(text)\nValueError: {said}\n",
            )


def _differences(before: object, after: object, path: str = "answer") -> Iterator[tuple[str, object, object]]:
    """Yield the place of each difference between two JSON values, with what stands there on each side."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in [*before, *(name for name in after if name not in before)]:
            yield from _differences(before.get(name, MISSING), after.get(name, MISSING), f"{path}.{name}")
    elif isinstance(before, list) and isinstance(after, list):
        for index in range(max(len(before), len(after))):
            first, second = (side[index] if index < len(side) else MISSING for side in (before, after))
            yield from _differences(first, second, f"{path}[{index}]")
    elif before != after:
        yield path, before, after


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)[:1000]


if __name__ == "__main__":
    if ANSWERS in sys.argv:
        answer()
    else:
        sys.exit(main())
