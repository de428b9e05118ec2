"""What somebody wrote around a log: what is complained of, what was tried, what works, which release and machine it is.

Only words that stand before, behind or between pieces of a log count, never what a log line says; and of those only sentences.
"""
# ruff: noqa: RUF001 - other languages

from __future__ import annotations

import re
from collections.abc import Iterator

from ...corpus.records import Record, record
from ..patterns.lazy import LazyPattern

MOST = 40
"""Sentences that are read."""
LINES = 200
"""Lines of a text up to which prose may stand anywhere in it; of a longer one only above and below the log."""
_TEMPLATE = LazyPattern(r"(?m)^\s*(?:#{1,6} |\*\*|<!--|<details>|<summary>|```)")
"""How lines of an issue's form begin."""
_LOGGED = LazyPattern(
    r"^\s*(?:[>|]\s*)?(?:[\[(]?\w*\s?pid=|[\[(]?(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b|\[?\d{1,4}[-/:]\d\d[-/:]\d|[\[(]\w[\w. =-]*[\])]\s|File \"|"
    r"Traceback|[\w.]*(?:Error|Exception|Warning)\b:?|[$#>] ?\w|[\w./~-]+\s*[=:]\s*\S+$|[-+]{2,}|\{|at \w|\^|\|)|^\s{4,}|\t|\x1b|0x[0-9a-f]{4}|\w\.(?:py|cc|cpp|cu|h):\d|\.py\", line|"
    r"\b\w+\(.*\)\s*$|^\s*(?:import|from|def|class|return|raise|export|docker|pip|vllm|python3?|curl)\s|[{};]\s*$|^\s*(?:\d+(?:\.\d+)?s\s|The above exception|During handling|Value error,|FAILED\b|Failed to\b|[A-Z]{4,}\b|\w+ (?:test )?failed\.?$|\[rank|.*\bexit code\b|[×✗✖•]|Either the )|"
    r"^\s*(?:[\w.-]+\s+\|\s|[a-z][\w.-]*: \(\d+\) |(?!it )[a-z\d][\w.-]* exited with code \d+(?: \(restarting\))?\s*$)"
)
"""Lines of logs, code, commands and tables."""
_PREFIXES = ("INFO ", "INFO:", "WARNING ", "ERROR ", "DEBUG ", "    ", '  File "')
"""How most of them begin: asked for first, it takes a twentieth of the time."""
_SAID = (
    "the this that is are was with without when after since what how why which it my our i we not no does did can can't any and for to in on at of as than would here below be "
    "der die das ist nicht ein eine kein seit und mit bleibt ich mehr alles hier le la les est ne pas avec ce un une des el las los con uno una esta está se ya de o não com um uma tudo"
)
_WORDS = frozenset(_SAID.split())
"""Words that sentences of some languages have, and logs seldom."""
_WORD = LazyPattern(r"[^\W\d_][\w'’-]*")
_OTHER_SCRIPT = LazyPattern(r"[\u0400-\u04ff\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_SENTENCE = LazyPattern(r"(?<=[.!?。！？])\s+(?=\S)|(?<=[。！？])|\n")

_FINE = LazyPattern(
    r"(?i)\b(?:solved|resolved|fixed|(?<!not )(?<!n't )(?<!n’t )works? (?:fine|now|again|as|well|with|for|without)|working (?:fine|now|again)|no longer\b|(?:^|with |shows? |are )no (?:errors?|problems?|issues?|crash\w*)(?: so far| at all|[.!]?$)|(?:is|are|was) gone|"
    r"(?:does|did|do)(?: not|n't) (?:crash|hang|fail|happen|occur)\w* any ?more\b|as expected[,.]? *$|up and running|both fine|is fine\b|without (?:any )?(?:errors?|problems?|issues?)|never happened again|did not fail|"
    r"used to (?:crash|hang|fail)|was able to|(?:nothing|not) (?:unusual|a bug)|test(?:s)? passed|answered again|is (?:faster|higher)|switched off|"
    r"läuft(?: wieder| jetzt| alles)|alles läuft|behoben|gelöst|funktioniert (?:jetzt|wieder)|fonctionne (?:maintenant|à nouveau)|tout fonctionne|résolu|ya funciona|solucionado|resolvido|está (?:tudo )?funcionando)"
    r"|已解决|解决了|启动成功|正常了|正常に|解決し|[Вв]с[её] работает|заработал"
)
"""What is well, or over."""
_KINDS = (
    ("memory", LazyPattern(
        r"(?i)\b(?:out of (?:gpu |host |cuda |video )?memory|oom(?:s|ed)?\b|oom[- ]?kill\w*|memory leak|leak(?:s|ing) memory|not enough (?:v?ram|memory)|memory (?:usage )?(?:keeps? |is )?(?:grow|explod|increas)\w*|"
        r"need[s]? \d+ ?gb of (?:gpu )?memory|ram goes up|\w*speicher reicht nicht|mémoire insuffisante|memoria insuficiente)|显存(?:不足|溢出|不够)|内存(?:不足|溢出|泄漏)|メモリ(?:不足|が足り)|не хватает памяти"
    )),
    ("hangs", LazyPattern(
        r"(?i)\b(?:hang(?:s|ing)?|hung|(?:gets? |is |are |got |it'?s )?stuck|freez(?:es?|ing)|frozen|dead ?locked?|never (?:returns?|answers?|finish\w*|responds?|processed|completes?|comes? back)|is never processed|stop(?:s|ped)? respond\w*|"
        r"no(?:t| longer) respond\w*|unresponsive|nothing happens|just (?:sits|waits|hangs)|(?:waits?|waiting) forever|does not exit|loading forever|does not exit|times? out although|(?:it )?stops here|no output (?:since|for|after)|stalls?\b|"
        r"bleibt (?:hier )?(?:hängen|stehen)|hängt|reagiert nicht|passiert nichts|se bloque|ne répond (?:plus|pas)|colgado|se queda (?:colgado|parado)|trava\b|não responde)|卡住|卡在|卡死|没(?:有)?反应|止まっ(?:て|た)|固まる|[Зз]ависа|не отвечает"
    )),
    ("slow", LazyPattern(
        r"(?i)\b(?:(?<!for )slow(?:er|ly|ness)?\b|slow ?down|twice as long|\d+(?:\.\d+)?x? times (?:slower|longer)|throughput (?:drop\w*|fell|went down|is low)|"
        r"(?:bad|poor|low|terrible|worse) (?:performance|throughput)|performance (?:is|drop\w*|regress\w*|degrad\w*)|(?:latency|time to first token|ttft) (?:is|went|goes|rose) (?:\w+ ){0,2}(?:high\w*|up)|only (?:get )?(?:about )?\d+(?:\.\d+)? ?(?:tok\w*|t)\b ?(?:/|per|a) ?s|"
        r"requests crawl|takes? (?:\w+ ){0,3}(?:minutes?|hours?|too long|ages)|take twenty minutes|more than a minute|langsam|durchsatz ist|très lent\w*|trop lent\w*|muy lent\w*|lentas?|muito lent\w*|devagar)|[太很非]常?慢|慢了|这么慢|速度(?:非常|很|太)?慢|遅い|[Мм]едленно"
    )),
    ("wrong", LazyPattern(
        r"(?i)\b(?:gibberish|garbage|nonsense|garbled|(?:wrong|incorrect|bad|broken|empty|random|different|inconsistent) (?:outputs?|results?|answers?|responses?|strings?|characters|tokens?|json|text|embeddings?)|(?:outputs?|prints?|generates?|returns?) (?:only |just |an )?(?:exclamation|empty|the same|nothing|nan)|"
        r"repeat(?:s|ing) (?:the same|itself|endlessly|words)|exclamation marks|(?:is|are) (?:wrong|missing in)|accuracy .{0,40}(?:drops?|lower|worse)|never stops|instead of json|plain text instead|ignores (?:the|my|our)|in chinese although|differ(?:s)? from|"
        r"hallucinat\w+|unsinn|ausrufezeichen|falsche (?:antwort|ausgabe)\w*|charabia|no tiene sentido|sem sentido)|乱码|感叹号|结果不(?:对|正确|一致)|输出(?:错误|异常|为空)|おかしい|文字化け|бессмыслен|ерунд"
    )),
    ("fails", LazyPattern(
        r"(?i)\b(?:(?:keeps? |keep )?(?:crash(?:es|ed|ing|ing)?|fail(?:s|ed|ing|ure)?|dies|died|restarting|aborts?|exits (?:immediately|right|with|at once)|exited)\b|(?:(?:does|do|did|will|would|is|are|could|can)(?: ?not|n['’]?t)|won['’]?t) (?:work|start|load|run|connect|come up|launch|serve|get|be (?:loaded|started|found))\w*|"
        r"cannot (?:connect|start|load|run|get|use|serve|launch)|can['’]?t (?:get|start|load|run|connect|use|serve|make)|unable to|(?:get|got|getting|gets|gives?|throws?|shows?|see|seeing|hit|face|facing|met|meet|encounter\w*|ran into|return(?:s|ed)?|with|raises?|says?|prints?|reports?) (?:me |us )?(?:an? |the |this |that |these |some |a )?(?:\w+ ){0,2}(?:errors?|exceptions?|issues?|problems?|bugs?|tracebacks?|failures?|following)\b|"
        r"same (?:error|problem|issue)|following (?:error|exception)|(?:exception|error) is thrown|connection refused|crashloopbackoff|not working|(?:is|are) broken|broken since|gets? killed|never becomes ready|return(?:s)? [45]\d\d|with a 50\d|help!|any (?:help|idea|ideas|advice|suggestions?)\b|"
        r"schlägt fehl|funktioniert (?:\w+ )?(?:\w+ )?nicht|bekomme .{0,40}fehler|(?:ne )?(?:marche|fonctionne) pas|une erreur|plante\b|no funciona|un error|não funciona|um erro|falla\b)|失败|报错|出错|无法|不能(?:启动|运行|用)|怎么解决|错误如下|エラー|できません|動かない|не (?:запускается|работает)|ошибк"
    )),
    ("question", LazyPattern(r"(?i)(?:^|\b)(?:how (?:do|can|to|should)|is it possible|which \w+ should|what does|does (?:vllm|it|this)|can (?:i|we)|should (?:i|we)|any idea|is (?:this|that|it) (?:normal|expected|ok)|kann (?:ich|man))\b[^.\n]*\?|[^\n]{4,}[?？]\s*$|请问|何ですか")),
)  # fmt: skip
"""What is complained of, the most telling first."""
_TRIED = LazyPattern(
    r"(?i)\b(?:(?:i|we)(?:'ve| have)? (?:already |also )?(?:tried|set|added|removed|changed|upgraded|downgraded|reinstalled|copied|updated|installed|disabled|enabled|increased|reduced|lowered|raised)|already (?:tried|set|copied|installed|added|did)|even (?:with|without|after)|still (?:fails?|the same|crash\w*|get\w*|hangs?)|did(?: not|n't) help|no effect|makes no difference)\b"
)
_WORKS = LazyPattern(
    r"(?i)\b(?:works?|runs?|fine|ok|succeeds?|no (?:issue|problem|error)) (?:fine |well |ok )?(?:with|without|in|on|using|after|before|when|if)\b|\b(?:with|without|in|on|before) [^.\n]{1,60} (?:it )?(?:works|worked|runs|is fine|was fine)\b"
)
_LATER = LazyPattern(r"(?i)\b(?:newer|newest|latest|later|upgrad\w+|updat\w+|fixed in|since)\b")
"""That a release with which it works came after the one that fails."""
_VERSION = LazyPattern(
    r"(?i)\bvllm(?:[ =:/-]|version|image|openai|is|v){0,8}\s*v?(?P<vllm>0\.\d{1,2}(?:\.\d{1,2})?(?:\.?(?:post|rc)\d)?)\b"
)


@record(frozen=True, slots=True)
class Writer(Record):
    """What somebody wrote around a log."""

    complaint: str = ""
    """``memory``, ``hangs``, ``slow``, ``wrong``, ``fails`` or ``question``; "" where nobody complains."""
    said: str = ""
    """The sentence that says so."""
    line: int = 0
    """Where it stands in the log."""
    tried: tuple[str, ...] = ()
    """Sentences that tell what was done already."""
    works: tuple[str, ...] = ()
    """Sentences that tell with what it works, or without what."""
    releases: tuple[str, ...] = ()
    """Releases of vLLM's that are named, of those with which it is said to work none."""

    worked: tuple[tuple[str, bool], ...] = ()
    """Releases with which it is said to work, and whether as a later one."""

    @property
    def bounds(self) -> list[tuple[str, str]]:
        """Ranges of releases that this leaves, each with the sign in words: the one that is named, else what it worked with."""
        if len(self.releases) == 1:
            return [(f">={self.releases[0]},<={self.releases[0]}", "what its writer says")]
        return [
            (f"{'<' if later else '>'}{release}", f"that it works with {release}") for release, later in self.worked
        ]

    @property
    def complains(self) -> bool:
        """Whether something is said to be wrong."""
        return self.complaint not in ("", "question")


SILENT = Writer()


def read_writer(text: str, first: int = 1) -> Writer:
    """Return what somebody wrote around a log.

    Args:
        text: The log with what stands around it.
        first: The number of its first line.
    """
    sentences = list(_sentences(text, first))
    if not sentences:
        return SILENT
    open_ = [(line, said) for line, said in sentences if not _over(said) and not said.startswith(("If ", "if "))]
    found = [
        (at, kind, line, said) for line, said in open_ for at, (kind, signs) in enumerate(_KINDS) if signs.search(said)
    ]
    best = min(
        found,
        default=None,
        key=lambda item: (item[1] in ("fails", "question"), item[0] if item[1] == "question" else 0, item[2]),
    )
    if best is not None and (
        best[1] == "question"
        or (sentences[-1] not in open_ and _over(sentences[-1][1]) and best[2] <= sentences[-1][0])
    ):
        fails = [item for item in found if item[1] != "question"]
        best = best if not fails else None
    works = tuple(said for _, said in sentences if _WORKS.search(said))
    return Writer(
        complaint=best[1] if best else "",
        said=best[3] if best else "",
        line=best[2] if best else 0,
        tried=tuple(said for _, said in sentences if _TRIED.search(said)),
        works=works,
        worked=tuple(
            (found["vllm"], _LATER.search(said) is not None) for said in works for found in _VERSION.made.finditer(said)
        ),
        releases=tuple(
            dict.fromkeys(f["vllm"] for _, said in sentences if said not in works for f in _VERSION.made.finditer(said))
        ),
    )


def _over(said: str) -> bool:
    """Return whether a sentence says that all is well, and nothing against it behind that."""
    fine = _FINE.search(said)
    if fine is None:
        return False
    rest = said[fine.end() :]
    turn = re.search(r"(?i)\b(?:but|however|aber|mais|pero|mas|although)\b|但|しかし", rest)
    return turn is None or not any(signs.search(rest) for _, signs in _KINDS[:-1])


def _sentences(text: str, first: int) -> Iterator[tuple[int, str]]:
    """Yield the sentences around a log, each with its line."""
    count = 0
    for line, prose in _prose(text, first):
        for said in _SENTENCE.made.split(prose):
            if said and said.strip():
                yield line, said.strip()
                count += 1
                if count >= MOST:
                    return


def _prose(text: str, first: int) -> Iterator[tuple[int, str]]:
    """Yield the lines that are no log's: of a short text all, of a longer one those above and below it."""
    lines = text.split("\n")
    fenced, plain = False, []
    for number, line in enumerate(lines, first):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and _is_prose(line):
            plain.append(number)
    if not plain:
        return
    low = next((number for number, line in enumerate(lines, first) if _is_logged(line)), 0)
    high = next((first + at for at in range(len(lines) - 1, -1, -1) if _is_logged(lines[at])), 0)
    logged = low > 0
    free = len(lines) <= LINES or _TEMPLATE.search(text) is not None
    for number in plain:
        line = lines[number - first]
        around = lines[max(0, number - first - 1) : number - first + 2]
        # Between lines of a log a paragraph of its own is somebody's: what a program printed stands among its lines.
        alone = free and (number == first or not around[0].strip()) and not around[-1].strip()
        apart = not logged or number < low or number > high or alone or (free and line.lstrip().startswith("#"))
        if apart and (not logged or _says(_WORD.findall(line)) or _OTHER_SCRIPT.search(line)):
            yield number, line.strip().lstrip("#*->| ").removeprefix("🐛").strip()


def _is_logged(line: str) -> bool:
    """Return whether a line is of a log, of code, a command or a table."""
    return bool(line.strip()) and (
        line.startswith(_PREFIXES) or "pid=" in line[:40] or _LOGGED.search(line) is not None
    )


def _is_prose(line: str) -> bool:
    """Return whether a line is of a sentence that somebody wrote."""
    said = line.strip()
    if not said or len(said) > 2000 or line.startswith(_PREFIXES) or "pid=" in line[:40]:
        return False
    foreign, words = () if said.isascii() else _OTHER_SCRIPT.findall(said), _WORD.findall(said)
    if not foreign and (len(words) < 2 or sum(map(len, words)) < 0.6 * len(said.replace(" ", ""))):
        return False
    says = bool(foreign) or _says(words)
    if (not says and '"' in said) or _LOGGED.search(line.lstrip("#*- ") if line.lstrip()[:1] in "#*-" else line):
        return False
    return len(foreign) * 4 >= len(said) if foreign else says or any(signs.search(said) for _, signs in _KINDS)


def is_sentence(text: str) -> bool:
    """Tell whether a text is a sentence from its first word to its last."""
    words = _WORD.findall(text)
    return len(words) >= 5 and text[:1].isupper() and text.rstrip()[-1:] in (".", "!", "?") and _says(words)


def _says(words: list[str]) -> bool:
    """Return whether words are of a sentence."""
    return not _WORDS.isdisjoint([word.lower() for word in words])
