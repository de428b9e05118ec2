"""Guards are data: each is checked, is about something, and stands in the page on advice."""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.fixes import context, guarded, made
from vllm_triage.classifier.advice import sources
from vllm_triage.classifier.advice.guards import _ASKED, _DERIVED
from vllm_triage.corpus import guards
from vllm_triage.corpus.check import check_guards
from vllm_triage.corpus.effects import guards_of, read_effects
from vllm_triage.corpus.guards import ASKED, DERIVED, Guards, as_table, read_guards
from vllm_triage.corpus.places import CorpusError

FILE = Path(guards.__file__).parent / "guards.toml"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "advice.md"
TABLE = re.compile(r"(?s)(<!-- guards -->\n).*?(<!-- /guards -->)")

ROW = '[[guard]]\nid = "x"\nabout = {{ option = ["--x"] }}\nwhy = "w"\n{}\n'


def test_the_page_on_advice_has_the_table_of_the_guards():
    """`TRIAGE_BLESS=1` writes it anew."""
    page = PAGE.read_text(encoding="utf-8")
    now = TABLE.sub(
        lambda found: (
            found[1] + as_table([*read_guards(FILE), *guards_of(read_effects(FILE.parent / "effects.toml"))]) + found[2]
        ),
        page,
    )
    if os.environ.get("TRIAGE_BLESS"):
        PAGE.write_text(now, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == now


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('colour = "red"', "unknown key 'colour'"),
        ('when = ["platform"]', "is no condition"),
        ('mentions = "("', "no regular expression"),
        ('[[guard]]\nid = "y"\nwhy = "w"', "missing about"),
        ('[[guard]]\nid = "x"\nabout = { option = ["--y"] }\nwhy = "w"', "stands twice"),
    ],
)
def test_a_row_that_breaks_the_format_is_refused(tmp_path, more, says):
    """With the guard and what is wrong."""
    path = tmp_path / "guards.toml"
    path.write_text(ROW.format(more), encoding="utf-8")
    with pytest.raises(CorpusError, match=re.escape(says)):
        read_guards(path)


def test_a_row_alone_withholds_a_fix(tmp_path):
    """One row of data is a guard: no module is written for it."""
    path = tmp_path / "guards.toml"
    path.write_text(ROW.format('when = ["platform == tpu"]'), encoding="utf-8")
    from vllm_triage.classifier.advice.guards import withhold

    rows = Guards(read_guards(path))
    fix = made("--x 1")
    assert (None, "w") == withhold(fix, context(platform="tpu"), rows)
    assert (fix, "") == withhold(fix, context(platform="cuda"), rows)
    assert (fix, "") == guarded(fix, context(platform="tpu"))


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("platfrom == tpu", "nothing tells 'platfrom'"),
        ("in_force:enforce_eagre == True", "nothing tells 'enforce_eagre'"),
        ("in_froce:enforce_eager == True", "nothing tells 'enforce_eager'"),
        ("in_force:enforce_eager == True", ""),
        ("max_num_seqs > 1", ""),
    ],
)
def test_a_name_that_nothing_tells_is_complained_of_on_its_line(tmp_path, condition, says):
    """Such a row would never hold, and nobody would see it."""
    path = tmp_path / "guards.toml"
    path.write_text(ROW.format(f'when = ["{condition}"]'), encoding="utf-8")
    line = 1 + path.read_text(encoding="utf-8").splitlines().index(f'when = ["{condition}"]')
    told = check_guards(path)
    assert [text.startswith(f"guards.toml:{line}: guard x") and says in text for text in told] == [True] * bool(says)


def test_what_rows_may_ask_for_beside_facts_is_what_the_guards_work_out():
    """One list for the check, one table of functions: neither has what the other lacks."""
    assert {*DERIVED} - {"release", "value", "arguments", "refused_backend"} == set(_DERIVED)
    assert {*ASKED} - {"arg"} == set(_ASKED)


def test_a_source_without_its_function_is_an_error(monkeypatch):
    """A misspelt name would leave out all that the module knows."""
    monkeypatch.setattr(sources, "import_module", lambda *_: SimpleNamespace(__file__="sources/odd.py", propsoe=list))
    sources.sources.cache_clear()
    with pytest.raises(TypeError, match=re.escape("sources/odd.py")):
        sources.sources()
    sources.sources.cache_clear()
