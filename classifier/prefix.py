"""Peels off a line what others put in front of it: containers, orchestrators, CI, launchers, vLLM itself."""
from __future__ import annotations

import re
from collections.abc import Callable

from .lazy import LazyPattern
from .model import Line

LEVELS = {
    "WARN": "WARNING", "FATAL": "CRITICAL", "ERR": "ERROR", "EXCEPTION": "ERROR", "NOTICE": "INFO", "TRACE": "DEBUG",
}  # fmt: skip

_DATE = r"\d{4}[-/]\d\d[-/]\d\d"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d+)?"
_ZONE = r"(?:Z|UTC|[+-]\d\d:?\d\d)?"

# (EngineCore_DP0 pid=12) … (RayWorkerWrapper pid=7, ip=10.0.0.1) … (pid=7) … (VllmWorker TP0 pid=3)
_PROCESS = LazyPattern(r"\((?P<name>[A-Za-z_][\w .=:<>-]{0,60}?)?[ ]?\bpid=(?P<pid>\d+)(?:, ip=(?P<ip>[\w.:]+))?\) ?(?:\[repeated [^\]]*\] ?)?")
_VLLM = LazyPattern(
    r"(?P<level>INFO|WARNING|ERROR|DEBUG|CRITICAL|FATAL)\s{1,6}(?P<time>\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?) (?:\[(?P<source>[\w./<> -]{1,80}:\d+)\] ?|(?P<old>[\w./<>-]{1,80}:\d+)\] ?)"
)
_BARE_LEVEL = LazyPattern(r"(?P<level>INFO|WARNING|ERROR|DEBUG|CRITICAL):\s{1,9}(?P<rest>.*)", re.S)
_LOGGING = LazyPattern(r"(?P<level>INFO|WARNING|ERROR|DEBUG|CRITICAL):(?P<name>[\w.]{1,80}):")
_COMPOSE = LazyPattern(r"[\w.-]{1,80}\s{1,60}\| ?")
_STAMP = LazyPattern(rf"\[?{_DATE}[T ]{_CLOCK} ?{_ZONE}\]?[ \t]*")
_CRI = LazyPattern(r"(?:stdout|stderr) [FP] ")
_LOGURU = LazyPattern(r"(?:[|-] )?\[?(?P<level>INFO|WARNING|WARN|ERROR|ERR|DEBUG|CRITICAL|FATAL)\]?\s{0,8}(?:[|:-] (?P<name>[\w.<>: -]{1,80}?) [|-] |[|:-] ?|\s)")
_PIPED = LazyPattern(r"\| (?P<level>INFO|WARNING|ERROR|DEBUG|CRITICAL) +\| [\w.]{1,60} \| ")
_POD = LazyPattern(r"\[pod/[^\]\s]{1,200}\] ")
_RANK = LazyPattern(r"\[(?:default|rank|gpu)?(?P<rank>\d{1,4})\][: ] ?")
_MPI = LazyPattern(r"\[\d+,\d+\]<(?:stdout|stderr)>: ?")
_SYSLOG = LazyPattern(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,80} (?P<unit>[\w@./-]{1,80})(?:\[(?P<pid>\d+)\])?: ")
_JOURNAL_ISO = LazyPattern(r"(?P<unit>[\w@./-]{1,80})\[(?P<pid>\d+)\]: ")
_ISO_HOST = LazyPattern(r"(?P<host>[\w.-]{1,80}) (?P<unit>[\w@./-]{1,80})\[(?P<pid>\d+)\]: ")
_ACTIONS = LazyPattern(rf"[^\t\n]{{1,80}}\t[^\t\n]{{1,80}}\t\ufeff?{_DATE}T{_CLOCK}Z ")
_KAGGLE = LazyPattern(r"\d{1,7}\.\d{1,2}s\s+\d+\s+")
_TASK = LazyPattern(r"\d{1,4}: (?=\S)")
_QUOTE = LazyPattern(r"(?:> ?){1,4}")
_BUILDKITE = LazyPattern(r"_bk;t=\d+\x07?")
_LISTED = LazyPattern(r"(?:[-*+•] |`{1,3})(?=[(\[A-Z]|\d{4}-)")
_BRACKET_STAMP = LazyPattern(rf"\[(?:{_DATE}[T ])?{_CLOCK} ?{_ZONE}(?:Z)?\][ :]*")
_CLOCK_ONLY = LazyPattern(r"\d\d:\d\d:\d\d(?:[.,]\d+)? (?=\[|\(|INFO|WARN|ERROR|DEBUG|CRIT)")
_WORKER = LazyPattern(r"\[(?P<name>(?:[A-Za-z]\w*)?(?:Worker|Engine|APIServer|worker|engine)[\w:.-]*)\] ")
_DATE_SLASH = LazyPattern(rf"{_DATE} {_CLOCK} ")


class _State:
    __slots__ = ("level", "logged", "process", "rank", "source", "text", "time")

    def __init__(self, text: str) -> None:
        self.text = text
        self.process = self.level = self.source = self.time = self.rank = ""
        self.logged = False


def _drop(pattern: LazyPattern) -> Callable[[_State], bool]:
    def peel(state: _State) -> bool:
        found = pattern.match(state.text)
        if not found:
            return False
        state.text = state.text[found.end() :]
        return True

    return peel


