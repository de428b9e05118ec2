"""Loading: the compiled corpus, users' rule files on top, and what happens where one of them is broken."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vllm_triage.classifier.api import Triage
from vllm_triage.corpus import store
from vllm_triage.corpus.compiler import compile_corpus, concluded_in, read_bucket
from vllm_triage.corpus.findings import FINDINGS
from vllm_triage.corpus.page import page_of
from vllm_triage.corpus.places import CorpusError
from vllm_triage.corpus.store import load, plugin_folders, shipped_traits
from vllm_triage.corpus.types import Bucket, Cause

HERE = Path(store.HERE)
RULES = """
id = "acme_plugin"
title = "The Acme plug-in failed"
meaning = "Our own plug-in."
[[cause]]
id = "bad_cache"
title = "The plug-in's cache is damaged"
summary = "Entry {entry} cannot be read."
  [[cause.fix]]
  title = "Empty the cache"
  kind = "command"
  change = "rm -r ~/.cache/acme"
  why = "It is filled anew."
  cost = "The next start is slow."
[[rule]]
id = "bad-cache"
role = "cause"
cause = "bad_cache"
strength = "certain"
pattern = '''acme cache entry (?P<entry>\\w+) is damaged'''
match = ["AcmeError: acme cache entry k7 is damaged"]
reject = ["INFO acme cache is fine"]
"""
LOG = "AcmeError: acme cache entry k7 is damaged"


@pytest.fixture
def folder(tmp_path):
    """A folder with one good rule file."""
    (tmp_path / "acme_plugin.toml").write_text(RULES)
    return tmp_path


def test_rules_of_a_folder_are_added(folder):
    """One of your own rules answers; its texts are filled as those of the corpus."""
    answer = Triage([folder]).report(LOG)

    assert (answer.cause, answer.summary, answer.fixes[0].change) == (
        "acme_plugin/bad_cache",
        "Entry k7 cannot be read.",
        "rm -r ~/.cache/acme",
    )


def test_a_single_file_may_be_named(folder):
    """As a folder of one file."""
    assert Triage([folder / "acme_plugin.toml"]).report(LOG).bucket == "acme_plugin"


def test_the_corpus_is_there_as_well(folder):
    """Added, not put in its place."""
    assert Triage([folder]).report("ValueError: No available memory for the cache blocks.").bucket == "kv_cache_oom"


def test_a_known_bucket_can_be_given_more(folder):
    """A file with a known bucket's id adds causes to it."""
    (folder / "acme_plugin.toml").write_text(RULES.replace('"acme_plugin"', '"host_memory"'))
    corpus = load([folder])

    assert corpus.problems == []
    known = [cause.id for cause in load().bucket("host_memory").causes]
    assert [*known, "bad_cache"] == [cause.id for cause in corpus.bucket("host_memory").causes]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id = ", "broken.toml"),
        (RULES.replace('role = "cause"', 'role = "culprit"'), "role must be one of"),
        (RULES.replace("acme cache entry", "(?:a+)+ cache entry"), "repeat inside"),
        (RULES.replace("acme cache entry (?P<entry>\\w+) is damaged", "\\w+ \\d+"), "no literal"),
        (RULES.replace("acme cache entry (?P", "acme cache entry ((?P"), "does not compile"),
        (RULES.replace('match = ["', 'match = ["not '), None),
        ("\0\1\2", "broken.toml"),
    ],
)
def test_a_broken_file_is_reported_and_the_others_work(folder, text, words):
    """One broken file takes neither the corpus nor the other files down."""
    (folder / "broken.toml").write_text(text.replace("acme_plugin", "acme_other"))
    engine = Triage([folder])

    assert engine.report(LOG).bucket == "acme_plugin"
    if words is None:
        assert engine.corpus.problems == []
    else:
        assert [words in problem for problem in engine.corpus.problems] == [True]


def test_bytes_that_are_no_text_are_reported(folder):
    """A rule file in another encoding."""
    (folder / "latin.toml").write_bytes(b'id = "\xe9t\xe9"')

    assert ["latin.toml" in problem for problem in load([folder]).problems] == [True]


def test_an_id_that_is_taken_is_reported(folder):
    """Rules of the corpus are not replaced by accident."""
    (folder / "own.toml").write_text(
        RULES.replace('"acme_plugin"', '"kv_cache_oom"').replace('"bad-cache"', '"max-seq-len-v1"')
    )

    assert [
        "kv_cache_oom/max-seq-len-v1 stands in the corpus already" in problem for problem in load([folder]).problems
    ] == [True]


