"""Secrets beside a naming word: names × forms of writing. What a name does not settle, the value's own disorder does.

A name is found by its last word ("password", "X-Api-Key", "clientSecret"). Behind some, everything is a secret; behind others,
which mean several things ("token", "key", "auth"), and where only a blank parts them, what looks like drawn by lot.
"""

from __future__ import annotations

import itertools
import re

from ..patterns.lazy import LazyPattern
from .places import QUOTE

WORDS = ("key", "token", "secret", "pass", "pwd", "pw", "auth", "credential", "sig", "login")
"""One of them stands in every name."""
SECRET = "<secret>"  # noqa: S105 - what is shown in a secret's place
_TAIL = r"(?:[_-]?(?:value|string|text|plain|b64|base64)|[_-]?\d{1,3})?"
_NAME = LazyPattern(
    r"(?:tokens?|keys?|secrets?|pass(?:[_-]?(?:word|wd|phrase|code))?s?|pwd|pw|auth(?:orization)?|credentials?|sig(?:nature)?|login)"
    rf"{_TAIL}(?![a-z0-9_-])"
)
NAMES = (
    r"api[._ -]?(?:key|token|secret)|(?:auth|hf|hub|access|session|security|refresh|bearer|bot|app|private|registry|git(?:hub|lab)?|gh|oauth2?|"
    r"jwt|sas|vault|deploy|service|client|admin|csrf|xsrf|slack|npm|pypi|wandb|ngc|modelscope|identity|id|device|push|webhook|personal|consul|nomad|"
    r"influx(?:db)?|telegram|discord|user|root|cloud|grafana|datadog|sentry|circle|travis|codecov|sonar|pulumi|terraform|tf|do|heroku|databricks|"
    r"cohere|mistral|openai|anthropic|replicate|together|groq|fireworks|langsmith|comet|neptune|clearml|mlflow|dagshub|kaggle|s3|aws|gcp|azure)[._-]?token|"
    r"secret(?:[._ -]?(?:access[._ -]?)?(?:key|id|token))?|pass[._ -]?(?:word|wd|phrase|code)|"
    r"(?:account|shared[._-]?access|signing|encryption|private|master|subscription|storage|deploy|hmac|access|auth|app(?:lication)?|client|license|"
    r"service|consumer|webhook|jwt|session|admin|root|server|tenant|functions?|host|primary|secondary|hub|openai|hf|s3|aws|minio|rest)[._ -]?key|"
    r"(?:user|db|database|default|smtp|admin|root|redis|mysql|pg|postgres|rabbitmq|ldap|mail|ftp|http|proxy|login|key|store|keystore|truststore)[._-]?pass|pgpassword"
)
"""Ends of names behind which everything is a secret; what stands before (VLLM_, x-goog-, aws) does not matter. "token" alone is
what a model reads and writes."""
_SURE = LazyPattern(rf"(?:{NAMES})s?{_TAIL}$")
_VARIABLE = LazyPattern(
    r"(?:[A-Z][A-Z0-9]{0,40}_){0,8}(?:TOKEN|SECRET|PASS|PASSWORD|PASSWD|PASSPHRASE|PASSCODE|(?:ACCESS|PRIVATE|API|SECRET)_?KEY)"
)
_SETTING = LazyPattern(r"(?:^|\s)(?:ENV|env|setenv|setx|export|set|-gx|-x)[ \t]+$")
_COLOUR = LazyPattern(r"\d{1,3}(?:;\d{1,3}){0,4}m")
_FACT = LazyPattern(rf"(?:{NAMES})s?$|api_?key|password|secret|^token$")

