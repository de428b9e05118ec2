"""Takes an error apart into complaints: argparse's, pydantic's, vLLM's own checks, and what reads variables."""

from __future__ import annotations

import re

from ...corpus.records import replace
from ..patterns.lazy import LazyPattern
from .case import Case, Complaint, of_field, of_value, of_words
from .given import (
    UNNAMED,
    of_attribute,
    of_divisor,
    of_feature,
    of_json,
    of_missing_key,
    of_path,
    of_quoted,
    of_relation,
)

_ARGUMENT = LazyPattern(r"error: argument (?P<names>-[^:\s]+(?:/-[^:\s]+)*): (?P<rest>.*)", re.DOTALL)
_CHOICE = LazyPattern(
    r"invalid choice: (?P<given>'[^']*'|\"[^\"]*\"|[^\s(]+) \((?:choose|chose) from (?P<allowed>.*)\)", re.DOTALL
)
_TYPED = LazyPattern(r"invalid (?P<kind>[\w<>.]+) value: (?P<quote>['\"])(?P<given>.*)(?P=quote)", re.DOTALL)
_CONVERTED = LazyPattern(r"Value (?P<given>.*?) cannot be converted to <(?:class|function) '?(?P<kind>\w+)", re.DOTALL)
_EXPLICIT = LazyPattern(r"ignored explicit argument ['\"](?P<given>.*?)['\"]")
_MISSING = LazyPattern(r"expected (?:one|at least one|\d+) arguments?")

_HEADER = LazyPattern(r"(?<!\d)\d{1,6} validation errors? for (?P<owner>\w+)")
_FIELD = LazyPattern(
    r"^(?:(?P<loc>[A-Za-z_][\w.,\[\]]*)\n)? {1,40}(?P<said>(?! ).*?) \[type=(?P<type>\w+), input_value=(?P<given>.*?), input_type=(?P<kind>\w+)\]",
    re.MULTILINE,
)
_BOUND = LazyPattern(
    r"(?P<sign>greater than or equal to|less than or equal to|greater than|less than|>=|<=|>|<|at least|at most)\s*(?P<limit>-?\d+(?:\.\d+)?)"
)
_DEMAND = LazyPattern(r"(?:must|should)(?: be)?(?: (?!is|was)[^.\s]{1,20}){0,5} ?$")
"""What stands in front of a bound that is demanded, not reported."""
_QUOTED = LazyPattern(r"['\"`](?P<given>[^'\"`\n]{1,200})['\"`]")
_LIST = LazyPattern(
    r"(?:[Vv]alid (?:options|modes|values|choices|backends?|types)|[Mm]ust be one of|should be one of|[Aa]vailable (?:parsers|backends|options)|"
    r"[Ss]upported (?:\w+ )?(?:values|methods|backends|formats|options)|chose from|choose from|[Ee]xpected one of|is not one of|[Aa]llowed values)"
    r"(?: are| is)?:? *(?P<list>[\[({]?[^\])}\n]{1,4000})"
)
_REFUSED = LazyPattern(
    r"(?:[Uu]nknown|[Ii]nvalid|[Uu]nsupported|[Uu]nrecognized) (?P<name>[a-zA-Z][\w \-]{1,40}?)(?:: ?(?P<quote>['\"`]?)| (?P<mark>['\"`]))(?P<given>[\w.@:/+-]{1,80}?)(?:(?P=quote)|(?P=mark))(?=[.,;\s]|$)"
)
_NOT_FOUND = LazyPattern(
    r"(?P<name>[\w ]{3,40}?) ['\"`](?P<given>[\w.@:/+-]{1,80})['\"`] (?:is )?not (?:found|supported|available|valid)"
)
_CALLED = LazyPattern(r"invalid (?P<name>tool call parser|reasoning parser): (?P<given>[\w.-]+) \(")
_INTERVAL = LazyPattern(
    r"in (?:the (?:range|interval) )?(?P<open>[\[(])(?P<low>-?\d+(?:\.\d+)?), ?(?P<high>-?\d+(?:\.\d+)?)(?P<close>[\])])"
)
_GOT = LazyPattern(
    r"(?:[Gg]ot|given|but is|received):? ?['\"]?(?P<given>-?\d+(?:\.\d+)?(?!\w))|=(?P<equal>-?\d+(?:\.\d+)?)\)?(?: is|,)"
)
_INT = LazyPattern(
    r"invalid literal for int\(\) with base 10: ['\"](?P<given>.*?)['\"]|could not convert string to float: ['\"](?P<float>.*?)['\"]"
)
_NEEDS = LazyPattern(r"(?P<name>--[a-z][a-z-]+) requires (?P<other>--[a-z][a-z-]+)")
_TOLD = LazyPattern(r"\b[Ss]et (?P<name>VLLM_[A-Z0-9_]+)=(?P<given>[\w.-]{1,40})")
_BOTH = LazyPattern(
    r"--[a-z][a-z-]+ and (?P<name>--[a-z][a-z-]+) (?:cannot|can not|can't|must not) be (?:enabled|used|set|given|specified)"
)
_LEVEL = LazyPattern(r"Unknown level: '(?P<given>[^']{1,80})'")
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_BAD_VARIABLE = LazyPattern(r"(?P<name>VLLM_[A-Z0-9_]+) '(?P<given>[^']{0,120})' (?:appears to be|must be)")
_PORT = LazyPattern(r"port must be 0-65535")
_ENV_CODE = LazyPattern(r"(?:getenv|environ(?:\.get)?)\s*[(\[]\s*['\"](?P<name>\w+)['\"]|envs\.(?P<attribute>VLLM_\w+)")
_ENV_VALUE = LazyPattern(r"(?P<name>VLLM_[A-Z0-9_]+)(?: must be|=| ['\"])")


