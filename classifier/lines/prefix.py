"""Peels off a line what others put in front of it: containers, orchestrators, CI, launchers, vLLM itself."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..patterns.lazy import LazyPattern
from .formatter import read_header
from .types import Line

LEVELS = {"WARN": "WARNING", "FATAL": "CRITICAL", "ERR": "ERROR"}
WRAPPERS = 8
"""How many wrappers may stand around one another."""
NAMED = ("EngineCore", "APIServer", "ApiServer", "Worker_", "VllmWorker ", "DPSupervisor", "DPCoordinator")
"""Processes whose names are unique within a server; others of one name are told apart by their process ids."""

MAIN = "MainProcess"
"""What vLLM calls a process that it gave no name: as good as none."""

_DATE = r"\d{4}[-/]\d\d[-/]\d\d"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d+)?"
_ZONE = r"(?: ?(?:Z|UTC|GMT|[CEJKMPIBS][EDS]?[SD]?T|[+-]\d\d:?\d\d(?: UTC)?)(?![A-Za-z]))?"
_LEVEL = r"(?P<level>INFO|WARNING|WARN|ERROR|ERR|DEBUG|CRITICAL|FATAL)"
_STARTS = ("(", "INFO", "ERROR", "WARNING", "DEBUG", "CRITICAL", "FATAL", "Traceback")

# What nearly every line of a server starts with: (EngineCore_DP0 pid=7) ERROR 10-25 13:08:43 [core.py:708]
_USUAL = LazyPattern(
    r"(?:\((?P<name>[A-Za-z_]\w{0,40}(?:[ =]\w{1,20}){0,3}) pid=(?P<pid>\d{1,10})\) )?"
    r"(?:(?P<level>INFO|WARNING|ERROR|DEBUG|CRITICAL) (?P<time>\d\d-\d\d \d\d:\d\d:\d\d) "
    r"\[(?P<source>[\w./-]{1,80}:\d+)\] ?)?"
)
# (EngineCore_0 pid=12) … (RayWorkerWrapper pid=7, ip=10.0.0.1) … (pid=7) … (MapWorker(MapBatches(f)) pid=3)
_PROCESS = LazyPattern(
    r"\((?P<name>[A-Za-z_][\w .=:<>()\[\]/,+-]{0,100}?)?[ ]?\bpid=(?P<pid>\d{1,10})"
    r"(?:, ip=(?P<ip>[\w.:]+))?\) ?(?:\[repeated [^\]]*\] ?)?"
    r"|\((?P<daemon>raylet|gcs_server|autoscaler|dashboard)(?: \+[\w]{1,12}|, ip=[\w.:]{1,60})?\) ?"
)
_REPEATED = LazyPattern(r" ?\[repeated \d+x across cluster\].*$")
_VLLM = LazyPattern(
    r"(?P<level>INFO|WARNING|ERROR|DEBUG|CRITICAL|FATAL)\s{1,6}(?P<time>\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?) "
    r"(?:\[(?P<source>[\w./<>… -]{1,80}:\d+)\] ?|(?P<old>[\w./<>-]{1,80}:\d+)\] ?)"
)
# The same within a line, after what nobody foresaw; and the process that may stand before it.
_LATER = LazyPattern(
    r"(?P<level>INFO|WARNING|ERROR|DEBUG|CRITICAL) (?P<time>\d\d-\d\d \d\d:\d\d:\d\d) "
    r"(?:\[(?P<source>[\w./<> -]{1,80}\.py:\d+)\] ?|(?P<old>[\w./-]{1,80}\.py:\d+)\] ?)"
)
_BEFORE = LazyPattern(r"\(?(?P<name>[A-Za-z_]\w{0,40}(?:[ =]\w{1,20}){0,3}) pid=(?P<pid>\d{1,10})\) $")
_LEVEL_WORD = LazyPattern(r"\b(?:INFO|WARN(?:ING)?|ERR(?:OR)?|DEBUG|CRITICAL|FATAL)\b|^\[?[IWEFDC](?:\d{4}| \d)")
_BARE_LEVEL = LazyPattern(r"(?P<level>INFO|WARNING|ERROR|DEBUG|CRITICAL):(?:(?P<name>[\w.]{1,80}):|\s{1,9})")

# Stamps, and what may stand behind one.
_STAMP = LazyPattern(rf"\[?{_DATE}[T ]{_CLOCK}{_ZONE}\]?(?:[ \t:]|$)")
_SHORT_STAMP = LazyPattern(rf"\[(?:{_DATE}[T ])?{_CLOCK}{_ZONE}\]:?(?: |$)")
_CRI = LazyPattern(r"(?:stdout|stderr) [FP] |(?:stdout|stderr) [FP]$|\d\d[OE](?: |\+|$)")
_PIPED = LazyPattern(r"\| (?P<level>INFO|WARNING|ERROR|DEBUG|CRITICAL) +\| (?:stderr|stdout)(?: \| |$)")
_HOST_UNIT = LazyPattern(r"(?:[\w.-]{1,80} )(?:[\w@./-]{1,80}\[\d+\]|kernel|systemd): ")
_CLOUD = LazyPattern(
    r"(?:app\[[\w.-]{1,40}\](?: \w{3} \[\w+\]|:) "
    r"|(?:[\w.-]{1,80}/){0,4}(?:AllTraffic|primary|algo-\d+)/[\w./-]{1,120} "
    r"|[a-z0-9]{10,20}\[(?:info|warn|warning|error)\])"
)
_LOGURU = LazyPattern(
    rf"\s{{0,2}}(?:- (?P<logger>[\w.]{{1,80}}) - )?(?:[|-] )?\[?{_LEVEL}\]?"
    r"\s{0,8}(?:[|:-] (?P<name>[\w.<>: -]{1,80}?) [|-] |[|:-] ?|\s(?:[\w./]{1,80}:\d+ -- )?)"
)

# Wrappers by the character that they start with.
_COMPOSE = LazyPattern(r"(?:\d{1,3}\|)?[\w.-]{1,80}\s{1,60}\|(?: |$)")
_SYSLOG = LazyPattern(
    r"(?:[A-Z][a-z]{2} )?(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [A-Z]{3,4}) "
    r"(?:[\w.-]{1,80} (?:[\w@./-]{1,80}\[\d+\]|kernel|systemd|(?:vllm|python|docker|podman)[\w.-]{0,60}): ?)?"
)
_UNIT = LazyPattern(r"(?:vllm|python|docker|podman|bash|sh|run|kernel|systemd)[\w@.-]{0,60}\[\d+\]: ")
_ACTIONS = LazyPattern(rf"[^\t\n]{{1,80}}\t[^\t\n]{{1,80}}\t\ufeff?(?={_DATE}T{_CLOCK}Z )")
_VERTEX = LazyPattern(
    rf"(?:INFO|WARNING|ERROR|DEBUG|CRITICAL|NOTICE|DEFAULT)\t{_DATE} {_CLOCK}{_ZONE}\t[\w-]{{1,40}}\t"
)
_STERN = LazyPattern(r"[a-z0-9][a-z0-9.-]{0,60}-[a-z0-9]{8,10}-[a-z0-9]{5} (?:› )?[a-z0-9][a-z0-9-]{0,62} (?:│ )?")
_DJL = LazyPattern(r"\[?(?:INFO|WARN|ERROR|DEBUG) ?\]? {0,2}PyProcess (?:- )?W-[\w-]{1,60}-(?:stdout|stderr): ")
_BUILDKITE = LazyPattern(r"_bk;t=\d{10,13}\x07?")
_KAGGLE = LazyPattern(r"\d{1,7}\.\d{1,2}s[ \t]+\d{1,7}(?:[ \t]|$)")
_CLOCKED = LazyPattern(
    r"\d\d:\d\d:\d\d(?:[.,]\d+)? {1,2}(?=\[|\(|INFO|WARN|ERROR|DEBUG|CRIT|Traceback|[\w.-]{1,60}\s{1,40}\| )"
)
_EPOCH = LazyPattern(r"\d{10}\.\d{3,9} |\d{13,19}\t")
_TASK = LazyPattern(r"(?!\d\d:\d\d:\d\d)(?P<rank>\d{1,4}): ?")
_NUMBERED = LazyPattern(r"[ ]{0,8}\d{1,7}(?:\t|:(?=[(\[]|INFO |ERROR |WARNING |DEBUG |Traceback))")
_PADDED = LazyPattern(r" {1,6}(?:\d{1,7}\.\d{1,2}s[ \t]+\d{1,7}(?:[ \t]|$)|\d{1,7}\t)")
_QUOTE = LazyPattern(r"(?:> ?){1,4}")
_LISTED = LazyPattern(r"(?:[-*+•] |`{1,3} ?|\*\*)(?=[(\[A-Z]|\d{4}-)|`{3}\w{0,12}$")
_RANK = LazyPattern(r"\[(?:default|rank|gpu)?(?P<rank>\d{1,4})\](?:: ?| |$)")
_MPI = LazyPattern(r"\[(?:[\w.@-]{1,80}@)?\d+,(?P<rank>\d{1,5})\]<(?:stdout|stderr)>: ?")
_POD = LazyPattern(r"\[pod/[^\]\s]{1,200}\](?: |$)")
_KERNEL = LazyPattern(r"\[ {0,6}\d{1,7}\.\d{6}\] |\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\] ")
_WORKER = LazyPattern(r"\[(?P<name>(?:[A-Za-z]\w*)?(?:Worker|Engine|APIServer|worker|engine)[\w:.-]*)\] ")
_OUT = LazyPattern(r"\[(?:stdout|stderr)\] ?")
_HASHES = LazyPattern(r"##\[(?P<level>error|warning|debug|group|command|section)\]")

_MONTHS = frozenset(
    [
        "Jan",
        "Feb",
        "Mar",
        "Apr",
        "May",
        "Jun",
        "Jul",
        "Aug",
        "Sep",
        "Oct",
        "Nov",
        "Dec",
        "Mon",
        "Tue",
        "Wed",
        "Thu",
        "Fri",
        "Sat",
        "Sun",
    ]
)


class _State:
    __slots__ = ("level", "logged", "process", "rank", "source", "text", "time")

    def __init__(self, text: str) -> None:
        self.text = text
        self.process = self.level = self.source = self.time = self.rank = ""
        self.logged = False


def split_line(number: int, raw: str) -> Line:
    """Return ``raw`` (one line, no colours) with its wrappers and vLLM's prefix peeled off.

    Indentation of the message itself is kept: tracebacks are told by it.
    """
    state = _usual(number, raw) if raw[:1] in _USUAL_STARTS else _State(raw)
    if isinstance(state, Line):
        return state
    for _ in range(WRAPPERS):
        if not state.text or not _PEELERS.get(state.text[0], _peel_other)(state) or state.logged:
            break
    if not state.logged and ".py:" in state.text[:300]:
        _peel_unforeseen(state)
    if not state.logged and (state.level or _LEVEL_WORD.search(state.text, 0, 120)):
        _peel_header(state)
    process = state.process or state.rank
    if state.rank and state.process and state.rank not in state.process:
        process = f"{state.process} {state.rank}"
    return Line(number, state.text, process, state.level, state.source, state.time, raw, state.logged)


def _usual(number: int, raw: str) -> Line | _State:
    """Return a line that begins as nearly all do, or where it does not, what is left to be peeled off."""
    found = _USUAL.match(raw)
    if found is None:
        return _State(raw)
    name, pid, level, time, source = found.groups()
    process = process_name(name, pid) if name and name != MAIN else ""
    text = raw[found.end() :] if name or level else raw
    # Ray's actors have any name, and their lines an end to peel off as well.
    usual = process == name if name else text[:1] != "("
    if level and (usual or name == MAIN):
        return Line(number, text, process, level, source, time, raw, True)
    state = _State(text if name and usual and not level else raw)
    state.process = process
    return state


def process_name(name: str | None, pid: str, ip: str | None = None) -> str:
    """Return how a process is called in evidence and told apart from others: by its name where that is unique."""
    if not name:
        tag = f"pid={pid}"
    elif name.startswith(NAMED):
        tag = name
    else:
        tag = f"{name} pid={pid}"
    return f"{tag} ip={ip}" if ip else tag


def _peel_process(state: _State) -> bool:
    found = _PROCESS.match(state.text)
    if not found:
        return False
    state.text = state.text[found.end() :]
    name, pid, ip, daemon = found.group("name", "pid", "ip", "daemon")
    if daemon:
        state.process = daemon
    elif name != MAIN:
        state.process = process_name((name or "").strip(), pid, ip)
    if "across cluster]" in state.text:
        state.text = _REPEATED.sub("", state.text)
    return True


def _peel_vllm(state: _State) -> bool:
    found = _VLLM.match(state.text)
    if not found:
        return False
    state.text = state.text[found.end() :]
    _note_vllm(state, found)
    # What follows vLLM's prefix is the message, whatever it looks like, but for a process name of the workers' own log.
    if state.text.startswith("(") and not state.process:
        _peel_process(state)
    return True


def _note_vllm(state: _State, found: re.Match[str]) -> None:
    level = found.group("level")
    state.level = LEVELS.get(level, level)
    state.time = found.group("time")
    state.source = (found.group("source") or found.group("old")).strip()
    state.logged = True


def _peel_unforeseen(state: _State) -> None:
    """Find vLLM's prefix behind a wrapper that nobody foresaw: a few words that are none of a sentence."""
    found = _LATER.search(state.text, 0, 400)
    if not found:
        return
    before = state.text[: found.start()]
    owner = _BEFORE.search(before) if before.endswith(") ") else None
    words = before[: owner.start()].split() if owner else before.split()
    if len(words) > 3 or any(word[-1] in ":,;.'\"" or word[0] in "'\"" for word in words):
        return
    if words and not any(sign in "0123456789-_/[|<*" for sign in words[0]):
        return
    state.text = state.text[found.end() :]
    if owner:
        state.process = process_name(owner.group("name"), owner.group("pid"))
    _note_vllm(state, found)


