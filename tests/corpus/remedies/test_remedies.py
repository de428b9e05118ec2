"""Remedies of single messages: that each belongs to a message, can be carried out, and names only what its release has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vllm_triage.corpus import load, options, remedies
from vllm_triage.corpus.action_text import read_actions
from vllm_triage.corpus.actions import DropOption, DropVariable, SetOption, SetVariable
from vllm_triage.corpus.messages import catalogue
from vllm_triage.corpus.remedies import Change, Remedy, from_text, to_text
from vllm_triage.corpus.remedies.find import Remedies, values_of
from vllm_triage.corpus.remedies.packed import pack

ALL = remedies.remedies()
ROWS = {(row.package, row.template): row for row in catalogue()}
SLOT = re.compile(r"\{v(\d+)(\|[^{}]*)?\}")
OPTION = re.compile(r"(?<![\w/.=-])--[A-Za-z][\w-]*\w")
VARIABLE = re.compile(r"\bVLLM_[A-Z0-9_]+\b")


def changes(kind: str = "") -> list[tuple[Remedy, Change]]:
    return [(remedy, change) for remedy in ALL for change in remedy.changes if not kind or change.kind == kind]


def filled(text: str) -> str:
    return SLOT.sub(lambda found: (found[2] or "|7")[1:], text)


def last_release(remedy: Remedy) -> str:
    return ROWS[remedy.package, remedy.template].last or options.releases()[-1]


def test_every_remedy_belongs_to_one_message_of_the_catalogue() -> None:
    assert len({(remedy.package, remedy.template) for remedy in ALL}) == len(ALL)
    assert [remedy for remedy in ALL if (remedy.package, remedy.template) not in ROWS] == []


def test_the_files_are_in_their_own_form() -> None:
    for package in remedies.packages():
        text = (Path(remedies.FOLDER) / f"{package}{remedies.ENDING}").read_text(encoding="utf-8")
        assert to_text(remedies.read(package)) == text


def test_slots_are_those_of_the_template() -> None:
    wrong = [
        (remedy.template, change.change)
        for remedy, change in changes()
        for found in SLOT.finditer(f"{change.title} {change.change} {change.why}")
        if int(found[1]) > remedy.template.count("{}")
    ]
    assert wrong == []


def test_flags_and_variables_are_settings() -> None:
    """What is set, or left out, is a list of options and variables."""
    kinds = (SetOption, DropOption, SetVariable, DropVariable)
    wrong = [
        change.change
        for kind in ("flag", "env")
        for _, change in changes(kind)
        if not all(isinstance(each, kinds) for each in read_actions(change.change, kind)[0])
    ]
    assert wrong == []


def test_variables_are_set_or_unset() -> None:
    form = re.compile(r"(?:unset [A-Za-z_]\w*(?: [A-Za-z_]\w*)*|[A-Za-z_]\w*=\S*(?: [A-Za-z_]\w*=\S*)*)")
    assert [change.change for _, change in changes("env") if not form.fullmatch(filled(change.change))] == []


@pytest.mark.parametrize(("kind", "names"), [("flag", OPTION), ("env", VARIABLE)])
def test_the_release_that_prints_the_message_has_what_is_changed(kind: str, names: re.Pattern[str]) -> None:
    """Of the vLLM releases, the last one that has the message."""
    wrong = [
        (name, last_release(remedy), remedy.template)
        for remedy, change in changes(kind)
        if remedy.package == "vllm"
        for name in names.findall(change.change)
        if options.exists(name, last_release(remedy)) is False
        and options.exists(name.replace("--no-", "--"), last_release(remedy)) is False
    ]
    assert wrong == []


def test_nothing_lowers_security_or_destroys() -> None:
    bad = re.compile(r"VLLM_ALLOW_INSECURE_SERIALIZATION=1|--privileged|\brm -\w+ \S*[{*]|pkill|kill -9")
    unasked = [
        change.change
        for remedy, change in changes()
        for found in bad.findall(change.change)
        if found.partition("=")[0] not in remedy.template
    ]
    assert unasked == []
    asked = [remedy.template for remedy, change in changes("flag") if change.change == "--trust-remote-code"]
    assert [text for text in asked if not re.search(r"trust|remote|custom code", text, re.IGNORECASE)] == []


def test_values_are_what_stands_in_the_slots() -> None:
    told = "max_num_batched_tokens (2048) is smaller\nthan max_model_len ('4096.0')."
    template = "max_num_batched_tokens ({}) is smaller than max_model_len ({})."
    assert values_of(template, told) == {"v1": "2048", "v2": "4096"}
    assert values_of("Unknown backend: {}", "Unknown backend: a, b\nmore lines") == {"v1": "a, b"}
    assert values_of("Unknown backend: {}", "Another message") == {}


def found_in(tmp_path: Path, text: str, places: tuple[str, ...] = (), *known: Remedy) -> str:
    (tmp_path / "remedies.bin").write_bytes(pack(known))
    found = Remedies(str(tmp_path / "remedies.bin")).find(text, places)
    return found.fixes[0].change if found is not None else ""


def remedy(template: str, change: str = "--seed 1") -> Remedy:
    return Remedy("vllm", "config/cache", template, (Change("flag", "Do it", change, ""),) if change else ())


def test_the_longest_message_counts(tmp_path: Path) -> None:
    """A message whose cause's fixes are kept hides a shorter one that it holds."""
    short, long = remedy("the acme backend needs rivets"), remedy("the acme backend needs rivets of steel", "")
    assert found_in(tmp_path, "the acme backend needs rivets", (), short, long) == "--seed 1"
    assert found_in(tmp_path, "the acme backend needs rivets of steel", (), short, long) == ""


def test_words_that_are_anybodys_count_in_their_own_module(tmp_path: Path) -> None:
    known = remedy("{} is not divisible by {}")
    text = "heads 30 is not divisible by 4"
    assert found_in(tmp_path, text, (), known) == ""
    assert found_in(tmp_path, text, ("vllm/config/cache.py",), known) == "--seed 1"
    assert found_in(tmp_path, text, ("vllm/config/model.py",), known) == ""


@pytest.mark.parametrize(
    "line",
    ["# a\nno columns\n", "text\tflag\tTitle\t--x 1\twhy\n", "# a\n\tflag\tTitle\t--x 1\twhy\n", "# a\ntext\tmagic\tTitle\t--x\twhy\n", "# a\ntext\tflag\t\t--x\twhy\n"],
)  # fmt: skip
def test_a_line_that_is_no_remedy_is_named(line: str) -> None:
    with pytest.raises(ValueError, match="is no remedy"):
        list(from_text("vllm", line.splitlines()))


def test_the_shipped_ones_are_found_by_their_own_words() -> None:
    """Every twentieth: its template, with values, leads to its first change."""
    known = load().remedies()
    wrong = []
    for each in [item for item in ALL if item.changes][::20]:
        text = each.template.replace("{}", "7")
        found = known.find(text, (f"{each.package}/{each.path}.py",))
        if found is None or found.fixes[0].title != each.changes[0].title:
            wrong.append(each.template)
    assert len(wrong) <= 0.02 * len(ALL) / 20, wrong