_ASSIGNED = LazyPattern(
    rf"(?:{QUOTE})?(?:[ \t]provided)?[ \t]*(?:=>|:=|={{1,2}}|:(?!//)|%(?:25){{0,3}}3[ADad]|>|&gt;|{QUOTE}?[ \t]+value[ \t]*=|"
    rf"[,;]?[ \t\n]*(?:{QUOTE})?(?i:value)(?:{QUOTE})?[ \t]*[=:])[ \t]*(?:[bru](?={QUOTE}))?"
)
"""What stands between a name and its value: signs, the value of a table with both, a tag of XML. A quotation mark may close the name."""
_PAIRED = LazyPattern(rf"{QUOTE}[ \t]*,[ \t\n]*b?(?={QUOTE})")
"""The same in a list, as headers and arguments are dumped."""
_APART = LazyPattern(rf"(?:{QUOTE})?,?(?:[ \t]+(?![=:]<)|[ \t]*\n[ \t]*(?:-[ \t]+|(?={QUOTE})))(?![ \t])")
"""Behind an option a blank does, or the next item of a list in YAML."""
_NEAR = LazyPattern(
    rf"(?:{QUOTE})?[ \t]*(?:[:=,>-]{{1,3}}[ \t]*)?(?:\b(?i:is|was|are|of|set|to|equals|value|now|being|used|given|provided|received|got|with|from|as|for|key|token)\b[ \t:=]*)"
    r"{0,4}"
)
"""Words and signs that may stand between a name and a value in a sentence."""
_NO_VALUE = LazyPattern(
    rf"(?:None|null|nil|undefined|[Tt]rue|[Ff]alse|str|expected)\b|(?:Optional|list|List)\[|SecretStr\b|<|\\?['\"]|\*|(?<!=)-"
    rf"|\$\{{?[A-Z_][A-Z0-9_]*\}}?(?:[\s'\",;)]|$)|\{{\w{{1,60}}\}}|(?i:{NAMES})s?(?![\w-])|\$\(|\{{\{{"
    rf"|(?:self|args|cls|kwargs|config|settings|envs?|os|params)\.[\w.]{{1,80}}(?:[\s,)]|$)|[~.]?/[\w./-]{{1,200}}\.[a-z]{{2,5}}(?![\w/+=])"
)
"""What stands in a value's place and is none: nothing, a variable, a placeholder, an attribute, a file."""
_BARE = LazyPattern(
    r"(?:(?!%(?:25){0,3}(?:2[267CcDd]|[57][Dd]))(?![,;&\[\](){}](?:[\w.-]{0,40}(?:[=:]|%3[DdAa])|[\s'\"\\,;&\[\](){}<>=:]|\Z))"
    r"[^\s\x1b'\"`\\<>]){4,}"
)
"""A value without quotes: up to what must end it, or to a sign behind which the next name stands."""
_VALUE_FIRST = LazyPattern(
    rf"(?i)(?P<keep>\bvalue(?:{QUOTE})?[ \t]*[=:][ \t]*(?P<open>{QUOTE})?)(?P<value>[^\s'\"\\,;<>]{{4,400}})(?P<rest>(?:{QUOTE})?[,; \t\n]*(?:-[ \t])?"
    rf"(?:{QUOTE})?(?:name|key)(?:{QUOTE})?[ \t]*[=:][ \t]*(?:{QUOTE})?)(?P<name>[\w.-]{{2,80}})"
)
_EXPORTED = LazyPattern(r"(?!value)[^\s'\"\\]{3,}[^\s'\"\\,;)\]}]")
"""The value of an exported variable, which ends where its word does."""
_OPEN = LazyPattern(QUOTE)
WORD = 400
"""Characters of a word that is looked at more closely."""
_WORD = LazyPattern(rf"[A-Za-z0-9+/_=~.%-]{{8,{WORD}}}")
_CELL = LazyPattern(r"[ \t]*\|[ \t]*(?P<value>[^\s|<]{4,400})[ \t]*(?:\||$)")
"""A cell of a table with one word in it."""
_RANDOM = LazyPattern(r"(?<![\w-])(?!_Z)(?=[A-Za-z_-]{0,40}\d)[A-Za-z0-9_-]{24,}")
_HUMP = LazyPattern(r"[A-Z](?![b-df-hj-np-tv-z]{4})(?=[a-z]{0,8}[aeiou])[a-z]{2,}")
"""A word within the name of a class."""
LONG = 24
"""Characters from which on a word that looks drawn by lot is no name of anything, whatever stands beside it."""
WIDE = 2000
"""Characters in which a value ends, where its name alone does not make it a secret: what is longer is none of those that are guessed."""
BACK = 60
"""Characters of a name that are looked at before its last word."""


