"""Writes docs/lab/proof.md from the rows of what was proved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .faults import Proof

PAGE = Path(__file__).resolve().parents[2] / "docs" / "lab" / "proof.md"
Row = Mapping[str, Any]

_HEAD = """\
# Proof: does the advice cure?

`python -m vllm_triage.training.prove --release 0.32.0` breaks a start of real vLLM (CPU build), reads its log, does what the
answer says, starts again and asks one request. A fault is cured if the server comes up and answers that with 200. This page
is written from the rows of `training/prove/proof.jsonl` by `python -m vllm_triage.training.prove --page`.

- **The command** is the answer's corrected command, verbatim, run by `bash`. Where there is none, the first fix is applied as
  it is written, then the second and the third; what only says in words what to do cures nothing, unless the catalogue holds
  what a person does who reads it ('by hand': a path that only they know).
- **Known start command**: the answer is asked with `--command`, as a user can who knows what was run. Of many faults the log
  alone has no arguments (vLLM prints them after it has read them); the column 'alone' counts the logs that were enough.
- **Faults** stand in `training/prove/catalogue/*.toml`, those of the recorder that a user can cure among them. A fault that
  does no harm in a release is not counted. Faults of GPUs cannot be proved this way; what can be computed of them stands in the
  last section.
- **Forked starts**: servers are forked from a process that has vLLM imported, and so is the engine's process, which a CPU
  build spawns otherwise; an argument that is refused takes 2 s, a cure 6 s. Starts with variables that vLLM reads
  when it is imported are plain ones. `--plain` starts all so; two cures were tried that way as well, with the same outcome.
- **Installations** are not tried: faults that only `pip install` cures are not in the catalogue.
- **First looks**: what a release showed when it was proved for the first time, before anything was changed for it, is kept in
  `training/prove/first_looks.jsonl`; the tables below it are about the rules as they are.
- **Read with care**: rules and corrector were changed after the first look at these faults in the releases marked 'seen'; their
  figures say that nothing is forgotten. In 0.32.0 that first look, on 188 faults, had the bucket right in 0.96, the first fix
  cured 0.61 and one of the first three 0.65; 0.69 got a command. After it the catalogue was corrected as well: faults that the
  toy model made (parsers whose tokens it lacks), that only an installation cures, or whose paths only a person knows. A
  release marked 'first look' was proved once, and nothing was changed for what it showed. The faults are the same in all
  releases: what is new to such a release are its own words.
- **In part**: 0.30.0 and 0.32.0 with all faults; of 0.30.0 the last third was first looked at later than the rest, with the rules of
  then. 0.10.2, 0.14.1 and 0.23.0 with every third fault in the order of the catalogue, from the first one on; 0.27.1 with every
  third one from the second one on; nothing was changed for what its first look showed. All rows are of the rules as they are.
- **Not the answers' fault**: up to 0.19.1 vLLM on CPUs has no speculation, which logs that end before the engine do not tell: keys of
  its configuration are put right, and the next start fails all the same (two faults each in 0.10.2 and 0.14.1). In 0.23.0 the three
  cures that keep speculation fail in this CPU build itself (a kernel is called with an argument that it does not have). In 0.10.2 and
  0.14.1 a KV cache of one block lets a server come up that answers no request, and nothing in its log says so. From 0.12 on what
  takes the place of `--rope-scaling` needs the model's `rope_theta`, which no log tells: it is left to fill in, so there is no command.
