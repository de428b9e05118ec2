"""Who makes the engine: vLLM's own server, a script with an ``LLM``, a trainer, or a framework that serves.

Only the first has a command line of vLLM. For the others a setting is an argument of the engine, which the script or the
framework's configuration hands on, and there is no address of a server that could be asked.
"""

from __future__ import annotations

import re

from ...corpus.records import replace
from ..diagnosis import Advice
from ..facts.versions import in_range
from ..patterns.lazy import LazyPattern
from .pins import framework_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .situation import Situation

SCRIPT = "script"
"""What :func:`caller` says of a program of the user's own that makes an ``LLM``."""
_SERVER = LazyPattern(
    r"\bAPIServer|\bvllm[/.]entrypoints[/.](?:openai|cli|launcher|launchers|grpc|anthropic|serve)\b|\bvllm (?:serve|bench)\b|vllm-openai|"
    r"\bUvicorn running|\"(?:GET|POST) /|\bMQLLMEngine|[/\\]bin[/\\]vllm\b|\bapi_server\b"
)
_SCRIPT = LazyPattern(
    r"\bvllm/entrypoints/(?:(?:offline_)?llm|\w+/offline)\.py:|\bllm\.(?:generate|chat|score|embed|encode|classify|beam_search)\(|\bLLM\((?:\s*\w+ ?=|\s*['\"]|\*\*)|\bin LLM\.\w+\("
)
_TEST = LazyPattern(
    r"(?m)^(?:\[[^\]\n]{1,40}\] )?E {3,}\S[\s\S]{0,4000}?(?:^(?:\[[^\]\n]{1,40}\] )?[\w./-]+\.py:\d+: \w+(?:Error|Exception)\s*$|"
    r"short test summary info|warnings summary =|-- Captured \w+ (?:log )?(?:call|setup))"
)
"""What pytest prints of a test that failed: it makes an engine as a script does."""
_OF_FRAMEWORK = LazyPattern(r"(?:^|[/\s\"'])ray/(?:serve|llm)/|\bServeReplica:|\bReplicaActor\b")
_OUT = LazyPattern(r"^leave out (?P<options>--[a-z][\w-]*(?: (?:and )?--[a-z][\w-]*)*)$")
_COMMAND = LazyPattern(
    r"\bvllm serve (?!-)(?P<model>…|[^\s|;#&]+)(?: …)?(?P<flags>(?: --[a-z][\w-]*(?:[ =][^\s|;#&-][^\s|;#&]*)?)*)"
)
_REMARK = LazyPattern(r"\s{2,}[#(].*$")
_PAIR = LazyPattern(r"(?P<name>--[a-z][\w-]*) (?P<value><[^<>]{1,40}>|(?!-)[\w./-]{1,60})")
_OPEN = LazyPattern(
    r"--[a-z][\w-]* (?:<[^<>]{1,40}>|(?!-)[\w./-]{1,60})(?: --[a-z][\w-]* (?:<[^<>]{1,40}>|(?!-)[\w./-]{1,60}))*"
)
_SERVE = LazyPattern(r"\bvllm serve (?!-)")
_ADDRESS = LazyPattern(
    r"\bcurl\b[^\n]*(?:localhost|127\.0\.0\.1|SERVER)|/health\b|^--(?:host|port)\b|\bvllm/vllm-openai\b"
)
_INSTALL = LazyPattern(r"pip install [^\n]*\s{2,}# or the [^\n]*\bvllm/vllm-openai\b[^\n]*$")
_COPIES = LazyPattern(r"--data-parallel-size (?!1\b)\S")
"""More copies of the model than the one that an ``LLM`` makes."""
_ENDPOINT = LazyPattern(r"\bPOST /|/v1/\w")


def caller(situation: Situation) -> str:
    """Return ``script``, the name of a trainer or framework, or "" for vLLM's own server and where nothing tells.

    Args:
        situation: Of a failed start; one of a healthy server has no words and gives "".
    """
    if situation.maker is None:
        situation.maker = _maker(situation)
    return situation.maker