def _peel_header(state: _State) -> None:
    """Peel off the fields of a format of somebody's own."""
    header = read_header(state.text, state.level, state.time)
    if header is None:
        return
    state.text = state.text[header.end :]
    state.level, state.time = header.level, header.time
    state.source = state.source or header.place
    state.logged = header.place.startswith("vllm")


def _peel_level(state: _State) -> bool:
    found = _BARE_LEVEL.match(state.text)
    if not found:
        return False
    if not state.level or state.level == "INFO":
        state.level = found.group("level")
    state.text = state.text[found.end() :]
    return True


def _drop(*patterns: LazyPattern[str]) -> Callable[[_State], bool]:
    def peel(state: _State) -> bool:
        for pattern in patterns:
            found = pattern.match(state.text)
            if found and found.end():
                state.text = state.text[found.end() :]
                return True
        return False

    return peel


_drop_after_stamp = _drop(_CRI, _CLOUD, _HOST_UNIT)
_drop_digits = _drop(_KAGGLE, _CLOCKED, _EPOCH, _NUMBERED)
_drop_brackets = _drop(_POD, _SHORT_STAMP, _KERNEL, _DJL, _OUT)
_drop_quote, _drop_listed, _drop_padded = _drop(_QUOTE), _drop(_LISTED), _drop(_PADDED)


