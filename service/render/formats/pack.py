"""The evidence pack as JSON: what a reader needs who concludes for himself (docs/pack.md)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..interface import Options, Result

ABOUT = "the evidence in one object of bounded size, for programs that hand it on (docs/pack.md)"
MEDIA_TYPE = "application/vnd.vllm-triage.pack+json"
COMPLETE = True


def render(results: Sequence[Result], options: Options) -> str:
    """Return one object for one input, a list for several."""
    data = []
    for result in results:
        pack = result.report.pack(options.budget, candidates=options.candidates).to_dict()
        data.append(pack if result.name == "-" else {**pack, "file": result.name})
    return json.dumps(data[0] if len(data) == 1 else data, ensure_ascii=False, indent=2) + "\n"
