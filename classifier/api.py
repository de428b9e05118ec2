"""The way from a log to its report; everything else calls this."""

from __future__ import annotations

import os
from _thread import allocate_lock
from collections.abc import Iterable, Iterator, Sequence

from ..corpus.records import replace
from ..corpus.store import Corpus, load, plugin_folders
from .advice import advise
from .errors import InputError
from .incidents.session import Session
from .input.read import read_blocks
from .log_source import checked
from .matching.engine import Engine
from .question import Question
from .report.build import build
from .report.pack.material import gather
from .verdict.adjust import adjust
from .verdict.decide import decide
from .verdict.known import Known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .decides import Decides
    from .incidents.types import Incident
    from .lines.types import Line
    from .log_source import Source
    from .proposal import Proposal
    from .report.model import Report
    from .starts import Start
    from .text_model.guess import Guesser

MODEL_VARIABLE = "VLLM_TRIAGE_MODEL"
"""Names the folder of a model, where the caller names none."""


class Triage:
    """A loaded corpus with its scanner, for any number of logs, questions and threads.

    Args:
        rule_folders: Folders with your own rule files (``*.toml``), or such files, added to the corpus.
        only: As all that follow: of the question that is asked where a call brings none (``Question``).
        ignore: See there.
        vllm_version: See there.
        engine: See there.
        model: Folder of a model made by ``vllm-triage train``; default is what VLLM_TRIAGE_MODEL names, else none.
        without: Buckets, causes or rules that are left out as if nobody had written them: to see what would be answered
            then. (To leave out what is known and accepted, ``ignore`` it.)

    Raises:
        InputError: A folder or model that is not there or cannot be read, or a question that cannot be answered.
    """

    def __init__(  # noqa: PLR0913 - what may be asked of every log
        self,
        rule_folders: Iterable[str | os.PathLike[str]] = (),
        only: Iterable[str] = (),
        ignore: Iterable[str] = (),
        vllm_version: str = "",
        *,
        engine: Decides = "auto",
        model: str | os.PathLike[str] = "",
        without: Iterable[str] = (),
    ) -> None:
        self.question = Question(
            only=only,  # type: ignore[arg-type] # any iterable: it is made a tuple there
            ignore=ignore,  # type: ignore[arg-type]
            vllm_version=vllm_version,
            engine=engine,
        )
        self.corpus: Corpus = load([*_existing(rule_folders), *plugin_folders()])
        self._without = frozenset(without)
        self._folder = os.fspath(model) or os.environ.get(MODEL_VARIABLE, "")
        self._guessers: dict[bool, Guesser] = {}
        self._ids: frozenset[str] = frozenset()
        if engine == "model" or (self._folder and engine != "rules"):
            # A model that is not there is told before a log is read.
            self._guesser(engine == "model")
        self.check(self.question)
        self._engines: dict[bool, Engine] = {}
        self._engine(self.question)

    def report(self, source: Source, question: Question | None = None, proposals: Sequence[Proposal] = ()) -> Report:
        """Return what is wrong with a log: root cause, the lines that prove it, ranked fixes.

        Args:
            source: The log itself (``str``, ``bytes``), a path object, an open file, or an iterable of lines. A text of
                one line that is the name of a file is refused: it would be taken for a log without a failure.
            question: What is asked; default is what was said when this object was made.
            proposals: What others conclude from a pack of this log, a language model above all: checked, and shown as what it is.

        Raises:
            InputError: The source cannot be read, or the question names what there is not.
        """
        return self.conclude(self.read(source, question), question, proposals)

    def read(self, source: Source, question: Question | None = None) -> Session:
        """Return the analysis of a log, to be given to ``peek`` and ``conclude``.

        Raises:
            InputError: As for ``report``.
        """
        session = self.start(question)
        for block in read_blocks(checked(source)):
            session.feed(block)
        return session

    def starts(self, source: Source, question: Question | None = None) -> Iterator[Start]:
        """Yield every server start of a log with an answer of its own; ``report`` answers for the log as a whole.

        Args:
            source: As for ``report``.
            question: What is asked of each.

        Raises:
            InputError: As for ``report``.
        """
        from .starts import answer_starts

        return answer_starts(self, source, question)

    def start(self, question: Question | None = None) -> Session:
        """Return an empty analysis, to be fed block by block (streams) and then given to ``conclude``.

        Raises:
            InputError: The question names what there is not.
        """
        asked = question or self.question
        self.check(asked)
        return Session(self._engine(asked))

    def peek(self, session: Session, question: Question | None = None) -> Report:
        """Return the answer for what an analysis was fed so far; it can be fed on.

        Raises:
            InputError: So far it is no log: empty, or binary.
        """
        return self.conclude(session.fork(), question)

    def conclude(
        self, session: Session, question: Question | None = None, proposals: Sequence[Proposal] = ()
    ) -> Report:
        """Return the answer for what an analysis was fed.

        Args:
            session: The analysis.
            question: That of ``start``, or one with more to it.
            proposals: As for ``report``.

        Raises:
            InputError: It was no log: empty, or binary.
        """
        incidents = session.finish()
        session.check()
        return self.answer(session, incidents, session.tail(), question, proposals=proposals)

    def answer(
        self,
        session: Session,
        incidents: list[Incident],
        tail: list[Line],
        question: Question | None = None,
        part: bool = False,
        proposals: Sequence[Proposal] = (),
    ) -> Report:
        """Return the answer for some of the starts that an analysis found.

        Args:
            session: The analysis.
            incidents: The starts, those of the first server first.
            tail: The last lines of the first server; empty where another start follows.
            question: As for ``conclude``.
            part: Whether these starts are not all of the log.
            proposals: As for ``report``.
        """
        asked = question or self.question
        told = _take_in(asked, incidents)
        known = self._known(asked)
        verdict = adjust(decide(incidents, tail, known), incidents, tail, known, asked)
        advice = advise(verdict, known)
        verdict = replace(verdict, notes=(*verdict.notes, *told))
        kept = gather(session, incidents, verdict, part)
        report = replace(build(verdict, advice, session.lines, session.bytes, session.numbers), kept=kept)
        if not proposals or not report.failed:
            return report
        from .report.pack.hear import hear
        from .report.pack.model import LARGEST

        pack = report.pack(LARGEST)
        advice = advise(verdict, known, heard=[hear(proposal, pack) for proposal in proposals])
        return replace(build(verdict, advice, session.lines, session.bytes, session.numbers), kept=kept)

    def consider(self, report: Report, proposals: Sequence[Proposal]) -> Report:
        """Return an answer with what was proposed for it, where the log is no longer at hand: held against its evidence.

        Args:
            report: With its evidence (``Report.pack``): one that was made here, or is kept in a history.
            proposals: As for ``report``.
        """
        from .report.join import with_opinions
        from .report.pack.hear import hear
        from .report.pack.log import log_of
        from .report.pack.model import LARGEST

        pack = report.pack(LARGEST)
        session = self.start()
        for block in read_blocks(log_of(pack).encode()):
            session.feed(block)
        incidents = session.finish()
        for incident in incidents:
            # What a report tells of them is what was read of the log.
            incident.facts.update({**report.facts, **incident.facts})  # type: ignore[dict-item]
        known = self._known(self.question)
        verdict = decide(incidents, session.tail(), known)
        if not report.failed or not verdict.failed:
            return report
        verdict = replace(verdict, cause=report.cause, decided_by=report.decided_by)
        advice = advise(verdict, known, heard=[hear(proposal, pack) for proposal in proposals])
        return with_opinions(report, build(verdict, advice, session.lines, session.bytes))

    def check(self, question: Question) -> None:
        """Raise where a question cannot be answered by these rules and models.

        Raises:
            InputError: ``only`` or ``ignore`` name what there is not, or there is no model to ask.
        """
        if strange := self.strange((*question.only, *question.ignore)):
            from difflib import get_close_matches

            near = get_close_matches(strange[0], self._ids, 1, 0.6)
            hint = f"; did you mean {near[0]}?" if near else " (vllm-triage rules lists them)"
            raise InputError(f"{strange[0]!r} is not a bucket, cause or rule{hint}")
        if question.engine == "model":
            self._guesser(alone=True)

    def strange(self, names: Iterable[str]) -> list[str]:
        """Return those names that are no bucket, no cause (``bucket/cause``) and no rule (``bucket/rule``)."""
        asked = list(names)
        if asked and not self._ids:
            corpus = self.corpus
            self._ids = frozenset([*corpus.buckets(), *corpus.causes(), *(rule.id for rule in corpus.rules)])
        return [name for name in asked if name not in self._ids and name not in self.own_buckets]

    @property
    def own_buckets(self) -> frozenset[str]:
        """Buckets that the user's model knows, where there is one."""
        return frozenset().union(*(guesser.own_buckets for guesser in self._guessers.values()))

    def _engine(self, question: Question) -> Engine:
        """Return the rules to match; where the model answers alone those that decide are silent, facts are read."""
        alone = question.engine == "model"
        if alone not in self._engines:
            rules = self.corpus.rules
            if hidden := self._without:
                rules = [rule for rule in rules if not hidden & {rule.bucket, f"{rule.bucket}/{rule.cause}", rule.id}]
            self._engines[alone] = Engine([rule for rule in rules if rule.role == "fact"] if alone else rules)
        return self._engines[alone]

    def _known(self, question: Question) -> Known:
        """Return what the verdict draws on; reading the text model waits until a log asks for it."""
        alone = question.engine == "model"
        return Known(self.corpus, None if question.engine == "rules" else lambda: self._guesser(alone), alone)

    def _guesser(self, alone: bool) -> Guesser:
        if alone not in self._guessers:
            from .text_model.guess import Guesser

            self._guessers[alone] = Guesser(self._folder, alone)
        return self._guessers[alone]