def _peel_process(state: _State) -> bool:
    found = _PROCESS.match(state.text)
    if not found:
        return False
    state.text = state.text[found.end() :]
    name, pid, ip = found.group("name", "pid", "ip")
    if name and name.startswith("MainProcess"):
        name = ""
    tag = (name or f"pid={pid}").strip()
    # Workers of one class on several hosts or with several pids are told apart; the engine's own names are unique.
    state.process = f"{tag} pid={pid}" if ip or tag.startswith(("Ray", "VllmWorkerProcess", "ServeReplica", "train")) else tag
    if ip:
        state.process += f" ip={ip}"
    return True


def _peel_vllm(state: _State) -> bool:
    found = _VLLM.match(state.text)
    if not found:
        return False
    state.text = state.text[found.end() :]
    level = found.group("level")
    state.level = LEVELS.get(level, level)
    state.time = found.group("time")
    state.source = (found.group("source") or found.group("old")).strip()
    state.logged = True
    return True


def _peel_level(state: _State) -> bool:
    found = _BARE_LEVEL.match(state.text) or _LOGGING.match(state.text)
    if not found:
        return False
    if not state.level or state.level == "INFO":
        state.level = found.group("level")
    state.text = state.text[found.end() :] if "name" in found.groupdict() else found.group("rest")
    return True


def _peel_stamp(state: _State) -> bool:
    found = _STAMP.match(state.text)
    if not found or not found.end():
        return False
    state.time = state.time or found.group().strip(" []\t")
    state.text = state.text[found.end() :]
    for pattern in (_CRI, _PIPED, _ISO_HOST, _LOGURU):
        inner = pattern.match(state.text)
        if not inner:
            continue
        groups = inner.groupdict()
        if groups.get("level"):
            # vLLM's own level, which may follow, decides.
            state.level = LEVELS.get(groups["level"], groups["level"])
            if pattern is _PIPED:
                state.level = ""  # a launcher that calls all of stderr an error
        state.text = state.text[inner.end() :]
        if pattern is _ISO_HOST:
            break
        if pattern is _LOGURU:
            break
    return True


def _peel_rank(state: _State) -> bool:
    found = _RANK.match(state.text)
    if not found:
        return False
    state.rank = f"rank{found.group('rank')}"
    state.text = state.text[found.end() :]
    return True


def _peel_bracket(state: _State) -> bool:
    if _peel_rank(state):
        return True
    found = _WORKER.match(state.text)
    if found:
        state.process = state.process or found.group("name")
        state.text = state.text[found.end() :]
        return True
    return any(peel(state) for peel in (_drop(_POD), _drop(_MPI), _drop(_BRACKET_STAMP))) or _peel_stamp(state)


_drop_compose, _drop_kaggle, _drop_task, _drop_quote = _drop(_COMPOSE), _drop(_KAGGLE), _drop(_TASK), _drop(_QUOTE)
_drop_syslog, _drop_actions, _drop_listed, _drop_bk = _drop(_SYSLOG), _drop(_ACTIONS), _drop(_LISTED), _drop(_BUILDKITE)
_drop_clock, _drop_journal = _drop(_CLOCK_ONLY), _drop(_JOURNAL_ISO)


def _peel_digit(state: _State) -> bool:
    return _peel_stamp(state) or _drop_kaggle(state) or _drop_clock(state) or _drop_task(state)


def _peel_word(state: _State) -> bool:
    head = state.text[:100]
    if " | " in head or "\t" in head:
        if _drop_compose(state) or _drop_actions(state):
            return True
    if "]: " in head or ": " in head[16:]:
        return _drop_syslog(state) or _drop_journal(state)
    return False


def split_line(number: int, raw: str) -> Line:
    """Return ``raw`` (one line, no colours) with its wrappers and vLLM's prefix peeled off.

    Indentation of the message itself is kept: tracebacks are told by it.
    """
    state = _State(raw)
    for _ in range(8):
        text = state.text
        if not text:
            break
        first = text[0]
        if first == "(":
            done = _peel_process(state)
        elif first in "IWEDCF":
            done = _peel_vllm(state)
            if done:
                # What follows vLLM's prefix is the message, whatever it looks like, but for a process name of the workers' own log.
                if state.text.startswith("(") and not state.process:
                    _peel_process(state)
                break
            done = _peel_level(state) or _peel_word(state)
            if done and not state.text.startswith(("(", "INFO", "ERROR", "WARNING", "DEBUG", "CRITICAL")):
                break
        elif first == "[":
            done = _peel_bracket(state)
        elif first.isdigit():
            done = _peel_digit(state)
        elif first == ">":
            done = _drop_quote(state)
        elif first in "-*+•`":
            done = _drop_listed(state)
        elif first == "_":
            done = _drop_bk(state) or _peel_word(state)
        elif first.isalpha():
            done = _peel_word(state)
        elif first in " \t":
            stripped = text.lstrip()
            # An indented log line (quoted in an issue, or from a CI viewer) is a log line; an indented anything else is a message.
            if stripped.startswith(("(", "INFO ", "ERROR ", "WARNING ", "DEBUG ", "CRITICAL ")) and (_PROCESS.match(stripped) or _VLLM.match(stripped)):
                state.text = stripped
                continue
            break
        else:
            break
        if not done:
            break
    process = state.process or state.rank
    if state.rank and state.process and state.rank not in state.process:
        process = f"{state.process} {state.rank}"
    return Line(number, state.text, process, state.level, state.source, state.time, raw, state.logged)
