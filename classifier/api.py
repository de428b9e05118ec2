"""The way from a log to its diagnosis; everything else calls this."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from typing import Any

from ..corpus.store import Corpus, load, plugin_folders
from .analyze import Analysis, Engine
from .decide import decide
from .errors import InputError
from .model import Diagnosis
from .read import read_blocks


class Triage:
    """A loaded corpus with its scanner, for any number of logs and from any thread.

    Args:
        rule_folders: Folders with rule files of one's own (``*.toml``), added to the corpus.
        only: If given, only causes of these buckets (or ``bucket/cause``) are answers.
        ignore: Buckets (or ``bucket/cause``, or full rule ids) that are never answers.
        vllm_version: The release that the advice is for, whatever the log says.
    """

    def __init__(
        self,
        rule_folders: Iterable[str | os.PathLike[str]] = (),
        only: Iterable[str] = (),
        ignore: Iterable[str] = (),
        vllm_version: str = "",
    ) -> None:
        self.corpus: Corpus = load([*rule_folders, *plugin_folders()])
        only, ignore = frozenset(only), frozenset(ignore)
        rules = [rule for rule in self.corpus.rules if _wanted(rule, only, ignore)]
        self._engine = Engine(rules)
        self._version = vllm_version

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

    def start(self) -> Analysis:
        """Return an empty analysis, to be fed block by block (streams)."""
        return Analysis(self._engine)

    def peek(self, analysis: Analysis) -> Diagnosis:
        """Return the answer for what an analysis was fed so far; it can be fed on.

        Raises:
            InputError: So far it is no log: empty, or binary.
        """
        return self.conclude(analysis.fork())

    def conclude(self, analysis: Analysis) -> Diagnosis:
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
        answer = decide(incidents, analysis.tail(), self.corpus)
        answer.lines, answer.bytes = analysis.lines, analysis.bytes
        return answer


def _wanted(rule: Any, only: frozenset[str], ignore: frozenset[str]) -> bool:
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
