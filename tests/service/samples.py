"""Answers made by hand: what formats are tested with, whatever the engine says today."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tests.fixes import made
from vllm_triage.classifier.advice import Advice
from vllm_triage.classifier.facts.types import Facts
from vllm_triage.classifier.incidents.types import Incident, StageSpan
from vllm_triage.classifier.lines.types import Evidence
from vllm_triage.classifier.report.build import build
from vllm_triage.classifier.report.model import Report
from vllm_triage.classifier.verdict.types import ServerStart, Story, Verdict
from vllm_triage.corpus.actions import Run
from vllm_triage.corpus.records import replace as changed
from vllm_triage.service.render.interface import Result

LINE = (
    "(EngineCore pid=4190) ERROR 11-02 09:15:01 [core.py:1108] ValueError: To serve at least one request with the models's max "
    "seq len (131072), (16.0 GiB KV cache is needed, which is larger than the available KV cache memory (5.12 GiB). Based on "
    "the available memory, the estimated maximum model length is 41936."
)
WRAPPER = "(APIServer pid=4127) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"


@dataclass(frozen=True)
class Sample:
    """A verdict with its advice."""

    verdict: Verdict
    advice: Advice = field(default_factory=Advice)
    lines: int = 1
    size: int = 1

    @property
    def report(self) -> Report:
        """What is made of them."""
        return build(self.verdict, self.advice, self.lines, self.size)

    def saying(self, **values: Any) -> Sample:
        """Return the same with other values in the verdict."""
        return replace(self, verdict=replace(self.verdict, **values))

    def advising(self, change: str, *places: int, **more: Any) -> Sample:
        """Return the same whose fixes at these places, or all, do something else."""
        actions = (Run(change),)
        fixes = tuple(
            changed(fix, actions=actions, remark="", **more) if at in places or not places else fix
            for at, fix in enumerate(self.advice.fixes)
        )
        return replace(self, advice=changed(self.advice, fixes=fixes))


def found_words(text: str, summary: str = "", line: int = 1) -> Sample:
    """Return the answer of which these words are title, evidence and note."""
    return Sample(Verdict(
        Incident(1), "unknown", "unknown/x", 0.5, "none", text, summary or text, evidence=(Evidence(line, text),), notes=(text,),
    ))  # fmt: skip


def found_failure() -> Sample:
    """A start that failed, with all that an answer can hold."""
    fixes = [
        made(
            "--max-model-len 41936", title="Cap the context at what fits", why="vLLM names the longest that does.", cost="Longer requests are refused.",
            verify="The log prints a concurrency of at least 1.0x.", option="--max-model-len", value="41936", rank=1,
        ),
        made(
            "--kv-cache-dtype fp8", title="Store the KV cache in 8 bits", why="Half the bytes for each token.", cost="Some accuracy.",
            option="--kv-cache-dtype", value="fp8", safety="quality", versions=">=0.3", fixed_in="https://docs.vllm.ai/en/latest/", rank=2,
        ),
        made("Stop what else runs on it.", "step", title="Free the GPU", why="More is left.", cost="none", rank=3),
        made("rm -r ~/.cache/acme", "command", title="Drop the cache", why="It is filled anew.", cost="Slow start.", safety="destructive", rank=4),
    ]  # fmt: skip
    stages = [
        StageSpan("launch", 1, "11-02 09:14:03", 2.0), StageSpan("config", 8, "11-02 09:14:05", 9.0),
        StageSpan("weights", 16, "11-02 09:14:14", 22.0), StageSpan("profile", 27, "11-02 09:15:01"),
    ]  # fmt: skip
    facts: Facts = {"vllm_version": "0.19.1", "engine": "V1", "model": "acme/harbor-8b", "max_model_len": 131072, "arguments": {"api_key": "sk-live-0123456789abcdef"}}  # fmt: skip
    verdict = Verdict(
        Incident(1, facts=facts, reached="profile"), bucket="kv_cache_oom", cause="kv_cache_oom/context_exceeds_cache", confidence=0.97, decided_by="rule",
        title="The KV cache cannot hold one request of the full context",
        summary="One sequence of 131072 tokens needs 16.0 GiB of KV cache. 5.12 GiB are left for it.",
        evidence=(Evidence(37, LINE, "EngineCore", "cause", 2),),
        symptoms=(Evidence(28, "EngineCore failed to start.", "EngineCore", "symptom"), Evidence(51, WRAPPER, "APIServer", "symptom")),
        chain=(Evidence(44, "(EngineCore pid=4190) RuntimeError: wrapped", "EngineCore", "chain"),),
        alternatives=(("gpu_memory_budget", 0.02), ("runtime_oom", 0.01)), stages=tuple(stages),
        starts=(ServerStart(1, 51, "profile"),), confirm="The figures above.", refute="Another process holds memory.",
        notes=("One *note* with <signs>.",), explanation=("kv_cache_oom/context_exceeds_cache 3.12: max-seq-len-v1 (certain) on line 37",),
        story=Story(1, 51, starts_failed=1, died_first=Evidence(20, "(Worker pid=7) OSError: <gone>", "Worker", "death"), overcome=(Evidence(12, "a *port* was taken"),)),
    )  # fmt: skip
    command = "vllm serve acme/harbor-8b --max-model-len 41936 --api-key sk-live-0123456789abcdef"
    return Sample(verdict, Advice(tuple(fixes), corrected_command=command), 51, 9876)


def found_unknown() -> Sample:
    """An error that no rule knows."""
    return Sample(Verdict(
        Incident(1, reached="launch"), "unknown", "unknown/unrecognised_failure", 0.5, "none", "A failure that is not recognised", "The log ends with an error that no rule knows.",
        evidence=(Evidence(7, "acme_platform.errors.FlangeError: `flange` b7 is not seated", "", "telling"),),
        alternatives=(("engine_bug", 0.25), ("install_mismatch", 0.1)), starts=(ServerStart(1, 8, "launch"),), story=Story(1, 8, starts_failed=1),
    ), lines=8, size=300)  # fmt: skip


def found_healthy() -> Sample:
    """A server that was stopped."""
    facts: Facts = {"vllm_version": "0.33.0", "kv_cache_tokens": 41936, "max_model_len": 8192, "max_concurrency": 5.12}
    return Sample(Verdict(
        Incident(30, facts=facts, reached="shutdown"), "no_failure", "no_failure/stopped_from_outside", 0.93, "stage", "The server was stopped from outside", "",
        evidence=(Evidence(60, "reached shutdown", "", "mark"),),
        story=Story(30, 60, "server", 2, 2, 1, latent=("requests waited in a queue for a while",)),
        starts=(ServerStart(1, 29, "launch"), ServerStart(30, 60, "shutdown")),
    ), lines=12345, size=999999)  # fmt: skip


def failure() -> Result:
    """The report of a start that failed."""
    return Result("server.log", found_failure().report)


def unknown() -> Result:
    """The report of an error that no rule knows."""
    return Result("-", found_unknown().report)


def healthy() -> Result:
    """The report of a server that was stopped."""
    return Result("ok.log", found_healthy().report)
