"""The process that finds what nobody has named: one question on standard input, one answer on standard output.

It loads scikit-learn, which the service never does, and it can be killed at any time.
"""

from __future__ import annotations

import json
import os
import sys

from ..history import History, HistoryError
from ..wire import Unnamed, dumps
from .find import find

NICE = 15
"""Whatever else the service does goes first."""


def main() -> None:
    """Answer."""
    if hasattr(os, "nice"):
        os.nice(NICE)
    answers = sys.stdout.buffer
    # Nothing else may write there.
    sys.stdout = sys.stderr
    asked = json.load(sys.stdin)
    try:
        history = History(asked["url"])
        try:
            found = find(history, asked["tenant"], asked["rules"])
        finally:
            history.close()
    except HistoryError as error:
        found = Unnamed(problem=f"{error.reason[:1].upper()}{error.reason[1:]}.")
    answers.write(dumps(found))


if __name__ == "__main__":
    main()
