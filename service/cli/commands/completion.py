"""``vllm-triage completion SHELL``: a completion script made from the argument parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..arguments import COMMANDS
from ..arguments import parser as main_parser
from ..parser import Parser

ABOUT = """Print a completion script.
bash, zsh: eval "$(vllm-triage completion bash)"   fish: vllm-triage completion fish | source"""

Flags = list[tuple[list[str], str, list[str]]]
"""Names, help and choices of each option."""


def run(words: Sequence[str]) -> int:
    """Print the script for bash, zsh or fish."""
    parser = Parser(prog="vllm-triage completion", description=ABOUT)
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    try:
        options = parser.parse_args(list(words))
    except SystemExit as stop:
        return int(stop.code or 0)
    from ....corpus.store import load

    print(_SCRIPTS[options.shell](_flags(main_parser()), load().buckets()))
    return 0


def _flags(parser: argparse.ArgumentParser) -> Flags:
    actions = parser._actions  # noqa: SLF001 - argparse has no other way to list its options
    found = [action for action in actions if action.option_strings]
    return [
        (list(action.option_strings), action.help or "", [str(item) for item in action.choices or ()])
        for action in found
    ]


def _bash(flags: Flags, buckets: list[str]) -> str:
    def offer(words: Sequence[str]) -> str:
        return f'COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$current")); return ;;'

    cases = "\n".join(f"        {'|'.join(names)}) {offer(choices)}" for names, _, choices in flags if choices)
    every = " ".join(name for names, _, _ in flags for name in names)
    return f"""_vllm_triage() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
    case "$previous" in
{cases}
        explain|--only|--ignore|rules) {offer(buckets)}
        completion) {offer(["bash", "zsh", "fish"])}
        --rules|--model) COMPREPLY=($(compgen -f -- "$current")); return ;;
    esac
    if [[ "$current" == -* ]]; then
        COMPREPLY=($(compgen -W "{every}" -- "$current"))
    else
        COMPREPLY=($(compgen -f -- "$current"))
        [[ $COMP_CWORD -eq 1 ]] && COMPREPLY+=($(compgen -W "{" ".join(COMMANDS)}" -- "$current"))
    fi
}}
complete -o filenames -F _vllm_triage vllm-triage"""


def _zsh(flags: Flags, buckets: list[str]) -> str:
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash(flags, buckets)


def _fish(flags: Flags, buckets: list[str]) -> str:
    lines = [
        f"complete -c vllm-triage -n __fish_use_subcommand -a '{' '.join(COMMANDS)}'",
        f"complete -c vllm-triage -f -n '__fish_seen_subcommand_from explain rules' -a '{' '.join(buckets)}'",
    ]
    for names, text, choices in flags:
        spell = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in names)
        said = text.replace("'", "")
        offered = f" -x -a '{' '.join(choices)}'" if choices else ""
        lines.append(f"complete -c vllm-triage {spell} -d '{said}'{offered}")
    return "\n".join(lines)


_SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
