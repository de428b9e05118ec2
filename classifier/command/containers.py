"""The corrected command for containers: ``docker run``, compose, Kubernetes, and the values of vLLM's Helm chart.

The chart is the one in vLLM's own sources (``chart-helm``): ``image.command`` is the whole command, ``image.env`` its
variables.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..patterns.lazy import LazyPattern
from .blocks import quoted, scalar
from .shell import shell_words
from .start import Start, takes_no_word
from .words import Word, join

_RELEASE = LazyPattern(r"v?(\d+\.\d+\.\d+(?:\.post\d+)?)(?:\+.*)?$")
_REFERENCE = LazyPattern(r"\$(?:\{(?P<braced>\w+)\}|(?P<plain>[A-Za-z_]\w*))")
_CACHE = "~/.cache/huggingface:/root/.cache/huggingface"


def docker(start: Start, facts: Mapping[str, object]) -> str:
    """Return a ``docker run`` command."""
    if start.kind == "docker":
        return join(start.words())
    words = [Word("docker"), Word("run")]
    words += [
        Word(value)
        for value in {"rocm": ["--device=/dev/kfd", "--device=/dev/dri", "--group-add=video"], "cpu": []}.get(
            _platform(facts), ["--gpus", "all"]
        )
    ]
    words += [Word("--ipc=host"), Word("-p"), Word(f"{_port(start)}:{_port(start)}")]
    for mount in _mounts(start):
        words += [Word("-v"), Word(mount, mount) if mount == _CACHE else Word(mount)]
    for name, value in start.variables():
        words += [Word("-e"), Word(f"{name}={value.value}", f'{name}="{value.value}"' if value.expands else None)]
    return join([*words, Word(_image(start, facts)), *_arguments(start)])


def compose(start: Start, facts: Mapping[str, object]) -> str:
    """Return a service of a compose file."""
    if start.kind == "compose":
        return _text(start)
    given = _docker_options(start)
    lines = ["services:", "  vllm:", f"    image: {scalar(_image(start, facts))}"]
    if entry := given.get("--entrypoint"):
        lines.append(f"    entrypoint: [{scalar(entry[0])}]")
    lines += ["    command:", *(f"      - {scalar(_in_compose(word))}" for word in _arguments(start))]
    if variables := start.variables():
        lines += [
            "    environment:",
            *(f"      {scalar(name)}: {quoted(_in_compose(value))}" for name, value in variables),
        ]
    ports = given.get("-p") or ([] if start.kind == "docker" else [f"{_port(start)}:{_port(start)}"])
    lines += ["    ports:", *(f"      - {quoted(port)}" for port in ports)] if ports else []
    mounts = given.get("-v") or ([] if start.kind == "docker" else _mounts(start))
    lines += ["    volumes:", *(f"      - {scalar(mount)}" for mount in mounts)] if mounts else []
    if size := given.get("--shm-size"):
        lines.append(f"    shm_size: {scalar(size[0])}")
    if start.kind != "docker" or "--ipc" in given:
        lines.append(f"    ipc: {scalar(given.get('--ipc', ['host'])[0])}")
    if _platform(facts) == "cuda":
        lines += ["    deploy:", "      resources:", "        reservations:", "          devices:"]
        lines += ["            - driver: nvidia", "              count: all", "              capabilities: [gpu]"]
    elif _platform(facts) == "rocm":
        lines += ["    devices: [/dev/kfd, /dev/dri]", "    group_add: [video]"]
    return "\n".join(lines) + "\n"


def kubernetes(start: Start, facts: Mapping[str, object]) -> str:
    """Return a container of a pod: image, arguments, variables, GPUs."""
    if start.kind == "kubernetes":
        return _text(start)
    lines = ["containers:", "  - name: vllm", f"    image: {scalar(_image(start, facts))}"]
    if start.kind == "docker":
        if entry := _docker_options(start).get("--entrypoint"):
            lines.append(f"    command: [{scalar(entry[0])}]")
        arguments = _arguments(start)
    else:
        lines.append("    command: [vllm, serve]")
        arguments = _served(start)[2:]
    lines += ["    args:", *(f"      - {scalar(_in_pod(word))}" for word in arguments)]
    lines += _env(start, "    ")
    if gpu := _gpu_resource(facts):
        lines += ["    resources:", "      limits:", f'        {gpu}: "{_gpus(start, facts)}"']
    return "\n".join(lines) + "\n"


def helm(start: Start, facts: Mapping[str, object]) -> str:
    """Return values for the Helm chart in vLLM's sources."""
    if start.kind == "helm":
        return _text(start)
    repository, colon, tag = _image(start, facts).rpartition(":")
    if not colon or "/" in tag:
        repository, tag = _image(start, facts), "latest"
    lines = [
        "# values.yaml of chart-helm, the chart in vLLM's own examples",
        "image:",
        f"  repository: {scalar(repository)}",
        f"  tag: {scalar(tag)}",
    ]
    lines += ["  command:", *(f"    - {scalar(_in_pod(word))}" for word in _served(start))]
    lines += _env(start, "  ")
    if _port(start) != "8000":
        lines.append(f"containerPort: {_port(start)}")
    if gpu := _gpu_resource(facts):
        count = _gpus(start, facts)
        lines += ["resources:", "  requests:", f"    {gpu}: {count}", "  limits:", f"    {gpu}: {count}"]
    return "\n".join(lines) + "\n"


