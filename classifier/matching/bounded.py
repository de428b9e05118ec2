"""Searches in bounded time whatever the text, and with the same outcome however busy the machine is.

An expression of the corpus takes microseconds; the check refuses shapes that explode. What is left are texts made to slow
one down, and rules of users.
"""

from __future__ import annotations

from time import thread_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from regex import Match, Pattern

TIMEOUT = 0.25
"""Seconds of processor time after which a search is suspected to be too slow."""
PATIENCE = (0.5, 1.0, 2.0, 4.0)
"""Seconds that it is then given, one after the other, until the thread itself has worked for ``OWN`` of them."""
OWN = 0.45
"""Seconds of the thread's own work after which a search is given up."""


class TooSlowError(Exception):
    """An expression took too long on a text; whether it matches is not known."""


def search(expression: Pattern[str], text: str) -> Match[str] | None:
    """Search ``text``.

    Raises:
        TooSlowError: It takes too long.
    """
    try:
        return expression.search(text, timeout=TIMEOUT)
    except TimeoutError:
        return _search_alone(expression, text)


def _search_alone(expression: Pattern[str], text: str) -> Match[str] | None:
    """Search again, where the time-out may have been other threads' doing.

    ``regex`` counts the processor time of the whole process. So this search keeps the interpreter's lock, and what counts
    is what the thread itself has worked: a machine that is busy makes it slow, never another answer.
    """
    for limit in PATIENCE:
        began = thread_time()
        try:
            return expression.search(text, timeout=limit, concurrent=False)
        except TimeoutError:
            if thread_time() - began >= OWN:
                break
    raise TooSlowError
