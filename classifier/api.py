"""The way from a log to its diagnosis; everything else calls this."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..corpus.store import Corpus, load, plugin_folders
from ..corpus.types import Rule
from .errors import InputError
from .incidents.session import Session
from .input.read import read_blocks
from .matching.engine import Engine
from .report.types import Diagnosis
from .verdict.answer import Known
from .verdict.decide import decide

if TYPE_CHECKING:
    from .text_model.guess import Guesser

ENGINES = ("auto", "rules", "model")
"""What decides: rules first and the text model where none does; rules alone; the model alone."""
MODEL_VARIABLE = "VLLM_TRIAGE_MODEL"
"""Names the folder of a model, where the caller names none."""


class Triage:
    """A loaded corpus with its scanner, for any number of logs and from any thread.

    Args:
        rule_folders: Folders with rule files of one's own (``*.toml``), added to the corpus.
        only: If given, only causes of these buckets (or ``bucket/cause``) are answers.
        ignore: Buckets (or ``bucket/cause``, or full rule ids) that are never answers.
        vllm_version: The release that the advice is for, whatever the log says.
        engine: ``auto``: rules decide, and where none does, the text model is asked; ``rules``: it is never asked;
            ``model``: the rules that decide are silent (facts, stages and exceptions are read all the same).
        model: Folder of a model made by ``vllm-triage train``; default is what VLLM_TRIAGE_MODEL names, else none.

    Raises:
        InputError: There is no such model, or it cannot be read.
        ValueError: ``engine`` is none of the three.
    """

    def __init__(
        self,
        rule_folders: Iterable[str | os.PathLike[str]] = (),
        only: Iterable[str] = (),
        ignore: Iterable[str] = (),
        vllm_version: str = "",
        *,
        engine: str = "auto",
        model: str | os.PathLike[str] = "",
    ) -> None:
        if engine not in ENGINES:
            raise ValueError(f"engine {engine!r} is none of {', '.join(ENGINES)}")
        self.corpus: Corpus = load([*rule_folders, *plugin_folders()])
        only, ignore = frozenset(only), frozenset(ignore)
        rules = [rule for rule in self.corpus.rules if _wanted(rule, only, ignore)]
        if engine == "model":
            rules = [rule for rule in rules if rule.role == "fact"]
        self._engine = Engine(rules)
        self._version = vllm_version
        guesser = None if engine == "rules" else self._guesser
        self._known = Known(self.corpus, guesser, engine == "model", only, ignore)
        self._model: Guesser | None = None
        self._folder = os.fspath(model) or os.environ.get(MODEL_VARIABLE, "")
        if engine == "model" or (self._folder and engine != "rules"):
            # A model that is not there is told before a log is read.
            self._guesser()

    def diagnose(self, source: Any) -> Diagnosis:
        """Return the diagnosis of a log.

        Args:
            source: Text, bytes, a path object, a binary file, or an iterable of lines.

        Raises:
            InputError: The source cannot be read.
        """
        analysis = self.start()
        for block in read_blocks(source):
            analysis.feed(block)
        return self.conclude(analysis)

    def start(self) -> Session:
        """Return an empty analysis, to be fed block by block (streams)."""
        return Session(self._engine)

    def peek(self, analysis: Session) -> Diagnosis:
        """Return the answer for what an analysis was fed so far; it can be fed on.

        Raises:
            InputError: So far it is no log: empty, or binary.
        """
        return self.conclude(analysis.fork())

    def conclude(self, analysis: Session) -> Diagnosis:
        """Return the diagnosis of what an analysis was fed.

        Raises:
            InputError: It was no log: empty, or binary.
        """
        incidents = analysis.finish()
        if reason := analysis.refusal():
            raise InputError(reason)
        if self._version:
            for incident in incidents:
                incident.facts["vllm_version"] = self._version
        answer = decide(incidents, analysis.tail(), self._known)
        answer.lines, answer.bytes = analysis.lines, analysis.bytes
        return answer

    @property
    def own_buckets(self) -> frozenset[str]:
        """Buckets that the user's model knows, where there is one."""
        return self._model.own_buckets if self._model is not None else frozenset()

    def _guesser(self) -> Guesser:
        """Return the text model; reading it waits until a log asks for it."""
        if self._model is None:
            from .text_model.guess import Guesser

            self._model = Guesser(self._folder, self._known.alone)
        return self._model


def _wanted(rule: Rule, only: frozenset[str], ignore: frozenset[str]) -> bool:
    names = {rule.bucket, f"{rule.bucket}/{rule.cause}", rule.id}
    if names & ignore:
        return False
    return not only or rule.role not in ("cause", "symptom") or bool(names & only)


_shared: Triage | None = None
_shared_lock = threading.Lock()


def shared() -> Triage:
    """Return the process-wide instance with the built-in corpus."""
    global _shared  # noqa: PLW0603 - one scanner for the process
    if _shared is None:
        with _shared_lock:
            if _shared is None:
                _shared = Triage()
    return _shared
