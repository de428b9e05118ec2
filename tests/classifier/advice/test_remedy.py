"""A message's own fixes: in place of its cause's, with the values that stand in it, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from vllm_triage.classifier import triage
from vllm_triage.classifier.advice.sources.message import remedy_for
from vllm_triage.classifier.lines.types import Frame, Line, Trace
from vllm_triage.classifier.matching.types import Hit
from vllm_triage.corpus import Corpus, load
from vllm_triage.corpus.remedies import Change, Remedy
from vllm_triage.corpus.remedies.packed import pack
from vllm_triage.corpus.types import Rule

HEAD = "INFO 11-22 10:00:00 [api_server.py:100] vLLM API server version 0.33.0\n"
ARGUMENTS = (
    "INFO 11-22 10:00:00 [utils.py:100] non-default args: {'model': 'acme/x', 'linear_backend': 'marlin', 'seed': 3}\n"
)
BLOCK = "ValueError: Block-quantized dense weights require the b12x linear backend\n"


def traced(message: str, place: str = "vllm/model_executor/layers/quantization/modelopt_block_quant.py") -> str:
    path = f"/usr/lib/python3/dist-packages/{place}"
    return f'Traceback (most recent call last):\n  File "{path}", line 9, in __init__\n    raise\n{message}'


def test_what_the_message_names_is_changed() -> None:
    """And the start command is written with it."""
    report = triage(HEAD + ARGUMENTS + traced(BLOCK))
    assert report.fixes[0].change == "leave out --linear-backend"
    assert report.corrected_command == "vllm serve acme/x --seed 3"
    assert any("b12x linear backend" in line for line in report.explanation or ())


def test_what_was_not_given_is_not_left_out() -> None:
    """The next fix of the message comes first then."""
    report = triage(HEAD + ARGUMENTS.replace("'linear_backend': 'marlin', ", "") + traced(BLOCK))
    assert report.fixes[0].change == "--linear-backend b12x"


@pytest.mark.parametrize(
    ("said", "place", "change"),
    [
        ("ValueError: prompt_lookup_min=6 must be <= prompt_lookup_max=3", "vllm/config/speculative.py", "--speculative-config.prompt_lookup_min 3 --speculative-config.prompt_lookup_max 6   # or within the JSON"),
        ("ImportError: fastokens >= 0.2.0 is required when VLLM_USE_FASTOKENS=1 (found 0.1.4).", "vllm/tokenizers/fastokens.py", "pip install -U 'fastokens>=0.2.0'"),
        ("ValueError: KDA recurrent state supports only auto, float32, and bfloat16; got float16", "vllm/model_executor/layers/mamba/mamba_utils.py", "leave out --mamba-ssm-cache-dtype"),
    ],
)  # fmt: skip
def test_the_first_fix_is_the_messages_own(said: str, place: str, change: str) -> None:
    """With its values, of whatever bucket it is."""
    assert triage(HEAD + traced(said, place)).fixes[0].change.startswith(change)


class Shelf(Corpus):
    """A corpus with one remedy of its own."""

    def __init__(self, folder: Path, remedy: Remedy) -> None:
        from vllm_triage.corpus.remedies.find import Remedies

        self.__dict__.update(load().__dict__)
        file = folder / "remedies.bin"
        file.write_bytes(pack([remedy]))
        self._remedies = Remedies(str(file))


def changes(
    folder: Path, template: str, text: str, *known: Change, path: str = "config/x", platform: str = ""
) -> list[str]:
    rule = Rule(id="x/y", role="cause")
    rule.prepare({}, {})
    found = remedy_for(Hit(rule, Line(1, text), {}), Shelf(folder, Remedy("vllm", path, template, known)), platform)
    return [fix.change for fix in found.fixes] if found else []


def test_a_value_that_cannot_be_read_leaves_no_gap(tmp_path: Path) -> None:
    """A flag without its value is not shown, a step without the clause that needs it."""
    known = (
        Change("flag", "Set it", "--seed {v1}", ""),
        Change("step", "Look", "Look at {v1}; start again", ""),
        Change("flag", "Set it so", "--seed {v1|7}", ""),
    )
    template = "the acme backend cannot take {} as rivets"
    assert changes(tmp_path, template, "the acme backend cannot take 9 as rivets", *known)[:2] == [
        "--seed {v1}",
        "Look at {v1}; start again",
    ]
    long = f"the acme backend cannot take {'x' * 200} as rivets"
    assert changes(tmp_path, template, long, *known) == ["start again", "--seed {v1|7}"]


def test_what_another_platform_says_in_the_same_words(tmp_path: Path) -> None:
    """Platforms share messages, and differ in what helps."""
    known = Change("flag", "Set it", "--seed 1", "")
    said = "Invalid rivets for this acme platform"
    assert changes(tmp_path, said, said, known, path="platforms/xpu", platform="cuda") == []
    assert changes(tmp_path, said, said, known, path="platforms/xpu", platform="xpu") == ["--seed 1"]
    assert changes(tmp_path, said, said, known, path="platforms/xpu") == ["--seed 1"]


@pytest.mark.parametrize(
    ("raised", "own"),
    [
        ("vllm/config/x.py", True),
        ("vllm/engine/config/x.py", True),  # moved
        ("vllm/model_executor/y.py", False),  # another loader says it in the same words
        ("vllm/config/utils.py", True),
        ("pydantic/_internal/_dataclasses.py", True),  # raised for a validator
    ],
)
def test_words_that_another_file_raises(tmp_path: Path, raised: str, own: bool) -> None:
    """What is advised was written beside one line of source."""
    rule = Rule(id="x/y", role="cause")
    rule.prepare({}, {})
    said = "the acme backend needs rivets of steel"
    trace = Trace(1, 1, "", "ValueError", said, [Frame(raised, "check", "raise")])
    corpus = Shelf(tmp_path, Remedy("vllm", "config/x", said, (Change("flag", "Set it", "--seed 1", ""),)))
    assert (remedy_for(Hit(rule, Line(1, said), {}, trace), corpus) is not None) is own