def _text(start: Start) -> str:
    return start.manifest.text(start) if start.manifest is not None else ""


def _served(start: Start) -> list[Word]:
    """Return ``vllm serve MODEL …``, however the server was launched."""
    model = start.model()
    words = [Word("vllm"), Word("serve"), *([model] if model is not None else [])]
    return words + [word for part in start.others() for word in part.words]


def _arguments(start: Start) -> list[Word]:
    """Return what follows the image's name: vLLM's takes ``--model`` in every release, a bare model since 0.12 only."""
    if start.kind == "docker":
        words = start.words()
        return words[start.image + 1 : len(words) - len(start.after)]
    model = start.model()
    words = [Word("--model"), model] if model is not None else []
    return words + [word for part in start.others() for word in part.words]


def _env(start: Start, indent: str) -> list[str]:
    lines = []
    for name, value in start.variables():
        # A pod's variable cannot be made of the variable of the same name outside of it.
        own = value.expands and value.value in (f"${name}", f"${{{name}}}")
        lines += [
            f"{indent}  - name: {scalar(name)}",
            f"{indent}    value: {quoted(f'<{name}>' if own else _in_pod(value))}",
        ]
    return [f"{indent}env:", *lines] if lines else []


def _in_compose(word: Word) -> str:
    """Return a word with a compose file's own meaning of the dollar sign."""
    return word.value if word.expands else word.value.replace("$", "$$")


def _in_pod(word: Word) -> str:
    """Return a word with a pod's own meaning of the dollar sign: ``$(NAME)`` is a variable's value."""
    if word.expands:
        return str(_REFERENCE.sub(lambda found: f"$({found['braced'] or found['plain']})", word.value))
    return word.value.replace("$(", "$$(")


def _image(start: Start, facts: Mapping[str, object]) -> str:
    if start.kind == "docker":
        return start.before[start.image].value
    if start.manifest is not None and (image := start.manifest.image()):
        return str(image)
    found = _RELEASE.match(str(facts.get("vllm_version") or ""))
    tag = f"v{found[1]}" if found else "latest"
    names = {"cuda": "vllm/vllm-openai", "rocm": "vllm/vllm-openai-rocm"}
    platform = _platform(facts)
    return f"{names[platform]}:{tag}" if platform in names else f"vllm-{platform}:{tag}"


def _platform(facts: Mapping[str, object]) -> str:
    return str(facts.get("platform") or "cuda").lower()


def _port(start: Start) -> str:
    return next((part.values[0].value for part in start.others() if part.name == "--port" and part.values), "8000")


def _mounts(start: Start) -> list[str]:
    model = start.model()
    path = model.value if model is not None else ""
    return [_CACHE, *([f"{path}:{path}"] if path.startswith("/") else [])]


def _gpu_resource(facts: Mapping[str, object]) -> str:
    return {"cuda": "nvidia.com/gpu", "rocm": "amd.com/gpu"}.get(_platform(facts), "")


def _gpus(start: Start, facts: Mapping[str, object]) -> int:
    """Return how many GPUs the parallel sizes need: as given, else as the log tells them."""
    count = 1
    given = {part.name[2:].replace("-", "_"): part.values[0].value for part in start.others() if part.values}
    for name in ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"):
        size = given.get(name, str(facts.get(name) or 1))
        count *= max(1, int(size)) if size.isdecimal() else 1
    return count


_LONG = {"--publish": "-p", "--volume": "-v"}


def _docker_options(start: Start) -> dict[str, list[str]]:
    """Return the options of ``docker run`` with their values."""
    found: dict[str, list[str]] = {}
    words = [shown.value for shown in shell_words(start)[: start.image]] if start.kind == "docker" else []
    place = 0
    while place < len(words):
        value = words[place]
        place += 1
        if not value.startswith("-"):
            continue
        name, equals, given = value.partition("=") if value.startswith("--") else (value[:2], value[2:], value[2:])
        if not equals and not takes_no_word(value) and place < len(words):
            given = words[place]
            place += 1
        found.setdefault(_LONG.get(name, name), []).append(given)
    return found
