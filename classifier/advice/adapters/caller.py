"""Who makes the engine: vLLM's own server, a script with an ``LLM``, a trainer, or a framework that serves.

Only the first has a command line of vLLM. For the others a setting is an argument of the engine, which the script or the
framework's configuration hands on, and there is no address of a server that could be asked.
"""

from __future__ import annotations

from ....corpus.actions import OWN, Action, DropOption, Serve, SetOption, Step, UseImage, written
from ....corpus.records import replace
from ...facts.versions import in_range
from ...fix import Fix, with_action
from ...situation.programs import FRAMEWORK, RAY_SERVE, SCRIPT, SERVER, TEST, programs_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..context import Context


_ANY = frozenset({OWN, "MODEL"})
"""What stands for the user's model where a fix does not name it."""


def caller_of(context: Context) -> str:
    """Return ``script``, the name of a trainer or framework, or "" for vLLM's own server and where nothing tells.

    Args:
        context: Of a failed start; one of a healthy server has no words and gives "".
    """
    if not context.asked and context.framework:
        return context.framework
    words = context.words
    if any(program.name == RAY_SERVE for program in programs_in(words, (FRAMEWORK,))):
        return RAY_SERVE
    scripted = any(programs_in(words, (SCRIPT, TEST))) and not any(programs_in(words, (SERVER,)))
    return SCRIPT if scripted else ""


def adapt(fix: Fix, context: Context) -> tuple[Fix | None, str]:
    """Return a fix in the form in which who makes the engine can carry it out, or None with the reason.

    Args:
        fix: As it holds for a server.
        context: Of the failed start.
    """
    who = context.caller
    if not who:
        return as_released(fix, context), ""
    place = "a script" if who == SCRIPT else who
    if fix.installs() is not None and any(isinstance(each, UseImage) for each in fix.actions):
        # The image is the server's; the package is the engine's as well.
        fix = replace(fix, actions=tuple(each for each in fix.actions if not isinstance(each, UseImage)))
    of_server = "server" in fix.tags or any(each.name in ("--host", "--port") for each in fix.options[:1])
    if of_server or (who == SCRIPT and "endpoint" in fix.tags):
        return None, f"the engine is {place}'s: there is no server of vLLM that could be asked, or listens"
    copies = fix.options[0] if fix.options else None
    if who == SCRIPT and copies is not None and copies.name == "--data-parallel-size" and copies.value not in ("", "1"):
        # LLM makes one process: it refuses more (vllm/entrypoints/llm.py from 0.11.1 on), or waits for ranks that nobody starts.
        step = "one process for each copy: CUDA_VISIBLE_DEVICES=0 python SCRIPT.py, CUDA_VISIBLE_DEVICES=1 python SCRIPT.py …, each with its part of the prompts"
        return replace(
            fix, kind="step", actions=(Step(step),), remark="", option="", value="", whole=False, versions=""
        ), ""
    if fix.kind == "flag" and (text := _argument(fix.actions, who)):
        head, sign, remark = text.partition("   #")
        return replace(fix, actions=(Step(head),), remark=f"{sign}{remark}", whole=False), ""
    served = next((each for each in fix.actions if isinstance(each, Serve)), None)
    if served is None or served.command:
        return fix, ""
    options = [each for each in fix.actions if isinstance(each, (SetOption, DropOption))]
    started = replace(served, command=_start(options, who))
    fix = with_action(fix, served, started)
    return replace(fix, actions=tuple(each for each in fix.actions if each not in options)), ""


def as_released(fix: Fix, context: Context) -> Fix:
    """Return a fix with the server's start as a release has it: the command ``vllm`` came with 0.5.2; with all that the log tells."""
    served = next((each for each in fix.actions if isinstance(each, Serve)), None)
    if served is None:
        return fix
    if in_range(context.release, "<0.5.2") is True:
        command = f"python -m vllm.entrypoints.openai.api_server --model {served.model}"
        return with_action(fix, served, replace(served, command=command))
    return _as_started(fix, served, context.facts)


def _as_started(fix: Fix, served: Serve, facts: Mapping[str, object]) -> Fix:
    """Return a fix that starts the server once more with the whole start that the log tells of; where it tells none, with ``…``.

    Args:
        fix: Of a server that vLLM's own command starts.
        served: Its start.
        facts: Of the log: ``command``, ``arguments``, ``model``.
    """
    model = served.model.removesuffix(f" {OWN}")
    if fix.kind not in ("command", "env") or len(fix.actions) - len(fix.options) - len(fix.variables) > 1:
        return fix
    if model not in _ANY | {str(facts.get("model") or OWN)} or not (fix.variables or served.output) or fix.remark:
        return fix
    from ...command.shell import started

    line = started(facts)
    if not line:
        own = model if model == OWN else f"{model} {OWN}"
        actions = tuple(replace(each, model=own) if each is served else each for each in fix.actions)
        return replace(fix, actions=actions, whole=False)
    new = replace(served, model=str(facts.get("model") or model), command=line)
    kept = (each for each in fix.actions if not (isinstance(each, SetOption) and f" {written([each])}" in line))
    actions = tuple(new if each is served else each for each in kept)
    return replace(fix, actions=actions, whole=OWN not in line and "<" not in line)


def _argument(actions: Sequence[Action], who: str) -> str:
    """Return engine arguments for options of the command line; "" where these are none, or the server's."""
    from ...command.parts import flag

    if not all(isinstance(each, (SetOption, DropOption)) for each in actions):
        return ""
    out = [each.name for each in actions if isinstance(each, DropOption)]
    given = [each for each in actions if isinstance(each, SetOption)]
    if out and not given:
        if any("." in name for name in out) or not all(flag(name).engine for name in out):
            return ""
        what = " and ".join(name[2:].replace("-", "_") for name in out)
        return f"leave {what} out of {'LLM(…)' if who == SCRIPT else f'the engine arguments that {who} sets'}"
    made = "" if out else _called(given)
    if not made:
        return ""
    return f"LLM(…, {made})" if who == SCRIPT else f"{made}   # an engine argument: set it where {who} makes the engine"


def _called(given: Sequence[SetOption]) -> str:
    from ...command.change import part_of
    from ...command.parts import flag
    from ...command.python import arguments_of

    if not any(each.open for each in given):
        arguments, others = arguments_of(map(part_of, given))
        return "" if others else ", ".join(f"{name}={value}" for name, value in arguments.items())
    # With a value that the person has to put in.
    if not all(len(each.values) == 1 and flag(each.name).engine and "." not in each.name for each in given):
        return ""
    return ", ".join(f"{each.name[2:].replace('-', '_')}={each.value}" for each in given)


def _start(options: Sequence[Action], who: str) -> str:
    """Return what starts the program, in the place of ``vllm serve …`` with options."""
    made = _argument(options, who).partition("   #")[0] if options else ""
    start = "python SCRIPT.py" if who == SCRIPT else f"<the command that starts {who}>"
    return f"{start}   # with {made}" if made else start
