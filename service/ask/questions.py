"""When a model is asked, how often, and that the same failure is asked about once."""

from __future__ import annotations

import re
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from importlib.util import find_spec
from threading import Lock
from typing import Literal, Protocol, get_args

from ...classifier.errors import InputError, TriageError
from ...classifier.extras import install
from ...classifier.proposal import Proposal
from ...classifier.report.model import Report
from ...classifier.report.pack.model import BUDGET, LARGEST
from ...classifier.report.pack.request import is_unsure, request_of
from ...corpus.records import replace
from ..fingerprint import fingerprint

Mode = Literal["auto", "always", "never"]
MODES: tuple[Mode, ...] = get_args(Mode)
PER_HOUR = 60
"""Questions an hour, where the settings say nothing: each costs somebody money."""
KEPT = 1_000
"""Proposals that are remembered, the last ones."""
HOUR = 3600.0


ADDRESS = re.compile(r"https?://[^\s/]+")
URL, MODEL, KEY = "VLLM_TRIAGE_ASK", "VLLM_TRIAGE_ASK_MODEL", "VLLM_TRIAGE_ASK_KEY"
"""Variables that name the endpoint, its model and its key, where the caller does not."""


class AskError(TriageError):
    """The endpoint gave no answer that can be used; the text says why and what to do, on one line."""


class Asked(Protocol):
    """Who is asked."""

    def ask(self, prompt: str) -> Proposal:
        """Return what it proposes.

        Raises:
            AskError: It gave no answer that can be used.
        """


class Later:
    """Who is asked at an address; what that takes is loaded with the first question, and where nobody asks never.

    Args:
        url: With or without ``/v1``.
        model: Its name there; empty takes the first that the endpoint lists.
        key: Sent as bearer token.

    Raises:
        AskError: The address is none.
        InputError: The extra is not installed.
    """

    def __init__(self, url: str, model: str = "", key: str = "") -> None:
        if not ADDRESS.match(url):
            raise AskError(f"{url!r} is not an address of an endpoint: give http://HOST:PORT or https://HOST")
        if find_spec("openai") is None or find_spec("httpx2") is None:
            raise InputError(f"asking a model needs an extra: {install('ask')}")
        self.url = url
        self._given = (model, key)
        self._endpoint: Asked | None = None

    def ask(self, prompt: str) -> Proposal:
        """Return what it proposes.

        Raises:
            AskError: It gave no answer that can be used.
        """
        if self._endpoint is None:
            from .endpoint import Endpoint

            self._endpoint = Endpoint(self.url, *self._given)
        return self._endpoint.ask(prompt)


def is_wanted(report: Report, mode: Mode) -> bool:
    """Return whether a model is to be asked about a report.

    Args:
        report: The answer of the rules.
        mode: ``auto`` asks about failures for which no first fix is sure enough.
    """
    return mode != "never" and report.failed and (mode == "always" or is_unsure(report))


class Questions:
    """Asks about reports: each failure once, and no more than so many in an hour.

    Args:
        asked: Who is asked.
        mode: When.
        per_hour: Most questions in any hour, tries not counted.
        budget: Characters of a pack.
        clock: Seconds that never go back.
    """

    def __init__(
        self,
        asked: Asked,
        mode: Mode = "auto",
        per_hour: int = PER_HOUR,
        budget: int = BUDGET,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._asked = asked
        self._mode = mode
        self._per_hour = per_hour
        self._budget = budget
        self._clock = clock
        self._lock = Lock()
        self._times: deque[float] = deque()
        self._known: OrderedDict[str, Proposal] = OrderedDict()

    @property
    def asked(self) -> Asked:
        """Who is asked."""
        return self._asked

    def proposal(self, report: Report) -> Proposal | None:
        """Return what is proposed for a report; None where nobody is to be asked.

        Raises:
            AskError: There is no answer, or the hour's questions are used up.
        """
        return self.ask(report) if is_wanted(report, self._mode) else None

    def ask(self, report: Report) -> Proposal:
        """Return what is proposed for a report, whatever the mode.

        Raises:
            AskError: As for ``proposal``.
        """
        key = fingerprint(report)
        with self._lock:
            if (known := self._known.get(key)) is not None:
                self._known.move_to_end(key)
                return known
            self._count()
        made = _with_words(self._asked.ask(request_of(report, self._budget)), report)
        with self._lock:
            self._known[key] = made
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        return made

    def _count(self) -> None:
        now = self._clock()
        while self._times and self._times[0] <= now - HOUR:
            self._times.popleft()
        if len(self._times) >= self._per_hour:
            minutes = max(1, round((self._times[0] + HOUR - now) / 60))
            raise AskError(f"{self._per_hour} questions were asked within the hour: the next one in {minutes} min")
        self._times.append(now)


def _with_words(proposal: Proposal, report: Report) -> Proposal:
    """Return a proposal with the words of the lines that it names: the next log of the same failure has them elsewhere."""
    texts = {line.line: line.text for line in report.pack(LARGEST).lines}
    return replace(proposal, texts=tuple(texts.get(number, "") for number in proposal.lines))
