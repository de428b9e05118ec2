"""Each wording that vLLM has had for its periodic lines is read, and nothing that only looks like them."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.lines.tail import Tail
from vllm_triage.classifier.serving.marks import UNTOLD
from vllm_triage.classifier.serving.recorder import Recorder
from vllm_triage.classifier.serving.types import Records

V0 = "INFO 08-08 16:36:33 metrics.py:406] "
V1 = "INFO 05-19 16:23:48 [loggers.py:123] "
TOKENS = "Avg prompt throughput: 10724.5 tokens/s, Avg generation throughput: 651.8 tokens/s, Running: 77 reqs, "


def records(text: str) -> Records:
    data = text.encode()
    recorder, tail = Recorder(), Tail()
    lines = data.count(b"\n")
    recorder.read(data, 1)
    tail.extend(data, 1 + lines)
    return recorder.finish(tail, lines) or Records()


@pytest.mark.parametrize(
    ("line", "waiting", "swapped", "preemptions", "usage"),
    [
        (f"{V0}{TOKENS}Swapped: 3 reqs, Pending: 941 reqs, GPU KV cache usage: 19.3%, CPU KV cache usage: 0.0%", 941, 3, 0, 19.3),
        (f"{V0}{TOKENS}Swapped: 0 reqs, Pending: 9 reqs, GPU KV cache usage: 19.3%, CPU KV cache usage: 50.0%.", 9, 0, 0, 19.3),
        (f"{V0}{TOKENS}Swapped: 0 reqs, Pending: 9 reqs, GPU KV cache usage: 0.0%, CPU KV cache usage: 50.0%.", 9, 0, 0, 50.0),
        (f"INFO 02-02 10:00:00 loggers.py:70] {TOKENS}Waiting: 4 reqs GPU KV cache usage: 1.5%.", 4, 0, 0, 1.5),
        (f"{V1}{TOKENS}Waiting: 4 reqs, GPU KV cache usage: 1.5%, Prefix cache hit rate: 3.1%", 4, 0, 0, 1.5),
        (f"{V1}Engine 000: {TOKENS}Waiting: 4 reqs, GPU KV cache usage: 1.5%, Prefix cache hit rate: 3.1%", 4, 0, 0, 1.5),
        (f"{V1}Engine 000: {TOKENS}Waiting: 4 reqs, Preemptions: 7, GPU KV cache usage: 1.5%, Prefix cache hit rate: 3.1%, Corrupted: 0 reqs, External prefix cache hit rate: 0.0%, MM cache hit rate: 8.0%", 4, 0, 7, 1.5),
        (f"{V1}Engine 000: {TOKENS}Waiting: 4 reqs, Deferred: 2 reqs, Preemptions: 7, GPU KV cache usage: 1.5%, Prefix cache hit rate: 3.1%", 4, 0, 7, 1.5),
        (f"{V1}Engine 000: {TOKENS}Waiting: 4 reqs, Deferred: 2 reqs, KV fetch: 1 waiting to start, 2 in progress, 3 completed waiting, Preemptions: 7, XPU KV cache usage: 1.5%", 4, 0, 7, 1.5),
        (f"{V1}Engine 000: {TOKENS}Waiting: 4 reqs", 4, 0, 0, UNTOLD),
    ],
)  # fmt: skip
def test_every_wording_of_the_statistics(line, waiting, swapped, preemptions, usage):
    """From vLLM's loggers: V0 until 0.11, V1 from 0.7.1 to 0.33."""
    (samples,) = records(line + "\n").engines.values()

    (sample,) = samples
    assert (10724.5, 651.8, 77) == (sample.prompt, sample.generation, sample.running)
    assert (waiting, swapped, preemptions, usage) == (sample.waiting, sample.swapped, sample.preemptions, sample.usage)
    assert line == sample.text


@pytest.mark.parametrize(
    ("line", "accepted", "drafted"),
    [
        (f"{V0}Speculative metrics: Draft acceptance rate: 0.618, System efficiency: 0.512, Number of speculative tokens: 4, Number of accepted tokens: 61, Number of draft tokens tokens: 99, Number of emitted tokens tokens: 120.", 0.618, 99),
        (f"{V0}Speculative metrics: Draft acceptance rate: 0.618, System efficiency: 0.512, Number of speculative tokens: 4, Number of accepted tokens: 61, Number of draft tokens: 99, Number of emitted tokens: 120.", 0.618, 99),
        (f"{V1}SpecDecoding metrics: Draft acceptance rate: 61.8%, Accepted: 61 tokens, Drafted: 99 tokens", 0.618, 99),
        (f"{V1}SpecDecoding metrics: Draft acceptance rate: 61.8%, Mean acceptance length: 2.24, Accepted: 61 tokens, Drafted: 99 tokens, Per-position acceptance rate: 0.612, 0.300", 0.618, 99),
        (f"{V1}SpecDecoding metrics: Mean acceptance length: 2.24, Accepted throughput: 6.10 tokens/s, Drafted throughput: 9.90 tokens/s, Accepted: 61 tokens, Drafted: 99 tokens, Per-position acceptance rate: 0.612, 0.300, Avg Draft acceptance rate: 61.8%", 0.618, 99),
    ],
)  # fmt: skip
def test_every_wording_about_speculative_decoding(line, accepted, drafted):
    """From 0.4.1 to 0.33, also where nothing else was pasted."""
    (draft,) = records(line + "\n").drafts

    assert pytest.approx(accepted) == draft.accepted
    assert (drafted, line) == (draft.drafted, draft.text)


@pytest.mark.parametrize(
    "line",
    [
        f"{V1}SpecDecoding metrics: Draft acceptance rate: nan%, Accepted: 0 tokens, Drafted: 0 tokens",
        f"{V1}KV Transfer metrics: Num successful transfers: 3",
        f"{V1}DiffusionDecoding metrics: Mean committed tokens per step: 3.10",
    ],
)
def test_where_nothing_was_drafted_there_is_nothing_to_judge(line):
    assert [] == records(f"{V1}{TOKENS}Waiting: 0 reqs\n{line}\n").drafts


@pytest.mark.parametrize(
    "line",
    [
        "what does 'Avg prompt throughput: ' mean?",
        "Received request cmpl-1: prompt: '" + "x" * 400 + f"{TOKENS}Waiting: 4 reqs', params: SamplingParams(n=1)",
        "Avg prompt throughput: many tokens/s, Avg generation throughput: few tokens/s, Running: 1 reqs, Waiting: 0 reqs",
    ],
)
def test_words_that_are_only_quoted_are_no_statistics(line):
    """A prompt may hold a log, a question its words."""
    assert {} == records(line + "\n").engines


def test_numbers_that_are_none_are_read_as_nothing():
    text = f"{V1}Engine 000: {TOKENS}Waiting: 4 reqs, GPU KV cache usage: 1.5%\n"
    (samples,) = records(text.replace("10724.5", "nan").replace("651.8", "inf")).engines.values()

    assert (0.0, 0.0) == (samples[0].prompt, samples[0].generation)