def _maker(situation: Situation) -> str:
    words = situation.words
    if not words:
        return ""
    if not situation.asked and (name := framework_of(situation)):
        return name
    # Most logs hold neither word: looking for one takes a thousandth of the expression's time.
    if ("ray/" in words or "Replica" in words) and _OF_FRAMEWORK.search(words):
        return "Ray Serve"
    made = _SCRIPT.search(words) or (("\nE  " in f"\n{words}" or "] E  " in words) and _TEST.search(words))
    return SCRIPT if made and not _SERVER.search(words) else ""


def as_called(fix: Advice, who: str) -> tuple[Advice | None, str]:
    """Return a fix in the form in which who makes the engine can carry it out, or None with the reason.

    Args:
        fix: As it holds for a server.
        who: What :func:`caller` found; not "".
    """
    place = "a script" if who == SCRIPT else who
    if _INSTALL.match(fix.change):
        # The image is the server's; the package is the engine's as well.
        fix = replace(fix, change=_REMARK.sub("", fix.change))
    if _ADDRESS.search(fix.change) or (who == SCRIPT and _ENDPOINT.search(fix.change) and "LLM" not in fix.change):
        return None, f"the engine is {place}'s: there is no server of vLLM that could be asked, or listens"
    if who == SCRIPT and _COPIES.match(fix.change):
        # LLM makes one process: it refuses more (vllm/entrypoints/llm.py from 0.11.1 on), or waits for ranks that nobody starts.
        change = "one process for each copy: CUDA_VISIBLE_DEVICES=0 python SCRIPT.py, CUDA_VISIBLE_DEVICES=1 python SCRIPT.py …, each with its part of the prompts"
        return replace(fix, kind="step", change=change, option="", value="", exact=False, versions=""), ""
    if fix.kind == "flag" and (change := _argument(fix.change, who)):
        return replace(fix, change=change, exact=False), ""
    if _COMMAND.search(fix.change):
        named = fix.kind == "step"
        return replace(fix, change=_COMMAND.made.sub(lambda found: _start(found, who, named), fix.change)), ""
    return fix, ""


def as_released(fix: Advice, release: str) -> Advice:
    """Return a fix with the server's start as a release has it: the command ``vllm`` came with 0.5.2."""
    if "vllm serve" not in fix.change or in_range(release, "<0.5.2") is not True:
        return fix
    change = _SERVE.sub("python -m vllm.entrypoints.openai.api_server --model ", fix.change)
    return replace(fix, change=change)


def _argument(change: str, who: str) -> str:
    """Return engine arguments for options of the command line; "" where these are none, or the server's."""
    from ..command.known import flag

    if out := _OUT.match(change):
        options = [option for option in out["options"].split() if option.startswith("--")]
        if not all(flag(option).engine for option in options):
            return ""
        names = [option[2:].replace("-", "_") for option in options]
        what = " and ".join(names)
        return f"leave {what} out of {'LLM(…)' if who == SCRIPT else f'the engine arguments that {who} sets'}"
    made = _called(_REMARK.sub("", change).strip())
    if not made:
        return ""
    return f"LLM(…, {made})" if who == SCRIPT else f"{made}   # an engine argument: set it where {who} makes the engine"


def _called(options: str) -> str:
    from ..command.change import read_change
    from ..command.known import flag
    from ..command.python import arguments_of

    read = read_change(options)
    if read is not None and not read[0] and read[1]:
        given, others = arguments_of(read[1])
        return "" if others else ", ".join(f"{name}={value}" for name, value in given.items())
    # With a value that the person has to put in, it is no change that can be read.
    if not _OPEN.fullmatch(options):
        return ""
    pairs = [(found["name"], found["value"]) for found in _PAIR.finditer(options)]
    if not all(flag(name).engine for name, _ in pairs):
        return ""
    return ", ".join(f"{name[2:].replace('-', '_')}={value}" for name, value in pairs)


def _start(found: re.Match[str], who: str, named: bool) -> str:
    """Return what starts the program, in the place of ``vllm serve …`` with options; steps also name a model."""
    flags, model = found["flags"].strip(), found["model"]
    made = _argument(flags, who).partition("   #")[0] if flags else ""
    if named and model not in ("…", "MODEL"):
        made = f"model {model}{' and ' if made else ''}{made}"
    start = "python SCRIPT.py" if who == SCRIPT else f"<the command that starts {who}>"
    return f"{start}   # with {made}" if made else start