def _peel_stamp(state: _State) -> bool:
    found = _STAMP.match(state.text)
    if not found:
        return False
    state.time = state.time or found.group().strip(" []\t:")
    state.text = state.text[found.end() :]
    if not state.text or _drop_after_stamp(state):
        return True
    piped = _PIPED.match(state.text)
    if piped:
        # A launcher that calls all of stderr an error.
        state.text = state.text[piped.end() :]
        return True
    inner = None if _BARE_LEVEL.match(state.text) or _VLLM.match(state.text.lstrip()) else _LOGURU.match(state.text)
    if inner:
        state.level = LEVELS.get(inner.group("level"), inner.group("level"))
        state.text = state.text[inner.end() :]
    return True


def _peel_rank(state: _State, pattern: LazyPattern[str]) -> bool:
    found = pattern.match(state.text)
    if not found:
        return False
    state.rank = f"rank{found.group('rank')}"
    state.text = state.text[found.end() :]
    return True


def _peel_bracket(state: _State) -> bool:
    if _peel_rank(state, _RANK):
        return True
    if found := _WORKER.match(state.text):
        state.process = state.process or found.group("name")
        state.text = state.text[found.end() :]
        return True
    if found := _SHORT_STAMP.match(state.text):
        state.time = state.time or found.group().strip(" []:")
    return _peel_rank(state, _MPI) or _peel_stamp(state) or _drop_brackets(state)