_WORTH = LazyPattern(
    r"error: argument|validation error|[Ii]nvalid|[Uu]nknown|[Uu]nsupported|must be|should be|one of|has no attribute|KeyError|specify|not (?:found|supported|available)|"
    r"[Nn]o such|exist|not be found|Not a directory|[Cc]an't|Repo id|local directory|"
    r"by zero|validation errors|to unpack|Failed to parse|can't allocate|not divisible|"
    r"could not convert|[Cc]hose from|Unknown level|appears to be| requires --|[Ss]et VLLM_|not be "
)
"""Without any of these nothing is found; the table of options need not be read."""


def read(case: Case) -> list[Complaint]:
    """Return what an error finds fault with; nothing where it does not say, or in words that are not known."""
    text = case.text
    if not _WORTH.search(text) and not case.captures.get("option"):
        return []
    found = of_json(case) or next(filter(None, (reader(case) for reader in UNNAMED)), []) or _of_fields(case)
    if not found and (argument := _ARGUMENT.search(text)):
        found = _of_argument(argument["names"], argument["rest"], case)
    if not found:
        found = next(filter(None, (reader(case) for reader in _READERS)), [])
    return list(dict.fromkeys(found))


def _of_text(case: Case) -> list[Complaint]:
    return _of_words(case.text, case)


def _of_rule(case: Case) -> list[Complaint]:
    """Return the option that the deciding rule captured, where the message holds the value that it was given."""
    name = of_words(str(case.captures.get("option") or ""), case)
    given = case.arguments.get(name[2:].replace("-", "_")) if name.startswith("--") else None
    said = (
        given is not None
        and not isinstance(given, bool)
        and re.search(rf"(?<![\w.-]){re.escape(str(given))}(?![\w-])", case.text)
    )
    return [Complaint(name, str(given))] if said else []


def _of_argument(names: str, rest: str, case: Case) -> list[Complaint]:
    """Read what argparse says behind ``argument --x/-y:``."""
    name = next((word for word in names.split("/") if word.startswith("--")), names.partition("/")[0])
    if found := _CHOICE.search(rest):
        return [Complaint(name, found["given"].strip("'\""), _words(found["allowed"]))]
    if found := _EXPLICIT.search(rest):
        return [Complaint(name, found["given"], kind="switch")]
    if _MISSING.match(rest):
        return [Complaint(name, kind="value")]
    if rest.startswith("not allowed with argument"):
        return [Complaint(name, kind="none")]
    if found := _TYPED.match(rest) or _CONVERTED.match(rest):
        return [Complaint(name, found["given"], kind=_kind(name, found["kind"], case))]
    return [
        Complaint(name, item.given, item.allowed, item.kind, item.low, item.high, item.open_low, item.open_high)
        for item in _of_words(f"{name} {rest}", case)
    ]