def test_a_folder_that_is_not_there_is_reported(tmp_path):
    """A slip in a path is not passed over in silence."""
    assert load([tmp_path / "nowhere"]).problems == [f"{tmp_path / 'nowhere'}: no such folder"]


def test_the_same_folder_twice_is_read_once(folder):
    """Named on the command line and in the environment."""
    assert load([folder, str(folder)]).problems == []


def test_folders_of_the_environment(folder, tmp_path, monkeypatch):
    """VLLM_TRIAGE_RULES holds folders, parted like PATH."""
    monkeypatch.setenv("VLLM_TRIAGE_RULES", os.pathsep.join(["/nowhere", str(folder)]))

    assert Triage().report(LOG).bucket == "acme_plugin"


def _install(site, distribution: str, entry: str) -> None:
    """Lay a package with rules out as pip would."""
    (site / "acme_rules").mkdir(parents=True)
    (site / "acme_rules" / "__init__.py").write_text("raise RuntimeError('rule packages are not imported')")
    (site / "acme_rules" / "acme_plugin.toml").write_text(RULES)
    (site / distribution).mkdir()
    (site / distribution / "entry_points.txt").write_text(
        f"[console_scripts]\nx = y:z\n\n[vllm_triage.rules]\nacme = {entry}\n"
    )


def test_rules_of_an_installed_package(tmp_path, monkeypatch):
    """The entry point group vllm_triage.rules names a package; its folder is read, its code is not run."""
    _install(tmp_path, "vllm_triage_acme-1.0.dist-info", "acme_rules")
    monkeypatch.syspath_prepend(tmp_path)

    assert plugin_folders() == [str(tmp_path / "acme_rules")]
    assert Triage().report(LOG).bucket == "acme_plugin"
    assert "acme_rules" not in sys.modules


def test_a_package_that_is_gone_is_reported(tmp_path, monkeypatch):
    """Left over after an unclean removal."""
    _install(tmp_path, "vllm_triage_acme-1.0.dist-info", "acme_ruined")
    monkeypatch.syspath_prepend(tmp_path)

    assert load(plugin_folders()).problems == [
        "acme_ruined (offered by vllm_triage_acme-1.0.dist-info): no such folder"
    ]


def test_packages_of_other_names_are_not_looked_into(tmp_path, monkeypatch):
    """Reading the entry points of everything that is installed would cost more than the whole start."""
    _install(tmp_path, "acme-1.0.dist-info", "acme_rules")
    monkeypatch.syspath_prepend(tmp_path)

    assert plugin_folders() == []


def test_a_strict_compile_refuses_a_broken_file(folder, tmp_path):
    """A wheel never ships without a file that somebody broke."""
    source = tmp_path / "corpus"
    (source / "buckets").mkdir(parents=True)
    (source / "buckets" / "acme.toml").write_text("id = ")

    with pytest.raises(CorpusError, match=r"acme\.toml"):
        compile_corpus(source, tmp_path / "out")


def test_a_checkout_compiles_anew_when_a_file_changes(tmp_path, monkeypatch):
    """What a person edits counts at once; what did not change is not compiled again."""
    home = tmp_path / "corpus"
    (home / "buckets").mkdir(parents=True)
    (home / "buckets" / "acme_plugin.toml").write_text(RULES)
    monkeypatch.setattr(store, "HERE", str(home))
    first = [rule.id for rule in load().rules]
    (index,) = home.glob("__pycache__/*/index.marshal")
    written = index.stat().st_mtime_ns
    load()
    unchanged = index.stat().st_mtime_ns
    (home / "buckets" / "acme_plugin.toml").write_text(RULES.replace('id = "bad-cache"', 'id = "worse-cache"'))

    assert (["acme_plugin/bad-cache"], written) == (first, unchanged)
    assert [rule.id for rule in load().rules] == ["acme_plugin/worse-cache"]


@pytest.mark.parametrize("days", [0, 2])
def test_what_a_running_process_reads_is_left_as_it_was(tmp_path, monkeypatch, days):
    """Others that compile a changed checkout write elsewhere; after a day what they left goes."""
    home = tmp_path / "corpus"
    (home / "buckets").mkdir(parents=True)
    (home / "buckets" / "acme_plugin.toml").write_text(RULES)
    monkeypatch.setattr(store, "HERE", str(home))
    running = load()
    (folder,) = home.glob("__pycache__/*")
    os.utime(folder, (time.time() - days * 86_400,) * 2)
    (home / "buckets" / "acme_plugin.toml").write_text(RULES.replace('title = "', 'title = "New: ', 1))
    titles = [load().bucket("acme_plugin").title, "" if days else running.bucket("acme_plugin").title]

    assert [titles[0].startswith("New: "), titles[1].startswith("New: "), folder.exists()] == [True, False, not days]