def triage(source: Source, question: Question | None = None) -> Report:
    """Read a vLLM log and return the root cause, the lines that prove it, and ranked fixes.

    Args:
        source: The log itself (``str``, ``bytes``), a path object, an open file, or an iterable of lines. gzip, zstd,
            xz and bzip2 are unpacked. A text of one line that is the name of a file is refused: pass ``pathlib.Path(name)``.
        question: What is asked besides: for which release, with which start command, what counts.

    Raises:
        InputError: The source cannot be read, or the question names what there is not.

    Example:
        >>> report = triage("ValueError: No available memory for the cache blocks.")
        >>> report.bucket
        'kv_cache_oom'
    """
    return shared().report(source, question)


_shared: Triage | None = None
_shared_lock = allocate_lock()


def shared() -> Triage:
    """Return the process-wide instance with the built-in corpus."""
    global _shared  # noqa: PLW0603 - one scanner for the process
    if _shared is None:
        with _shared_lock:
            if _shared is None:
                _shared = Triage()
    return _shared


def _take_in(question: Question, incidents: list[Incident]) -> list[str]:
    """Enter what a question tells of a server into the facts of its starts; return notes on what was not understood."""
    for incident in incidents if question.vllm_version else ():
        incident.facts["vllm_version"] = question.vllm_version
    if not question.command:
        return []
    from .command.source import know_command

    note = know_command(incidents, question.command)
    return [note] if note else []


def _existing(rule_folders: object) -> list[str]:
    """Return the paths of rule files.

    Raises:
        InputError: One is not there.
    """
    if isinstance(rule_folders, (str, os.PathLike)):
        raise InputError(f"rule_folders is a list of folders and files: give [{rule_folders!r}]")
    if not isinstance(rule_folders, Iterable):
        raise InputError(f"rule_folders is a list of folders and files, not {type(rule_folders).__name__}")
    paths = [os.fspath(path) for path in rule_folders]
    for path in paths:
        if not os.path.exists(path):  # noqa: PTH110 - pathlib takes longer to import than all this to run
            raise InputError(f"{path}: no such rule file or folder")
    return paths