"""


_COLUMNS = (
    "release", "faults", "bucket right", "first fix cures", "one of the first three", "command given", "of these cure",
    "log alone gives one", "refused by the parser", "loses what was right", "lowers security",
)  # fmt: skip


def page(
    rows: Sequence[Row], faults: Mapping[str, Proof], seen: Iterable[str] = (), first: Sequence[Row] = (),
    more: Iterable[str] = (),
) -> str:  # fmt: skip
    """Return the page.

    Args:
        rows: What was proved, with the rules as they are.
        faults: The catalogue.
        seen: Releases for which rules were changed.
        first: The same as ``rows`` in short, before that.
        more: Lines of further sections.
    """
    looked = set(seen)
    releases = sorted({str(row["release"]) for row in rows}, key=lambda text: [int(part) for part in text.split(".")])
    parts = [
        _HEAD,
        *_first_looks(first),
        *_by_release(rows, releases, looked),
        *_by_group(rows, releases),
        *_misses(rows, releases),
    ]
    parts += [*more, f"The catalogue holds {len(faults)} faults.", ""]
    return "\n".join(parts)


def _first_looks(rows: Sequence[Row]) -> list[str]:
    """Return what releases showed before anything was changed for them."""
    if not rows:
        return []
    lines = [
        "## First looks", "", "| release | faults | bucket right | first fix cures | one of the first three | command given |",
        "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for release in dict.fromkeys(str(row["release"]) for row in rows):
        own = [row for row in rows if row["release"] == release]
        cured = sum(row["cured_by"] == 1 for row in own), sum(row["cured_by"] > 0 for row in own)
        lines.append(
            f"| {release} | {len(own)} | {_share(own, 'right')} | {_part(cured[0], own)} | {_part(cured[1], own)} | "
            f"{_share(own, 'command')} |"
        )
    return [*lines, ""]


def _by_release(rows: Sequence[Row], releases: Sequence[str], seen: set[str]) -> list[str]:
    head = [
        "## By release", "",
        f"| {' | '.join(_COLUMNS)} |", f"|{'---|' * len(_COLUMNS)}",
    ]  # fmt: skip
    lines = []
    for release in releases:
        own = [row for row in rows if row["release"] == release]
        given = [row for row in own if row["command"]]
        lines.append(
            f"| {release} ({'seen' if release in seen else 'first look'}) | {len(own)} | {_share(own, 'right')} | "
            f"{_part(sum(row['cured_by'] == 1 for row in own), own)} | {_part(sum(row['cured_by'] > 0 for row in own), own)} | "
            f"{_share(own, 'command')} | {_part(sum(row['cured_by'] == 1 for row in given), given)} | {_share(own, 'alone')} | "
            f"{sum(not row['parses'] for row in own)} | {sum(not row['keeps'] for row in own)} | "
            f"{sum(bool(row['unsafe']) for row in own)} |"
        )
    return [*head, *lines, ""]


def _by_group(rows: Sequence[Row], releases: Sequence[str]) -> list[str]:
    head = ["## By what is broken", "", "| faults | release | number | right | first fix cures | first three |"]
    lines = ["|---|---|---|---|---|---|"]
    for group in sorted({str(row["group"]) for row in rows}):
        for release in releases:
            own = [row for row in rows if (row["group"], row["release"]) == (group, release)]
            first, three = sum(row["cured_by"] == 1 for row in own), sum(row["cured_by"] > 0 for row in own)
            lines.append(
                f"| {group} | {release} | {len(own)} | {_share(own, 'right')} | {_part(first, own)} | {_part(three, own)} |"
            )
    return [*head, *lines, ""]


def _misses(rows: Sequence[Row], releases: Sequence[str]) -> list[str]:
    lines = ["## What the first fix does not cure", ""]
    for release in releases:
        missed = [row for row in rows if row["release"] == release and row["cured_by"] != 1]
        if not missed:
            continue
        lines += [
            f"### {release}",
            "",
            "| fault | answer | cured by | first fix, and why it does not cure |",
            "|---|---|---|---|",
        ]
        for row in missed:
            first = row["tried"][0] if row["tried"] else {"title": "no fix", "why_not": ""}
            cause = row["cause"] + ("" if row["right"] else " (wrong)")
            told = _cell(f"{first['title']}: {first['why_not']}")
            lines.append(f"| {_cell(row['broken'])} | {cause} | {row['cured_by'] or '–'} | {told} |")
        lines.append("")
    return lines


def _share(rows: Sequence[Row], name: str) -> str:
    return _part(sum(bool(row[name]) for row in rows), rows)


def _part(count: int, of: Sequence[object]) -> str:
    return f"{count / len(of):.2f} ({count})" if of else "–"


def _cell(text: str) -> str:
    """Return a text for a cell of a table."""
    plain = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
    return plain if len(plain) <= 220 else plain[:219].rstrip() + " …"