def _peel_digit(state: _State) -> bool:
    return _peel_stamp(state) or _drop_digits(state) or _peel_pipe(state) or _peel_rank(state, _TASK)


def _peel_pipe(state: _State) -> bool:
    found = _COMPOSE.match(state.text) if "|" in state.text[:100] else None
    if not found or _LEVEL_WORD.match(found.group()):
        return False
    state.text = state.text[found.end() :]
    return True


def _peel_level_word(state: _State) -> bool:
    """Peel a line that begins like a level: vLLM's prefix, another logger's, or any word."""
    if _peel_vllm(state):
        return True
    if _peel_level(state):
        return state.text.startswith(_STARTS)
    return _peel_word(state)


_drop_tabbed, _drop_dated, _drop_unit = _drop(_ACTIONS, _VERTEX), _drop(_SYSLOG), _drop(_UNIT)
_drop_pod, _drop_process, _drop_cloud = _drop(_STERN), _drop(_DJL), _drop(_CLOUD)


def _peel_word(state: _State) -> bool:  # noqa: PLR0911 - one cheap question for each kind of wrapper
    text = state.text
    head = text[:100]
    if "|" in head and _peel_pipe(state):
        return True
    if "\t" in head and _drop_tabbed(state):
        return True
    if text[3:4] == " " and text[:3] in _MONTHS and _drop_dated(state):
        return True
    if "]: " in head and _drop_unit(state):
        return True
    if "PyProcess" in head and _drop_process(state):
        return True
    if "[" in head[:40] and _drop_cloud(state):
        return True
    return head.count("-", 0, 80) > 1 and _drop_pod(state)


