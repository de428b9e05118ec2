"""A stand-in for kubectl: answers from a recorded pod in the folder that ``KUBECTL_STAND_IN`` names, and notes what it was asked."""

# ruff: noqa: T201

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

HERE = Path(os.environ["KUBECTL_STAND_IN"])


def main() -> int:
    """Answer as kubectl does: get, describe, logs; anything else is refused."""
    words = [word for word in sys.argv[1:] if not word.startswith(("--namespace", "--context", "--kubeconfig"))]
    with (HERE / "asked").open("a") as file:
        file.write(" ".join(sys.argv[1:]) + "\n")
    if words[:2] == ["get", "pods"]:
        pods = [json.loads(path.read_text()) for path in sorted(HERE.glob("*.json"))]
        print(json.dumps({"items": pods}))
        return 0
    name = words[2] if words[0] in ("get", "describe") else next(word for word in words[1:] if not word.startswith("-"))
    path = HERE / f"{name}.json"
    if not path.is_file():
        print(f'Error from server (NotFound): pods "{name}" not found', file=sys.stderr)
        return 1
    if words[0] == "get":
        print(path.read_text())
    elif words[0] == "describe":
        print((HERE / f"{name}.describe").read_text())
    elif words[0] == "logs":
        log = HERE / f"{name}.{'previous' if '--previous' in words else 'log'}"
        if not log.is_file():
            print(
                f'Error from server (BadRequest): previous terminated container "vllm" in pod "{name}" not found',
                file=sys.stderr,
            )
            return 1
        print(log.read_text(), end="")
    else:
        print(f"not for a plugin that changes nothing: {words}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
