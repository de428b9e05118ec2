"""Whose program printed a text: vLLM's server, a script with an engine of its own, a trainer, a client, a test, a build.

Every answer has a mark that speaks for it; where none stands, nothing is said.
"""

from __future__ import annotations

from ...corpus.records import Record, record
from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

ENGINE, FRAMEWORK, SERVER, TEST, SCRIPT, CLIENT, BUILD, MACHINE, VLLM = (
    "engine", "framework", "server", "test", "script", "client", "build", "machine", "vllm",
)  # fmt: skip
"""Kinds of programs: the last is vLLM's engine, whoever made it."""
RAY_SERVE = "Ray Serve"
_NAMED = LazyPattern(
    r"(?:^|[/\s\"'])(?P<name>verl|openrlhf|trl|llamafactory|xinference|fastchat|swift|skyrl_\w+|areal|nemo_rl|djl_python|unsloth\w*)/[\w/]{1,120}\.py"
)
_MARKS = (
    (FRAMEWORK, "", ("verl/", "openrlhf/", "trl/", "llamafactory/", "xinference/", "fastchat/", "swift/", "skyrl_", "areal/", "nemo_rl/", "djl_python/", "unsloth"), _NAMED),
    (FRAMEWORK, "verl", ("actor_rollout_ref", "WorkerDict"), LazyPattern(r"\bactor_rollout_ref\b|\bWorkerDict\.\w|\(WorkerDict pid=")),
    (FRAMEWORK, RAY_SERVE, ("ray/serve/", "ray/llm/", "ServeReplica:", "ReplicaActor"), LazyPattern(r"(?:^|[/\s\"'])ray/(?:serve|llm)/|\bServeReplica:|\bReplicaActor\b")),
    (SERVER, "", ("APIServer", "vllm", "Uvicorn", '"GET /', '"POST /', "MQLLMEngine", "api_server"), LazyPattern(
        r"\bAPIServer|\bvllm[/.]entrypoints[/.](?:openai|cli|launcher|launchers|grpc|anthropic|serve)\b|\bvllm (?:serve|bench)\b|vllm-openai|"
        r"\bUvicorn running|\"(?:GET|POST) /|\bMQLLMEngine|[/\\]bin[/\\]vllm\b|\bapi_server\b"
    )),
    (SCRIPT, "", ("llm.py:", "offline.py:", ".generate(", ".chat(", ".score(", ".embed(", ".encode(", ".classify(", ".beam_search(", "LLM(", "in LLM."), LazyPattern(
        r"\bvllm/entrypoints/(?:(?:offline_)?llm|\w+/offline)\.py:|\bllm\.(?:generate|chat|score|embed|encode|classify|beam_search)\(|\bLLM\((?:\s*\w+ ?=|\s*['\"]|\*\*)|\bin LLM\.\w+\("
    )),
    (TEST, "pytest", ("E   ",), LazyPattern(
        r"(?m)^(?:\[[^\]\n]{1,40}\] )?E {3,}\S[\s\S]{0,4000}?(?:^(?:\[[^\]\n]{1,40}\] )?[\w./-]+\.py:\d+: \w+(?:Error|Exception)\s*$|"
        r"short test summary info|warnings summary =|-- Captured \w+ (?:log )?(?:call|setup))"
    )),
    (CLIENT, "", ("openai", "httpx", "aiohttp", "litellm", "langchain", "curl"), LazyPattern(
        r"\b(?:openai/_base_client|openai/resources|litellm/\w[\w/]*|langchain_openai/[\w/]+|httpx/_(?:client|transports/\w+)|aiohttp/client\w*)\.py\b|"
        r"\bopenai\.(?:API\w+Error|BadRequestError|NotFoundError|InternalServerError)|\bcurl: \(\d+\)"
    )),
    (BUILD, "", ("wheel", "subprocess-exited", "CMake Error", "ninja: build", "ResolutionImpossible", "ERROR: Could not find a version", 'process "/bin/sh'), LazyPattern(
        r"(?i:\bfailed (?:to build|building wheel)|\bbuilding wheel for )|\bsubprocess-exited-with-error|\bCMake Error\b|\bninja: build stopped|\bResolutionImpossible\b|"
        r"\bERROR: Could not find a version|\bprocess \"/bin/sh -c "
    )),
    (MACHINE, "", ("slurm", "daemon", "kubelet", "Back-off", "nodes are available", "systemd[", "NVRM: ", "oom-kill", "helm"), LazyPattern(
        r"\bslurmstepd: |\bError response from daemon\b|\bkubelet\b|\bBack-off (?:restarting|pulling)|\bnodes are available\b|\bsystemd\[\d|\bNVRM: |\boom-kill:|\bError: (?:INSTALLATION|UPGRADE) FAILED\b"
    )),
    (VLLM, "", ("vllm", "EngineCore", "VllmWorker", "RayWorker", "(Worker"), LazyPattern(
        r"\bvllm[/\\]\w+|\b(?:EngineCore|VllmWorker|RayWorkerWrapper|LLMEngine)|\(Worker\w* pid="
    )),
)  # fmt: skip
"""Kinds of programs by what they print: the kind, the name, words of which each match holds one (most texts hold none, and looking
for these takes a hundredth of the time), and the marks."""


@record(frozen=True, slots=True)
class Program(Record):
    """Who printed a text."""

    kind: str = ""
    """One of the above; "" where no mark tells."""
    name: str = ""
    """Of a framework or engine; else ""."""


UNKNOWN = Program()


def programs_in(text: str, kinds: Collection[str] = ()) -> Iterator[Program]:
    """Yield the programs of which a text shows marks, those that have the others in them first.

    Args:
        text: Lines as they stand in the log, or what is known of one error.
        kinds: That are looked for; empty: all.
    """
    for kind, name, words, marks in _MARKS:
        if kinds and kind not in kinds:
            continue
        if any(word in text for word in words) and (shown := marks.search(text)):
            yield Program(kind, shown["name"].replace("_", "-") if marks is _NAMED else name)


def program_of(text: str) -> Program:
    """Return whose program printed a text: of a server's log that quotes another program's words, the server's."""
    return next(programs_in(text), UNKNOWN)
