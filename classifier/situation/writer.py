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
    r"^\s*(?:[>|]\s*)?(?:[\[(]?\w*\s?pid=|(?:error|warning|fatal|note): |[\[(]?(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b|\[?\d{1,4}[-/:]\d\d[-/:]\d|[\[(]\w[\w. =-]*[\])]\s|File \"|"
    r"Traceback|[\w.]*(?:Error|Exception|Warning)\b:?|[$#>] ?\w|[\w./~-]+\s*[=:]\s*\S+$|[-+]{2,}|\{|at \w|\^|\|)|^\s{4,}|\t|\x1b|0x[0-9a-f]{4}|\w\.(?:py|cc|cpp|cu|h):\d|\.py\", line|"
    r"\b\w+\(.*\)\s*$|^\s*(?:import|from|def|class|return|raise|export|docker|pip|vllm|python3?|curl)\s|[{};]\s*$|^\s*(?:\d+(?:\.\d+)?s\s|The above exception|During handling|Value error,|FAILED\b|Failed to\b|[A-Z]{4,}\b(?! [a-z]+ )|\w+ (?:test )?failed\.?$|\[rank|.*\bexit code\b|[×✗✖•]|Either the )|"
    r"^\s*(?:[\w.-]+\s+\|\s|[a-z][\w.-]*: \(\d+\) |(?!it )[a-z\d][\w.-]* exited with code \d+(?: \(restarting\))?\s*$)"
)
"""Lines of logs, code, commands and tables."""
_PREFIXES = ("INFO ", "INFO:", "WARNING ", "ERROR ", "DEBUG ", "    ", '  File "')
"""How most of them begin: asked for first, it takes a twentieth of the time."""
_SAID = (
    "the this that is are was with without when after since what how why which it my our i we not no does did can can't any and for to in on at of as than would here below be "
    "der die das ist nicht ein eine kein seit und mit bleibt ich mehr alles hier le la les est ne pas avec ce un une des el las los con uno una esta está se ya de o não com um uma tudo il lo gli non è sono della del si più ma anche questo questa "
    "wird sich auf den dem wir es nur bei noch wenn sobald je du des sur tout rien quand que me al por siempre cada do da os di che"
)
_WORDS = frozenset(_SAID.split())
"""Words that sentences of some languages have, and logs seldom."""
_WORD = LazyPattern(r"[^\W\d_][\w'’-]*")
_OTHER_SCRIPT = LazyPattern(r"[\u0400-\u04ff\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_SENTENCE = LazyPattern(r"(?<=[.!?。！？])\s+(?=\S)|(?<=[。！？])|\n")

_FINE = LazyPattern(
    r"(?i)\b(?:solved|resolved|(?<!is )fixed|(?:issue|problem|error|bug)s? (?:has |have )?(?:disappear|vanish)\w*|(?<!not )(?<!n't )(?<!n’t )works? (?:fine|now|again|as|well|with|for|without)|working (?:fine|now|again)|no longer\b|(?:^|with |shows? |are )no (?:errors?|problems?|issues?|crash\w*)(?: so far| at all|[.!]?$)|(?:is|are|was) gone|"
    r"(?:does|did|do)(?: not|n't) (?:crash|hang|fail|happen|occur)\w* any ?more\b|as expected[,.]? *$|up and running|both fine|is fine\b|without (?:any )?(?:errors?|problems?|issues?)|never happened again|did not fail|"
    r"used to (?:crash|hang|fail)|was able to|(?:nothing|not) (?:unusual|a bug)|test(?:s)? passed|answered again|is (?:faster|higher)|switched off|"
    r"läuft(?: wieder| jetzt| alles)|alles läuft|behoben|gelöst|funktioniert (?:jetzt|wieder)|fonctionne (?:maintenant|à nouveau)|tout fonctionne|résolu|ya funciona|solucionado|resolvido|está (?:tudo )?funcionando)"
    r"|已解决|解决了|启动成功|正常了|正常に|解決し|[Вв]с[её] работает|заработал"
)
"""What is well, or over."""
_KINDS = (
    ("memory", LazyPattern(
        r"(?i)\b(?:out of (?:\w+ )?memory|oom(?:s|ed)?\b|oom[- ]?kill\w*|(?:memory|ram) leaks?|leak(?:s|ing) memory|(?:not enough|insufficient|no (?:more|free)|short (?:of|on)|lacks?|too little) (?:\w+ )?(?:v?ram|memory)|"
        r"(?:memory|v?ram|rss)\b[^.\n]{0,40}?\b(?:grow|fill|full\b|exhaust|explod|increas|climb|ris(?:es|ing)|rose|used up|exceed|goes up|runs? out|ran out)\w*|(?:fills? up|exhausts?|exceeds?|runs? out of|ran out of) (?:\w+ ){0,3}(?:v?ram|memory)|"
        r"(?:do|does|did|will|would|is|are)(?:n['’]?t| not) fit|too (?:big|large) for (?:the|my|our|a|one) (?:\w+ )?(?:gpu|card)|need[s]? \d+ ?gb of (?:gpu )?memory|\w*speicher\w*\b[^.\n]{0,30}(?:reicht|voll|knapp|erschöpft)|(?:zu wenig|kein) \w*speicher|\w*speicher(?:mangel|leck|überlauf)|"
        r"(?:assez|manque|court) de (?:vram|mémoire)|mémoire\b[^.\n]{0,20}(?:insuffisante|saturée|pleine)|(?:sin|falta|faltan?do|poca|insuficiente|manca|senza) (?:\w+ )?mem[oó]ria|mem[oó]ria (?:insuficiente|llena|cheia|agotada|esgotada|esaurita|insufficiente|piena)|memoria\b[^.\n]{0,20}non basta|karte läuft voll|(?:agot|acab|estour)\w+ (?:l?a )?mem[oó]ria)"
        r"|(?:显存|内存).{0,6}(?:不足|不够|溢出|泄漏|泄露|爆|满|耗尽|超)|爆(?:显存|内存)|(?:メモリ|VRAM).{0,6}(?:不足|足り|溢れ|いっぱい|リーク)|(?i:памят\w*.{0,20}(?:не хватает|кончил|заканчив|раст|утека)|(?:не хватает|нехватк|закончил|кончил|мало|утечк)\w* (?:видео|gpu-?)?памят)|메모리.{0,8}(?:부족|초과|누수|모자|늘)"
    )),
    ("hangs", LazyPattern(
        r"(?i)\b(?:hang(?:s|ing)?|hung|stuck|freez(?:es?|ing)|froze(?:n)?|dead ?lock\w*|lock(?:s|ed) up|block(?:s|ed|ing) (?:at|on|in|there|here|forever|for)|unresponsive|nothing (?:else |more )?(?:happens|comes|moves|is (?:printed|logged))|(?:waits?|waiting|waited) (?:forever|endlessly|for (?:\w+ ){0,3}(?:hours?|minutes|ages))|"
        r"(?:never|no longer|(?:does|do|did|has|is|was)(?: not|n['’]?t)|stop(?:s|ped)?|ceases?d?|ceased to|quit) (?:ever )?(?:respond|answer|react|return|finish|complet|process|proceed|continu|progress|mov(?:e|ing)|print|end(?:s|ing)?\b|exit|terminat|come(?:s)? back|get(?:s|ting)? (?:past|beyond|further|through)|go(?:es)? (?:on|past|beyond|further)|do(?:es)? anything)\w*|"
        r"(?:none|nobody|nothing)\b[^.\n]{0,30}\b(?:answered|processed|returned)|no (?:output|progress|response|reaction|answer|activity|reply)\b|(?:just|only) (?:sits|waits)|stays there|waits? endlessly|silence\b|deaf\b|spin(?:s|ning)?\b|nothing (?:has |ever )?changed?|no \w+ gets? through|as far as\b|loading forever|stops here|stalls?\b|stalled|tim(?:es|ed|ing) out|"
        r"bleibt\b[^.\n]{0,50}(?:hängen|stehen)|hängt|eingefroren|friert|steht still|keine[nr]? (?:ausgabe|antwort|reaktion)|keine[nr]? \w+ mehr|tut sich nichts|nichts mehr|(?:reagiert|antwortet)\b[^.\n]{0,20}nicht|passiert nichts|bloqu(?:é|ée|és|e)\b|bloquea\w*|se fige|figée?\b|ne (?:répond|réagit|bouge|avance)\w* (?:plus|pas)|aucune réponse|plus rien|"
        r"(?:se )?(?:congel|colgad|cuelga|atasc|trav(?:a|ou|ad|and))\w*|se queda|no (?:avanza|responde|contesta|pasa nada)|não (?:responde|avança|sai)|parad[oa] (?:n|em|a[ií]|en)|si (?:blocca|pianta|ferma)|ferm[oa] (?:su|a|al|in)|bloccat\w+|non (?:risponde|va avanti|prosegue))"
        r"|卡(?:住|死|在|着|顿|了)|(?:没|沒)有?(?:任何)?(?:反应|响应|输出|动静)|无响应|不动了?|下文|停(?:在|住|止)|等了|止ま(?:っ|る|り)|固ま|フリーズ|ハング|進(?:まな|みませ)|(?:応答|反応|返事)(?:が|し)?(?:な|返)|(?i:завис|висит|перестал\w* отвеча|не (?:отвеча|реагиру|двига)|стоит на месте)|멈(?:춰|췄|추|춤)|(?:응답|반응)이? ?(?:없|하지)|먹통|나오지 ?않"
    )),
    ("slow", LazyPattern(
        r"(?i)\b(?:(?<!for )slow(?:er|ly|ness|s)?\b|slow ?down|sluggish\w*|crawl(?:s|ing)?|lag(?:s|gy|ging)\b|twice as long|\d+(?:\.\d+)?x? times (?:slower|longer)|(?:bad|poor|low|terrible|worse|awful|horrible) (?:performance|throughput|speed|latency|utili[sz]ation)|"
        r"(?:(?:throughput|performance|speed|utili[sz]ation|gpu is)\b[^.\n]{0,40}?\b(?:low|went from|bored|idle|hovers)|(?:throughput|performance|speed|latency|ttft|itl|tpot|p\d\d|time to first token)\b[^.\n]{0,40}?\b(?:bad|poor|low|terrible|worse|awful|drop\w*|fell|falls|half|halved|below|degrad\w*|regress\w*|collaps\w*)|(?:latency|ttft|itl|tpot|p\d\d|time to first token)\b[^.\n]{0,40}?\b(?:high\w*|went|goes|rose|up|increas\w*))\b|"
        r"only (?:get )?(?:about )?\d+(?:\.\d+)? ?(?:tok\w*|t)\b ?(?:/|per|a) ?s|tak(?:es?|ing) (?:\w+ ){0,4}(?:minutes?|hours?|too long|ages|forever|long)|(?:twenty|thirty|more than a) minutes?|eternity|(?:third|quarter|fraction|half|tenth) of (?:what|the|our)|unbearabl\w*|disappointing|drop in|décevant\w*|decepcionant\w*|latency of several|needs? (?:half a|a|several|\d+) (?:minutes?|seconds?)|langsam\w*|träge\w*|enttäuschend\w*|lahm\b|zäh\b|dauert (?:\w+ ){0,3}(?:ewig|lang\w*|minuten|stunden)|durchsatz\b[^.\n]{0,30}(?:niedrig|gering|ein|halb|ist)|"
        r"(?:antwortzeit|latenz)\w*\b[^.\n]{0,20}hoch|lent(?:e|s|es|eur|ement)?\b|une éternité|(?:met|mettent|prend|prennent) (?:\w+ ){0,3}(?:temps|secondes|minutes|heures)|débit\b[^.\n]{0,20}faible|rendimiento\b[^.\n]{0,20}(?:baj|mal|pobre)\w*|lent[oa]s?\b|lent[ií]ss?im\w+|lentitud|lentidão|devagar|tardan?\b|demoran?\b|demorando|rallentat\w+)"
        r"|慢|延迟.{0,6}(?:高|大|严重)|吞吐.{0,10}(?:低|只有|下降|不到)|速度.{0,6}(?:低|下降|不行)|遅(?:い|く|すぎ|過ぎ)|時間がかか|(?i:медленн|тормоз|(?:очень|слишком) долго|долго (?:груз|дума|отвеча)|просел|скорост\w*.{0,20}низк|низк\w+ скорост)|느(?:리|려|림|린)|늦(?:게|어|습)|오래 걸"
    )),
    ("wrong", LazyPattern(
        r"(?i)\b(?:gibberish|garbage|nonsens\w+|garbled|rubbish|scrambled|(?:wrong|incorrect|bad|broken|empty|blank|random|different|inconsistent|truncated|incomplete|weird|strange) (?:\w+ )?(?:outputs?|results?|answers?|responses?|strings?|characters|tokens?|json|text|embeddings?|completions?|replies|scores?)|"
        r"(?:outputs?|prints?|generates?|returns?|get|gets|produces?) (?:only |just |an )?(?:exclamation|empty|the same|nothing|nan)|repeat(?:s|ing|ed)? (?:the same|itself|endlessly|words|\w+ over|forever)|exclamation marks|(?:is|are|comes? back|get|gets) (?:\w+ )?(?:wrong|missing in|cut (?:off|short)|truncated|empty)|"
        r"(?:accuracy|quality|scores?)\b[^.\n]{0,40}(?:drop\w*|lower|worse|fell|down|degrad\w*)|never stops|instead of (?:json|text|an? (?:answer|tool|object)|tool|english)|(?:as|in) plain text|ignor(?:es|ing) (?:the|my|our|all)|in (?:chinese|english|russian) although|differs?\b (?:from|between|every|each)|(?:does|do)(?: not|n['’]?t) (?:match|make (?:any )?sense|agree)|"
        r"(?:ends?|shows?|turns?) up in (?:the )?(?:content|answer|text|output)|hallucinat\w+|makes no sense|mix(?:es|ed)? up|(?:not|in)(?: ?valid) json|minus infinity|(?:is|are) (?:all )?nan\b|(?:is|are) ignored|yields? (?:a )?different|müll\b|in place of|cortad[ao]s?|(?:is|are|gets?) cut (?:after|at|in)|quatsch|blödsinn|siempre la misma|sempre a mesma|não fa(?:z|zem) sentido|unsinn\w*|keinen sinn|kauderwelsch|zeichensalat|wiederholt sich|ausrufezeichen|falsche[nrs]? \w+|leere \w+|n['’]importe quoi|charabia|incohéren\w+|(?:se )?répète|(?:sortie|réponse)s?\b[^.\n]{0,12}(?:vide|fausse|coupée|tronquée)|"
        r"(?:sin|no tiene|ning[uú]n) (?:ning[uú]n )?sentido|sem sentido|senza senso|se repite|repite|repete|ripete|incoherent\w+|vac[ií][oa]s?\b|vazi[oa]s?\b|vuot[oaie]\b|embaralhad\w+|basura|lixo|sbagliat\w+)"
        r"|乱码|感叹号|重复|(?:为|是)空|空的|胡言乱语|答非所问|结果(?:不|错)|不搭|胡说|错乱|不通顺|输出(?:错|异常|为空|有问题|不)|被?截断|おかし|途中で切れ|文字化け|繰り返|でたらめ|意味不明|空(?:の|で|に)|(?i:бессмысл|ерунд|повторя|пуст(?:ой|ые|ая|ую)|неверн|неправильн|бред|чушь|обрыва|абракадабр|восклицательн)|이상(?:하|한)|반복|깨(?:지|져|진)|엉뚱|빈 (?:응답|출력|문자)"
    )),
    ("fails", LazyPattern(
        r"(?i)\b(?:crash\w*|fail(?:s|ed|ing|ures?)?\b|(?<!once )dies\b|died|dying|aborts?\b|aborted|(?:blows?|blew|blowing) up|explodes?|breaks?\b|broken|quits\b|exits?\b (?:immediately|right|with|at once|status|code)|exited|terminat(?:es|ed) (?:unexpected|abrupt|immediat|itself)\w*|vanish\w*|disappear(?:s|ed)|seg(?:mentation )?fault\w*|bugs?\b|assertion|shuts? (?:itself )?down|goes away|(?:not|n['’]t) understand|only (?:get|see) (?:this|that|the|an?)\b|(?:need|some) assistance|gets? killed|(?:is|was|been) killed|"
        r"(?:keeps? |constantly )restarting|(?:goes|go|went|falls?|fell|comes?|torn|tears?) (?:\w+ )?down\b|falls over|throws?\b|bails? out|refus(?:es|ed|ing)|(?<!if )rejects?|rejected|errors? out|(?:an?|the|this|that|these|following|same|with|by|gets?|getting|got|gives?|throws?|raises?|random|strange|internal|see|seeing|shows?|into) (?:\w+ ){0,2}?(?<!no )(?<!any )(?:errors?|exceptions?|tracebacks?|stack ?traces?)\b|(?:errors?|exceptions?|tracebacks?) (?:below|above|when|after|as soon|occurs?|appears?|while|on every)|crashloop\w*|(?:http |a |returns? |gets? |with |code |seeing |intermittent )(?:40[0134]|422|50\d)s?\b|"
        r"(?:can(?:not|['’]?t| not)|could(?: not|n['’]?t)|unable to|(?:not|im)possible to|not able to|refuses? to|fails? to|won['’]?t|will not|never|(?:does|do|did|would|is|are|has)(?: not|n['’]?t)|none of (?:\w+ ){1,3}) (?:even |ever )?(?:be )?(?:work|start|load|run\b|connect|com(?:e|es|ing) up|boot|launch|serve|get|gets|initiali[sz]|use\b|used|make|made|import|find|found|join|become|becomes|recogni[sz]e|detect)\w*|"
        r"not working|something (?:is|went) (?:off|wrong)|went wrong|(?:big |same |this |strange |weird |following )(?:problem|issue|behaviou?r)|(?:have|having|hit|face|facing|got|getting|ran into|run into|running into|encounter\w*) (?:an? |the |this |that |these |some )?(?:\w+ )?(?:problems?|issues?|trouble|bugs?)|(?:please |need |any |some )help|help!|any (?:idea|hint|advice|suggestion|clue)s?\b|no (?:clue|idea|luck)|figure out|"
        r"stürzt|abst[uü]rz\w*|abgestürzt|bricht\b[^.\n]{0,50}\bab\b|abgebrochen|(?:startet|funktioniert|geht|läuft|klappt|lädt|lässt sich|findet|kann)\b[^.\n]{0,40}\bnicht\b|\w*fehler\w*|scheiter\w+|beendet sich|stirbt|bricht zusammen|schlägt\b[^.\n]{0,30}fehl|kaputt|erreurs?\b|plant(?:e|ent|age)\b|échou\w+|échec|impossible|écroule|meurt|tombe (?:au|en|à|dès)|parvien\w+ pas|n(?:e |['’])(?:fonctionne|marche|démarre|charge|arrive|se lance)\w*\b[^.\n]{0,15}(?:pas|plus)|"
        r"s['’]arrête|en boucle|falla\w*|se (?:cae|cierra|rompe|reinicia)|no (?:consigo|puedo|arranca|funciona|carga|inicia|logro|encuentra|me deja)|excepci[oó]n|imposible|erros?\b|falh\w+|(?:o servi\w+|vllm|processo) cai\b|mor(?:re|reu)\b|muere\b|muore\b|se apaga|não (?:est\w+ )?(?:consigo|conseguindo|sobe|funciona|carrega|inicia|roda|encontra)|caiu|quebr\w+|errore\b|non (?:parte|funziona|riesco|si avvia|carica|trova)|va in crash|fallisc\w+|si chiude)"
        r"|崩|报错|出错|错误|失败|无法|不能(?:启动|运行|用|加载)|不了|起不来|挂(?:了|掉)|异常|求助|怎么(?:解决|办|处理|回事)|闪退|自动退出|被杀|报\d|エラー|失敗|クラッシュ|落ち(?:る|ま|て|た)|(?:起動|動作|ロード)し(?:な|ませ)|動(?:かな|きませ)|でき(?:な|ませ)|困っ|例外|終了してし|(?i:ошибк|падает|упал|крашит|вылета|перезапуска|сбо[йи]|исключени|не (?:запуска|загружа|работа|стартует|уда[её]тся|могу|получается|находит))|오류|에러|실패|충돌|지 ?않|안 (?:됩|되|돼|켜)|못 ?(?:하|합|했|찾)|죽(?:어|었|습)|종료(?:됩|되)"
    )),
    ("question", LazyPattern(r"(?i)(?:^|\b)(?:how (?:do|can|to|should)|is it possible|which \w+ should|what does|does (?:vllm|it|this)|can (?:i|we)|should (?:i|we)|any idea|is (?:this|that|it) (?:normal|expected|ok)|kann (?:ich|man))\b[^.\n]*\?|[^\n]{4,}[?？]\s*$|请问|何ですか")),
)  # fmt: skip
"""What is complained of, the most telling first."""
_DENIED = LazyPattern(
    r"(?i)\b(?:never(?! mind)|cannot|not|\w+n['’]t|nothing|none|nobody|no (?!more\b)\w+|unable|refus\w+|weird|strange|although|though|unfortunately|barely|hardly|poor|problem|horribl\w+|awful\w*|worse|keeps|gives? up|is gone|complains|seems off|standstill|stands still|kills|was killed|lo(?:ses?|st)|every (?:\w+ )?minutes?|stops?|too|only|still|again|"
    r"nicht|kein\w*|leider|nur|(?:ne|n['’]\w+) (?:\w+ )?(?:pas|plus|rien)|malheureusement|no|sin|sólo|não|sem|só|non|senza|solo)\b|[不没沒无]|ない|ません|\b(?i:не|нет|нельзя)\b|않|안 |못"
)
"""What is not as it should be: whoever says so around a log and not that all is well complains, whatever of."""
_QUOTING = LazyPattern(r"[/=\"_<>{}\[\]]")
"""What programs print stands in sentences of theirs."""
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
    """``memory``, ``hangs``, ``slow``, ``wrong``, ``fails``, ``other`` or ``question``; "" where nobody complains."""
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
    below = [*text.split("\n"), ""][1:]
    found = found or [
        (len(_KINDS), "other", line, said)
        for line, said in open_
        if _DENIED.search(said) and is_sentence(said) and not _QUOTING.search(said)
        and not below[line - first].strip("` \r")  # a paragraph's end: a program's lines follow one another
    ]  # fmt: skip
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
    turn = re.search(
        r"(?i)\b(?:but|and (?:fails|crashes|dies|hangs)|however|aber|mais|pero|mas|although)\b|但|しかし", rest
    )
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
        said = line.strip().lstrip("#*->| ").removeprefix("🐛").strip()
        if apart and (not logged or _says(_WORD.findall(line)) or _OTHER_SCRIPT.search(line)) and not _is_logged(said):
            yield number, said


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
    return len(foreign) * 4 >= len(said) if foreign else says or any(signs.search(said) for _, signs in _KINDS[:-1])


def is_sentence(text: str) -> bool:
    """Say if a text is a sentence from its first word to its last."""
    words = _WORD.findall(text)
    ends = text.rstrip()[-1:] in (".", "!", "?")
    return (len(words) >= 5 and text[:1].isupper() and ends and _says(words)) or _OTHER_SCRIPT.search(text) is not None


def _says(words: list[str]) -> bool:
    """Return whether words are of a sentence."""
    return not _WORDS.isdisjoint([word.lower() for word in words])