def test_processes_that_compile_at_once_all_have_it(tmp_path):
    """None meets what another one has half written."""
    home = tmp_path / "corpus"
    (home / "buckets").mkdir(parents=True)
    (home / "buckets" / "acme_plugin.toml").write_text(RULES)
    code = (
        "import sys; from vllm_triage.corpus import store; store.HERE = sys.argv[1]\n"
        "print([rule.id for rule in store.load().rules])"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(home)], stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]

    assert {process.communicate()[0] for process in started} == {"['acme_plugin/bad-cache']\n"}
    assert 1 == len(list(home.glob("__pycache__/*")))


def test_a_checkout_with_a_broken_file_still_works(tmp_path, monkeypatch):
    """While somebody edits a file, the others answer."""
    home = tmp_path / "corpus"
    (home / "buckets").mkdir(parents=True)
    (home / "buckets" / "acme_plugin.toml").write_text(RULES)
    (home / "buckets" / "half.toml").write_text("id = ")
    monkeypatch.setattr(store, "HERE", str(home))
    corpus = load()

    assert (corpus.buckets(), len(corpus.problems)) == (["acme_plugin"], 1)


def test_what_is_peculiar_to_a_bucket_is_known_without_its_words(folder):
    """Of the corpus and of your own file; what is usual for a bucket that nobody described."""
    path = folder / "acme_plugin.toml"
    path.write_text(path.read_text().replace("[[cause]]", "waits = true\n[[cause]]", 1))
    corpus = load([folder])

    assert corpus.problems == []
    assert [True, False] == [corpus.traits(name).waits for name in ("acme_plugin", "kv_cache_oom")]
    assert (False, "server", 0.0) == (corpus.traits("x").waits, corpus.traits("x").side, corpus.traits("x").yields)
    assert 1.0 == shipped_traits()["engine_dead"].yields == corpus.bucket("engine_dead").yields


def test_a_loaded_bucket_is_the_one_of_its_file():
    """Words, fixes and marks of causes come through the compiled form unchanged."""
    written, loaded = read_bucket(HERE / "buckets" / "nccl_hang.toml"), load().bucket("nccl_hang")

    assert [page_of(written)["title"], written.meaning] == [page_of(loaded)["title"], loaded.meaning]
    assert [
        (cause.id, cause.summary, cause.concluded_from, cause.also, [fix.change for fix in cause.fixes])
        for cause in written.causes
    ] == [
        (cause.id, cause.summary, cause.concluded_from, cause.also, [fix.change for fix in cause.fixes])
        for cause in loaded.causes
    ]
    assert [rule.id for rule in written.rules] == [rule.id for rule in loaded.rules]


def test_a_bucket_that_is_not_there():
    """KeyError, as documented."""
    with pytest.raises(KeyError):
        load().bucket("no_such_bucket")


def test_expressions_ship_compiled():
    """The first use of a rule loads its expression instead of compiling it."""
    rule = next(rule for rule in load().rules if rule.id == "kv_cache_oom/max-seq-len-v1")

    assert rule.pattern in rule.ready
    assert rule.expression("pattern").search("nothing") is None


def test_every_finding_without_a_rule_has_its_cause():
    """And there is no finding that no cause answers."""
    corpus = load()

    assert set(FINDINGS) == {
        cause.concluded_from for name in corpus.buckets() for cause in corpus.bucket(name).causes
    } - {""}
    for finding in FINDINGS:
        bucket, cause = corpus.concluded_from(finding)
        found = corpus.bucket(bucket).cause(cause)
        assert found is not None
        assert finding == found.concluded_from
        assert set(found.also) <= set(corpus.buckets())


def test_no_finding_has_two_causes():
    """Else the order of the files would decide."""
    bucket = read_bucket(HERE / "buckets" / "nccl_hang.toml")
    other = Bucket("other", "t", "m", causes=(Cause("another", "t", "s", concluded_from="silence"),))

    with pytest.raises(CorpusError, match="is concluded from 'silence' already"):
        concluded_in([bucket, other])


def test_a_file_of_ones_own_concludes_nothing_without_a_rule(folder):
    """What the engine finds by itself has the cause that the corpus gives it."""
    path = folder / "acme_plugin.toml"
    path.write_text(RULES.replace('id = "bad_cache"\n', 'id = "bad_cache"\nconcluded_from = "silence"\n'), "utf-8")

    corpus = load([folder])

    assert ("nccl_hang", "silent_distributed_init") == corpus.concluded_from("silence")
    assert "is answered by the corpus alone" in "".join(corpus.problems)