def mask_named(text: str) -> str:
    """Return ``text`` with what follows a naming word as its value replaced."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = "".join(sign if len(sign.lower()) != 1 else sign.lower() for sign in text)
    if "value" in lowered:
        text, before = _VALUE_FIRST.sub(_turned, text), text
        lowered = lowered if text == before else text.lower()
    parts, done = [], 0
    for found in _NAME.finditer(lowered):
        if found.start() < done:
            continue
        span = _value_of(text, lowered, found.start(), found.end())
        if span is not None:
            parts += [text[done : span[0]], SECRET]
            done = span[1]
    return "".join([*parts, text[done:]]) if parts else text


def mask_random(text: str) -> str:
    """Return ``text`` without long words that nobody but a generator of secrets writes."""
    return _RANDOM.sub(lambda found: SECRET if is_drawn(_longest(found[0]), 16, both=True) else found[0], text)


def _longest(word: str) -> str:
    """Return the longest part of a word: names of models and modules have short ones."""
    return max(word.replace("_", "-").split("-"), key=len)


def is_secret_name(name: str) -> bool:
    """Return whether a fact of this name (in small letters) is a secret whatever it holds."""
    return bool(_FACT.search(name))


def is_secret_value(name: str, value: str) -> bool:
    """Return whether what belongs to a name, and stands apart from it, is a secret."""
    sure = _SURE.search(name.lower()) or _VARIABLE.fullmatch(name.lstrip("-")) or name == "--token"
    return not _NO_VALUE.match(value) and bool(sure or _is_guessed(name, value))


def is_drawn(word: str, least: int = 8, both: bool = False) -> bool:
    """Return whether a word looks as if it were drawn by lot: letters and digits that change places more often than words do.

    Args:
        word: Without quotes.
        least: Letters and digits that it has at least.
        both: Whether it must have letters of both cases, many of each, and digits: hashes and ids have not.
    """
    signs = [sign for sign in word if sign.isascii() and sign.isalnum()]
    kinds = [1 if sign.isdigit() else 2 if sign.isupper() else 3 for sign in signs]
    size, digits, upper, lower = len(kinds), kinds.count(1), kinds.count(2), kinds.count(3)
    changes = sum(one != other for one, other in itertools.pairwise(kinds))
    few, humps = min(upper, lower), sum(map(len, _HUMP.findall(word)))
    if size < least:
        return False
    if both:
        return (
            digits >= 2 and few >= 4 and few >= 0.2 * (upper + lower) and changes >= 0.4 * size and humps < 0.5 * size
        )
    if few >= 2:
        if size >= 16:
            return changes >= 0.14 * size and humps < 0.8 * size
        return changes >= (0.35 if digits else 0.42) * size and (digits > 0 or size >= 12)
    return (
        digits >= 2
        and upper + lower >= 2
        and changes >= (4 if size >= 32 else 0.2 * size if size >= 16 else 0.4 * size)
    )


def _value_of(text: str, lowered: str, start: int, end: int) -> tuple[int, int] | None:
    """Return where the value stands that a naming word has; None where it has none, or one that is no secret."""
    begin = start
    while begin > max(0, start - BACK) and (text[begin - 1].isalnum() or text[begin - 1] in "_-."):
        begin -= 1
    if text[begin - 1 : begin] == "[" and (colour := _COLOUR.match(text, begin, start)):
        begin = colour.end()
    name = text[begin:end]
    sure = bool(_SURE.search(lowered[max(0, begin - 24) : end])) or bool(_VARIABLE.fullmatch(name.lstrip("-")))
    if gap := _ASSIGNED.match(text, end):
        if gap[0].rstrip().endswith((">", "&gt;")) and "=>" not in gap[0]:
            return _tagged(text, gap.end(), sure, name)
        sure = sure or (name.isupper() and "value" in gap[0].lower())
        return _settled(text, gap.end(), sure, name, "=" if gap[0] == "=" else "")
    if gap := _PAIRED.match(text, end):
        return _settled(text, gap.end(), sure or name == "--token", name)
    apart = name.startswith("-") or _SETTING.search(text[max(0, begin - 12) : begin])
    if apart and (gap := _APART.match(text, end)):
        return _settled(text, gap.end(), sure or name == "--token", name)
    if cell := _CELL.match(text, end):
        told = not _NO_VALUE.match(cell["value"]) and (sure or _is_guessed(name, cell["value"]))
        return cell.span("value") if told else None
    return _near(text, end, sure, name)


def _tagged(text: str, place: int, sure: bool, name: str) -> tuple[int, int] | None:
    """Return where the value of an element of XML stands."""
    end = min(
        (found for sign in ("</", "&lt;/") if (found := text.find(sign, place, place + WIDE)) > place), default=-1
    )
    value = text[place:end]
    return (place, end) if end > 0 and "<" not in value and (sure or _is_guessed(name, value)) else None


def _settled(text: str, place: int, sure: bool, name: str, sign: str = "") -> tuple[int, int] | None:
    """Return where a value stands that signs tie to its name."""
    span = _listed(text, place) or _quoted(text, place)
    if span is None:
        # A minus may begin a value that an equals sign ties; two begin the next option.
        minus = sign and text.startswith("-", place) and not text.startswith("--", place)
        if _OPEN.match(text, place) or text.startswith("[]", place) or (_NO_VALUE.match(text, place) and not minus):
            return None
        value = _BARE.match(text, place) if sure else _BARE.match(text, place, place + WIDE)
        if sign and sure and name.isupper():
            value = _EXPORTED.match(text, place) or value
        span = value.span() if value else None
    return span if span and (sure or _is_guessed(name, text[slice(*span)].strip("\\'\" "))) else None


def _listed(text: str, place: int) -> tuple[int, int] | None:
    """Return where the values of a list stand, without the quotation marks around all of them."""
    end = text.find("]", place, place + WIDE) if text.startswith("[", place) else -1
    inner = text[place + 1 : max(end, 0)]
    if "<secret>" in inner or "\n" in inner or not inner.strip("'\" "):
        return None
    return place + 1 + (2 if inner[:2] in ("b'", 'b"') else inner[0] in "'\""), end - (inner[-1] in "'\"")


def _quoted(text: str, place: int) -> tuple[int, int] | None:
    """Return where a value in quotation marks stands: up to the next ones, or to the end of a line that was cut before them."""
    opened = _OPEN.match(text, place)
    if opened is None:
        return None
    begin = opened.end()
    line = text.find("\n", begin)
    line = line if line >= 0 else len(text)
    close = text.find(opened[0], begin, line)
    stop = close if close >= 0 else line
    return None if text[begin:stop].strip("*") in ("", "None") or text.startswith("<", begin) else (begin, stop)


def _near(text: str, place: int, sure: bool, name: str) -> tuple[int, int] | None:
    """Return where a value stands that only comes after the name in a sentence, and looks drawn by lot."""
    gap = _NEAR.match(text, place)
    if gap is None or gap.end() == place:
        return None
    place = gap.end()
    if opened := _OPEN.match(text, place):
        place = opened.end()
    word = _WORD.match(text, place)
    if word is None or "=" in word[0].rstrip("=") or len(word[0]) < 14:
        return None
    drawn = is_drawn(word[0], 14) and (sure or ("_" not in word[0] and _is_guessed(name, word[0])))
    return word.span() if drawn else None


def _is_guessed(name: str, value: str) -> bool:
    """Return whether the value of a name that means several things is a secret."""
    last = name.lower()
    if last.endswith(("pass", "pw", "pwd")):
        return len(value) >= 4 and value[0] not in "~/.$<" and not value.isdigit()
    if len(value) > WORD or not _WORD.fullmatch(value.strip()) or ("/" in value and "." in value):
        return False
    if last.endswith(("key", "keys")) and not name.isupper():
        # Of tables and caches more often than of doors.
        return is_drawn(value, 16, both=True)
    long = len(value) >= 20 and any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return long or is_drawn(value)


def _turned(found: re.Match[str]) -> str:
    name = found["name"]
    told = _NAME.search(name.lower()) and is_secret_value(name, found["value"])
    return found["keep"] + SECRET + found["rest"] + name if told else found[0]
