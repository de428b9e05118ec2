"""``vllm-triage completion SHELL``: a completion script made from the argument parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any


def run(words: Sequence[str]) -> int:
    """Print the script for bash, zsh or fish."""
    parser = argparse.ArgumentParser(
        prog="vllm-triage completion",
        description='Print a completion script. bash: eval "$(vllm-triage completion bash)"; zsh: the same; fish: vllm-triage completion fish | source',
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    try:
        options = parser.parse_args(list(words))
    except SystemExit as stop:
        return int(stop.code or 0)
    from ...corpus.store import load
    from ..cli import COMMANDS
    from ..cli import parser as main_parser

    print(_SCRIPTS[options.shell](main_parser(), list(COMMANDS), load().buckets()))
    return 0


def _flags(parser: Any) -> list[tuple[list[str], str, list[str]]]:
    return [
        (list(action.option_strings), action.help or "", [str(choice) for choice in action.choices or ()])
        for action in parser._actions
        if action.option_strings
    ]


def _bash(parser: Any, commands: list[str], buckets: list[str]) -> str:
    flags = _flags(parser)
    cases = "\n".join(
        f'        {"|".join(names)}) COMPREPLY=($(compgen -W "{" ".join(choices)}" -- "$current")); return ;;'
        for names, _, choices in flags
        if choices
    )
    every = " ".join(name for names, _, _ in flags for name in names)
    return f"""_vllm_triage() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
    case "$previous" in
{cases}
        explain|--only|--ignore|rules) COMPREPLY=($(compgen -W "{" ".join(buckets)}" -- "$current")); return ;;
        completion) COMPREPLY=($(compgen -W "bash zsh fish" -- "$current")); return ;;
        --rules) COMPREPLY=($(compgen -d -- "$current")); return ;;
    esac
    if [[ "$current" == -* ]]; then
        COMPREPLY=($(compgen -W "{every}" -- "$current"))
    else
        COMPREPLY=($(compgen -f -- "$current"))
        [[ $COMP_CWORD -eq 1 ]] && COMPREPLY+=($(compgen -W "{" ".join(commands)}" -- "$current"))
    fi
}}
complete -o filenames -F _vllm_triage vllm-triage"""


def _zsh(parser: Any, commands: list[str], buckets: list[str]) -> str:
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash(parser, commands, buckets)


def _fish(parser: Any, commands: list[str], buckets: list[str]) -> str:
    lines = [f"complete -c vllm-triage -n __fish_use_subcommand -a '{' '.join(commands)}'"]
    lines.append(f"complete -c vllm-triage -f -n '__fish_seen_subcommand_from explain rules' -a '{' '.join(buckets)}'")
    for names, text, choices in _flags(parser):
        spell = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in names)
        said = text.replace("'", "")
        lines.append(
            f"complete -c vllm-triage {spell} -d '{said}'" + (f" -x -a '{' '.join(choices)}'" if choices else "")
        )
    return "\n".join(lines)


_SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
