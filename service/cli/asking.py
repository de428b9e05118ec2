"""``--ask``: what a language model says besides, behind the answer of the rules, which stands at once."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING, get_args

from ...classifier.errors import InputError
from ..ask.questions import KEY, MODEL, MODES, URL, AskError, Later, Mode, Questions, is_wanted
from ..render.interface import Result
from .messages import warn

if TYPE_CHECKING:
    from ...classifier.api import Triage
    from ...classifier.incidents.session import Session
    from ...classifier.log_source import Source
    from ...classifier.question import Question
    from ...classifier.report.model import Report


def questions_of(options: Namespace) -> Questions | None:
    """Return who asks, as the command line and the environment say; None where nobody is to be asked.

    Raises:
        InputError: They make no sense, or the extra is not installed.
    """
    when: list[Mode] = [mode for mode in options.ask if mode in MODES]
    urls = [each for each in options.ask if each not in get_args(Mode)]
    url = (urls or [os.environ.get(URL, "")])[-1]
    mode = when[-1] if when else "auto"
    if mode == "never" or (not url and not options.ask):
        return None
    if not url:
        raise InputError(f"--ask {mode}: there is nobody to be asked; give the URL of an endpoint, or {URL}")
    model = options.ask_model or os.environ.get(MODEL, "")
    try:
        asked = Later(url, model, os.environ.get(KEY, ""))
    except AskError as error:
        raise InputError(f"--ask: {error}") from None
    return Questions(asked, mode, budget=getattr(options, "budget", 14_000))


class Second:
    """Reads logs like ``Triage``, and keeps what it takes to answer them again with what was proposed.

    Args:
        triage: Answers.
        questions: Asks; None where what would be asked is only shown.
    """

    def __init__(self, triage: Triage, questions: Questions | None) -> None:
        self._triage = triage
        self._questions = questions
        self._sessions: list[Session] = []

    def report(self, source: Source, question: Question) -> Report:
        """Return the answer of the rules.

        Raises:
            InputError: It is no log.
        """
        session = self._triage.read(source, question)
        report = self._triage.peek(session, question)
        self._sessions.append(session)
        return report

    def again(self, results: list[Result], question: Question) -> list[Result]:
        """Return the answers with what was proposed, those of which nothing came as they are; why not is said."""
        return [
            Result(result.name, self._opinion(session, result, question))
            for result, session in zip(results, self._sessions, strict=True)
        ]

    def _opinion(self, session: Session, result: Result, question: Question) -> Report:
        assert self._questions is not None  # noqa: S101 - else nobody asks
        try:
            proposal = self._questions.proposal(result.report)
        except AskError as error:
            warn(f"{result.name}: no second opinion: {error}")
            return result.report
        return result.report if proposal is None else self._triage.conclude(session, question, [proposal])


def would_send(results: list[Result], options: Namespace) -> str:
    """Return what would be sent about each answer."""
    from ...classifier.report.pack.request import request_of

    always = "always" in options.ask
    told = []
    for result in results:
        if is_wanted(result.report, "always" if always else "auto"):
            told.append(request_of(result.report, options.budget))
        else:
            warn(f"{result.name}: nothing would be asked ({'no failure' if not result.report.failed else 'the first fix is sure enough; --ask always'})")  # fmt: skip
    return "\n".join(told)
