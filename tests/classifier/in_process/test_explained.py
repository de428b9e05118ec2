"""An exception of ``LLM(...)`` is explained where it is raised, as a program sees it."""

from __future__ import annotations

import logging
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from vllm_triage import Report, TriageHandler, explained
from vllm_triage.classifier.in_process import explained as module
from vllm_triage.classifier.in_process.kept import HEAD, TAIL, Kept

LOG = Path(__file__).parents[3] / "corpus/logs/recorded/0.32.0/kv-no-blocks.log"
PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
from vllm_triage import explained
from vllm.entrypoints.llm import LLM
with explained():
    LLM({log!r})
"""
VLLM = """
import subprocess, sys
class LLM:
    def __init__(self, log):
        print("a line of the program itself", flush=True)
        # The engine is a process of its own: it prints, and dies.
        subprocess.run(["cat", log], check=True)
        raise RuntimeError("Engine core initialization failed. See root cause above. Failed core proc(s): {}")
"""


def program(tmp_path: Path, text: str, vllm: str = VLLM) -> subprocess.CompletedProcess[str]:
    """Run a program that imports a stand-in for vLLM."""
    package = tmp_path / "vllm" / "entrypoints"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").touch()
    (package / "llm.py").write_text(vllm)
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(text).format(folder=str(tmp_path), log=str(LOG)))
    return subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False)


def report_of(error: BaseException) -> Report:
    """Return the report that an exception carries."""
    found = vars(error)["vllm_triage"]
    assert isinstance(found, Report)
    return found


def test_an_exception_is_explained_below_its_traceback(tmp_path):
    """With the cause that the engine's process printed, and the correction as Python; the exception is the same one."""
    ran = program(tmp_path, PROGRAM)

    assert ran.returncode == 1
    assert "RuntimeError: Engine core initialization failed" in ran.stderr
    assert "kv_cache_oom/context_exceeds_cache" in ran.stderr
    assert "    max_model_len=524160," in ran.stderr
    assert "vllm serve" not in ran.stderr.partition("vllm-triage: ")[2]


def test_what_is_printed_is_passed_on(tmp_path):
    """By the program and by the engine's process, byte for byte."""
    assert program(tmp_path, PROGRAM).stdout == "a line of the program itself\n" + LOG.read_text()


def test_a_block_that_works_is_left_alone(tmp_path):
    """No note, no output, and standard output is what it was."""
    works = VLLM.partition("        # The engine")[0]
    ran = program(tmp_path, PROGRAM + 'print("after")\n', works)

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "a line of the program itself\nafter\n", "")


def test_a_process_that_lives_on_keeps_its_output(tmp_path):
    """It was started in the block and prints after it."""
    text = (
        PROGRAM.replace("LLM({log!r})", "import subprocess; p = subprocess.Popen(['bash', '-c', 'sleep 1; echo late'])")
        + "p.wait()\nimport time; time.sleep(0.3)\n"
    )
    ran = program(tmp_path, text)

    assert (ran.returncode, ran.stdout) == (0, "late\n")


def test_the_report_is_the_exceptions_and_can_be_had():
    """As an attribute, and by your own function."""
    told: list[Report] = []
    with pytest.raises(ValueError, match="No available memory") as raised, explained(told=told.append, output=False):
        raise ValueError("No available memory for the cache blocks.")

    assert report_of(raised.value).cause == "kv_cache_oom/no_cache_blocks"
    assert told == [report_of(raised.value)]
    assert "kv_cache_oom/no_cache_blocks" in raised.value.__notes__[0]


def test_what_was_logged_counts_without_the_output():
    """vLLM's logger, in this process."""
    logger = logging.getLogger("vllm.engine")

    def start() -> None:
        logger.error("ValueError: No available memory for the cache blocks.")
        raise RuntimeError("it did not start")

    with pytest.raises(RuntimeError) as raised, explained(output=False):
        start()

    assert report_of(raised.value).bucket == "kv_cache_oom"
    assert not [handler for handler in logging.getLogger("vllm").handlers if isinstance(handler, TriageHandler)]


def test_an_exception_of_something_else_goes_on_as_it_is():
    """A typing mistake in the block is not a failure of vLLM's."""
    with pytest.raises(ZeroDivisionError) as raised, explained(output=False):
        _ = 1 / 0

    assert not hasattr(raised.value, "vllm_triage")
    assert not hasattr(raised.value, "__notes__")


def test_a_fault_of_ours_changes_nothing(monkeypatch):
    """The program's exception is what is seen."""

    def broken(*_words: object) -> bytes:
        raise AssertionError("ours")

    monkeypatch.setattr(module, "traceback_of", broken)
    with pytest.raises(ValueError, match="theirs"), explained(output=False):
        raise ValueError("theirs")


def test_the_handler_answers_by_itself():
    """For programs that have logging of their own."""
    handler = TriageHandler()
    logger = logging.getLogger("any")
    logger.addHandler(handler)
    logger.warning("something")
    logger.removeHandler(handler)
    report = handler.report(ValueError("No available memory for the cache blocks."))

    assert report.cause == "kv_cache_oom/no_cache_blocks"
    assert report.evidence[0].line > 1


def test_memory_is_bounded_and_lines_keep_their_numbers():
    """The first and the last are kept; lines left out are counted."""
    kept = Kept()
    for number in range(1, 300_001):
        kept.add(f"line {number}, and some more words to fill it up\n".encode())
    lines = kept.log().split(b"\n")

    assert lines[0].startswith(b"line 1,")
    assert lines[299_999].startswith(b"line 300000,")
    assert len(kept.log()) < HEAD + 2 * TAIL + 300_000