def _kind(name: str, said: str, case: Case) -> str:
    """Return what an option takes: by the release's table, else by the function that read it."""
    from ...corpus import options

    option = options.describe(name, case.release)
    if option is not None and option.kind not in ("", "str"):
        return option.kind
    if "json" in said or "loads" in said or "dict" in said:
        return "json"
    return "float" if "float" in said else "bool" if "bool" in said else "int" if "int" in said else said


def _of_fields(case: Case) -> list[Complaint]:
    """Read pydantic's lines: the field, what it should be, and what it was."""
    header = _HEADER.search(case.text)
    if header is None:
        return []
    owner = header["owner"]
    found: list[Complaint] = []
    for field in _FIELD.finditer(case.text, header.end()):
        path = [
            part
            for part in (field["loc"] or "").split(".")
            if part and "[" not in part and part not in ("callable", "function")
        ]
        name = of_field(owner, path, case)
        if argument := _ARGUMENT.search(case.text[: header.end()]):
            head = next((word for word in argument["names"].split("/") if word.startswith("--")), "")
            name = ".".join([head, *path]) if head else name
        if not name and field["type"] != "value_error":
            continue
        found += _of_field(name, field["said"], field["type"], field["given"], case)
    # A value that follows from another one is refused with it: what was given is what can be changed.
    given = [item for item in found if item.name[2:].partition(".")[0].replace("-", "_") in case.arguments]
    return given or found


def _of_field(name: str, said: str, kind: str, given: str, case: Case) -> list[Complaint]:
    value = given[1:-1] if given[:1] in "'\"" and given[-1:] == given[:1] else given
    if kind == "value_error":
        return _of_words(said.removeprefix("Value error, "), case, name)
    if kind in ("literal_error", "enum"):
        listed = re.findall(r"'([^']*)'", said) or re.findall(r"(?<![\w.])-?\d+(?![\w.])", said)
        return [Complaint(name, value, tuple(listed))]
    if kind in ("dict_type", "model_type", "dataclass_type", "json_invalid", "json_type"):
        return [Complaint(name, _whole(name, value, case), kind="json")]
    plain = "key" if kind in ("unexpected_keyword_argument", "extra_forbidden") else kind.partition("_")[0]
    if plain in ("key", "int", "float", "bool", "list", "tuple", "set", "string"):
        return [Complaint(name, value, kind=plain if plain in ("key", "int", "float", "bool") else "type")]
    low, high, open_low, open_high = _range(said)
    bounded = low is not None or high is not None
    return [Complaint(name, value, (), "", low, high, open_low, open_high)] if bounded else []


def _whole(name: str, value: str, case: Case) -> str:
    """Return a value as it was given where a message shows only its ends."""
    given = case.arguments.get(name[2:].partition(".")[0].replace("-", "_"))
    return given if isinstance(given, str) and "..." in value else value


def _of_words(text: str, case: Case, field: str = "") -> list[Complaint]:
    """Read a sentence of vLLM's own: what was refused, and the list or the range of what is accepted."""
    if instructed := _instructed(text, case):
        return instructed
    refused = _CALLED.search(text) or _REFUSED.search(text) or _NOT_FOUND.search(text)
    given = refused["given"] if refused else ""
    if listed := _LIST.search(text):
        given = given or _quoted(text[: listed.start()]) or _quoted(text[listed.end() :])
        return _named(Complaint("", given, _words(listed["list"])), text[: listed.start()], field, case)
    low, high, open_low, open_high = _range(text)
    if low is None and high is None:
        return _named(Complaint("", given), text, field, case)
    got = _GOT.search(text)
    number = (got["given"] or got["equal"] or "") if got else ""
    return _named(Complaint("", number, (), "", low, high, open_low, open_high), text, field, case)