def _peel_space(state: _State) -> bool:
    """Peel an indented log line (quoted in an issue, or from a CI viewer); an indented anything else is a message."""
    text = state.text
    stripped = text.lstrip()
    if stripped.startswith(_INDENTED) and (_PROCESS.match(stripped) or _VLLM.match(stripped)):
        state.text = stripped
        return True
    return stripped[:1].isdigit() and _drop_padded(state)


def _peel_hash(state: _State) -> bool:
    found = _HASHES.match(state.text)
    if not found:
        return False
    level = found.group("level").upper()
    state.level = level if level in ("ERROR", "WARNING", "DEBUG") else state.level
    state.text = state.text[found.end() :]
    return True


def _peel_mark(state: _State) -> bool:
    """Drop a byte order mark within the log: files put one after the other."""
    state.text = state.text.lstrip("\ufeff\u200b")
    return bool(state.text)


def _peel_other(state: _State) -> bool:
    first = state.text[0]
    return _peel_word(state) if first.isalpha() else first.isdigit() and _peel_digit(state)


_peel_bk = _drop(_BUILDKITE)
_INDENTED = ("(", "INFO ", "ERROR ", "WARNING ", "DEBUG ", "CRITICAL ")
_USUAL_STARTS = frozenset("(IWEDC")
_PEELERS: dict[str, Callable[[_State], bool]] = {
    "(": _peel_process, "[": _peel_bracket, ">": _drop_quote, "_": lambda state: _peel_bk(state) or _peel_word(state),
    "#": _peel_hash, "\ufeff": _peel_mark, "\u200b": _peel_mark,
    **dict.fromkeys("IWEDCF", _peel_level_word), **dict.fromkeys("-*+•`", _drop_listed),
    **dict.fromkeys(" \t\xa0", _peel_space),
    **dict.fromkeys("0123456789", _peel_digit),
}  # fmt: skip