def _instructed(text: str, case: Case) -> list[Complaint]:
    """Read sentences that say what to do, or that hold a value in a form of their own."""
    if found := _NEEDS.search(text):
        return [Complaint(found["name"], found["other"], kind="needs")]
    if found := _TOLD.search(text):
        return [Complaint(found["name"], found["given"], kind="set")]
    if found := _BAD_VARIABLE.search(text):
        # Kubernetes sets it for a service of that name: what is not in the command cannot be taken out of it.
        linked = "://" in found["given"] and found["name"] not in case.variables
        return [] if linked else [Complaint(found["name"], found["given"], kind="int")]
    if found := _LEVEL.search(text):
        return [Complaint("VLLM_LOGGING_LEVEL", found["given"], _LEVELS)]
    if found := _BOTH.search(text):
        return [Complaint(found["name"], kind="none")]
    return _of_number(text, case)


def _of_number(text: str, case: Case) -> list[Complaint]:
    """Read what Python says of a text that is not a number, and asyncio of a port that is none."""
    if found := _INT.search(text):
        return _of_variable(found["given"] if found["given"] is not None else found["float"], case)
    return [Complaint("--port", str(case.arguments.get("port") or ""), (), "", 1, 65535)] if _PORT.search(text) else []


def _named(complaint: Complaint, text: str, field: str, case: Case) -> list[Complaint]:
    """Return the complaint with the option that it is about; nothing where that, or the value, is not told."""
    name = _name(text, complaint.given, field, case)
    given = complaint.given
    if not given and (complaint.low is not None or complaint.high is not None):
        given = str(case.arguments.get(name[2:].replace("-", "_"), ""))
    return [replace(complaint, name=name, given=given)] if name and given else []


def _name(text: str, given: str, field: str, case: Case) -> str:
    told = field or of_words(text, case)
    by_value = of_value(given, case) if given else ""
    if by_value and told and not told.startswith("VLLM_"):
        known = case.arguments.get(told[2:].partition(".")[0].replace("-", "_"))
        return told if known is not None else by_value
    return told or by_value


def _of_variable(given: str, case: Case) -> list[Complaint]:
    """Return the variable that a line of code in the stack reads, and the option where none does."""
    names = [found["name"] or found["attribute"] for found in _ENV_CODE.finditer(case.code)]
    if named := _ENV_VALUE.search(case.text):
        names.append(named["name"])
    if not names and (of_command := of_value(given, case)) and not of_command.startswith("-"):
        names.append(of_command)
    if names:
        return [Complaint(names[-1], given, kind="float" if "float" in case.text else "int")]
    return []


def _range(text: str) -> tuple[float | None, float | None, bool, bool]:
    """Return the bounds that a sentence sets, and whether each is refused itself."""
    if found := _INTERVAL.search(text):
        return float(found["low"]), float(found["high"]), found["open"] == "(", found["close"] == ")"
    low: float | None = None
    high: float | None = None
    open_low = open_high = False
    if re.search(r"must be (?:a )?positive|should be (?:a )?positive", text):
        low, open_low = 0, True
    elif re.search(r"must be (?:a )?non-negative", text):
        low = 0
    for found in _BOUND.finditer(text):
        if not _DEMAND.search(text[: found.start()]):
            continue
        sign, limit = found["sign"], float(found["limit"])
        if sign in ("greater than or equal to", ">=", "at least", "greater than", ">"):
            low, open_low = limit, sign in ("greater than", ">")
        else:
            high, open_high = limit, sign in ("less than", "<")
    return low, high, open_low, open_high


def _quoted(text: str) -> str:
    found = list(_QUOTED.finditer(text))
    return found[-1]["given"] if found else ""


def _words(text: str) -> tuple[str, ...]:
    """Return the items of a printed list, quoted or bare."""
    quoted = re.findall(r"'([^']{1,80})'", text) or re.findall(r"\"([^\"]{1,80})\"", text)
    bare = [word.strip(" .`'\"") for word in re.split(r"[\s,|{}\[\]()]+|\bor\b|\band\b", text)]
    return tuple(dict.fromkeys(quoted or [word for word in bare if re.fullmatch(r"[\w.+:-]{1,80}", word)]))


_READERS = (of_relation, of_divisor, of_missing_key, _of_text, of_quoted, of_attribute, of_path, _of_rule, of_feature)
"""What reads errors in vLLM's own words: the first that finds something counts."""
