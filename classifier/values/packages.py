"""What pip, or the distribution, calls the package of a module or library that is missing; and which releases have a module of vLLM."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import lru_cache

from ...corpus import modules
from ...corpus.store import HERE
from ..facts.versions import in_range
from ..patterns.lazy import LazyPattern
from .computed import Computed, value

DISTRIBUTIONS = {
    "PIL": "pillow", "attr": "attrs", "bs4": "beautifulsoup4", "cv2": "opencv-python-headless", "cupy": "cupy-cuda12x",
    "dateutil": "python-dateutil", "dotenv": "python-dotenv", "flash_attn": "flash-attn", "flash_attn_2_cuda": "flash-attn",
    "flash_attn_interface": "flash-attn", "flashinfer": "flashinfer-python", "git": "GitPython", "google": "protobuf",
    "jwt": "PyJWT", "mcp": "mcp", "multipart": "python-multipart", "opentelemetry": "opentelemetry-sdk", "pkg_resources": "setuptools",
    "pynvml": "nvidia-ml-py", "python_multipart": "python-multipart", "serial": "pyserial", "skimage": "scikit-image",
    "sklearn": "scikit-learn", "yaml": "PyYAML", "zmq": "pyzmq", "torch_xla": "torch-xla", "tvm_ffi": "apache-tvm-ffi",
    "bnb": "bitsandbytes", "cutlass": "nvidia-cutlass-dsl", "Ray": "ray", "tl": "triton", "xops": "xformers", "init_empty_weights": "accelerate",
    "ipex": "intel-extension-for-pytorch", "ipex_ops": "intel-extension-for-pytorch", "PyTorch": "torch", "OpenCV": "opencv-python-headless",
    "Pillow": "pillow", "pyarrow": "pyarrow",
}  # fmt: skip
"""Modules whose package has another name; elsewhere the names are the same but for dashes, which pip takes as they come."""

NOT_ON_PYPI = frozenset({"amdsmi", "deep_gemm", "habana_frameworks", "transformers_modules"})
"""Modules that no ``pip install`` of their name brings: parts of drivers and SDKs, builds from source, a model's own code."""

_NAMESPACES = frozenset({"google", "opentelemetry", "nvidia", "ruamel", "vllm", "torch"})
"""Folders that several packages share: a part that is missing is a package that is missing."""
_CHECKOUT = LazyPattern(
    r"(?P<folder>(?:/[^/]+){0,12}?/[^/]*(?<![A-Za-z])(?P<module>[A-Za-z]\w{2,40})(?![A-Za-z])[^/]*)/(?P=module)/"
)
"""A package's folder within that of a checkout, which mostly has its name: /opt/acme-tools/tools/…"""
_SPECIFIER = LazyPattern(r"(?:(?:[<>=!~]=?|===)[\w.*+!]{1,40},?){1,4}")


@value
def distribution(facts: Mapping[str, object]) -> Computed:
    """Return the package to install for the module that is missing; ``none`` where none is known to have it.

    Whatever stands under an unknown name on an index would be installed: a module of the user's own is not looked up there.
    """
    module = _module(facts)
    if not module:
        return Computed("", "the log names no module")
    top = module.partition(".")[0]
    if top == "vllm" or top in NOT_ON_PYPI:
        return Computed("none", "")
    name = DISTRIBUTIONS.get(top, top)
    if top not in DISTRIBUTIONS and normal(name) not in packages():
        return Computed("none", f"no list of packages that vLLM or its neighbours ask for has {name}")
    if top not in DISTRIBUTIONS and name[:1].isupper():
        name = name.lower()
    said = (
        f"the module {module} comes with {name}"
        if name.lower().replace("-", "_") != module.lower().replace("-", "_")
        else ""
    )
    return Computed(name, said, {"package": module})


@value
def submodule(facts: Mapping[str, object]) -> Computed:
    """Return the missing module where it is a part of a package: that is installed, in a release without it."""
    module = _module(facts)
    top, _, part = module.partition(".")
    if not part or top in _NAMESPACES or distribution(facts).value in ("", "none"):
        return Computed("", "what is missing is not part of a package")
    return Computed(module, "", {"package": module})


@value
def asking_package(facts: Mapping[str, object]) -> Computed:
    """Return the package in whose code an import failed, where it is a known neighbour of vLLM and not the one asked."""
    owner = str(facts.get("owner") or "")
    name = DISTRIBUTIONS.get(owner, owner)
    if not owner or owner == _module(facts).partition(".")[0] or owner in ("vllm", "torch", "triton"):
        return Computed("", "the import stands in vLLM's own code")
    if owner not in DISTRIBUTIONS and normal(name) not in packages():
        return Computed("", f"{owner} is not a package that vLLM or its neighbours ask for")
    return Computed(name, "", {"owner": owner})


@value
def asking_module(facts: Mapping[str, object]) -> Computed:
    """Return the module of ``asking_package``."""
    found = asking_package(facts)
    return Computed(str(facts["owner"]), "") if found.value else found


@value
def asking_checkout(facts: Mapping[str, object]) -> Computed:
    """Return the folder of the checkout in whose code an import failed: one named after the package within it, not vLLM's."""
    found = _CHECKOUT.match(str(facts.get("frame") or ""))
    if found is None or found["module"] == "vllm" or found["module"] == _module(facts).partition(".")[0]:
        return Computed("", "the import stands in an installed package")
    return Computed(found["folder"], "", {"frame": facts["frame"]})


@value
def requirement(facts: Mapping[str, object]) -> Computed:
    """Return what to give to pip for the missing module: its package, with the versions that the message asks for.

    For an extra of vLLM's that a message names, vLLM with it; ``none`` where no package is known.
    """
    extra = str(facts.get("extra") or "")
    if re.fullmatch(r"\w{1,40}", extra):
        return Computed(f"vllm[{extra}]", "the message names the extra", {"extra": extra})
    found = distribution(facts)
    versions = str(facts.get("asked_versions") or "").rstrip(",")
    if found.value in ("", "none") or not _SPECIFIER.fullmatch(versions):
        return found
    return Computed(found.value + versions, found.formula, {**found.inputs, "asked_versions": versions})


@value
def part_of_vllm(facts: Mapping[str, object]) -> Computed:
    """Return the missing module where it lies within vLLM: the package is there, and not whole."""
    module = _module(facts)
    return Computed(module, "") if module.startswith("vllm.") else Computed("", "the module is not one of vLLM's own")


@value
def vllm_itself(facts: Mapping[str, object]) -> Computed:
    """Return ``vllm`` where that is what is missing."""
    return Computed("vllm", "") if _module(facts) == "vllm" else Computed("", "something else is missing")


@value
def sdk_module(facts: Mapping[str, object]) -> Computed:
    """Return the missing module where it comes with a driver or an SDK, and not from a package index."""
    top = _module(facts).partition(".")[0]
    return Computed(top, "") if top in NOT_ON_PYPI else Computed("", "the module is not known to come with an SDK")


@value
def own_module(facts: Mapping[str, object]) -> Computed:
    """Return the missing module where no known package has it and it is not vLLM's: it may be the user's own."""
    top = _module(facts).partition(".")[0]
    own = distribution(facts).value == "none" and top != "vllm" and top not in NOT_ON_PYPI and re.fullmatch(r"\w+", top)
    return Computed(top, "") if own else Computed("", "the module belongs to a known package, or to vLLM")


def _module(facts: Mapping[str, object]) -> str:
    return str(facts.get("package") or "").strip("'\"`., ")


@lru_cache(1)
def packages() -> frozenset[str]:
    """Return the packages that vLLM's releases ask for or name, and those whose messages the catalogue holds."""
    with open(os.path.join(HERE, "vllm", "packages.json"), encoding="utf-8") as file:  # noqa: PTH118, PTH123 - pathlib is slow to import
        listed = json.load(file)
    catalogue = os.listdir(os.path.join(HERE, "messages"))  # noqa: PTH118, PTH208 - likewise
    return frozenset(normal(name.removesuffix(".tsv")) for name in [*listed, *catalogue, *DISTRIBUTIONS.values()])


def normal(name: str) -> str:
    """Return a package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name.lower())


_DEBIAN = {
    "libGL.so.1": "libgl1", "libgthread-2.0.so.0": "libglib2.0-0", "libglib-2.0.so.0": "libglib2.0-0", "libnuma.so.1": "libnuma1",
    "libgomp.so.1": "libgomp1", "libibverbs.so.1": "libibverbs1", "librdmacm.so.1": "librdmacm1", "libsndfile.so.1": "libsndfile1",
    "libtcmalloc_minimal.so.4": "libtcmalloc-minimal4", "libSM.so.6": "libsm6", "libXext.so.6": "libxext6",
    "libXrender.so.1": "libxrender1", "libnl-3.so.200": "libnl-3-200", "libatomic.so.1": "libatomic1", "libstdc++.so.6": "libstdc++6",
    "libffi.so.8": "libffi8", "libsqlite3.so.0": "libsqlite3-0", "libmpi.so.40": "libopenmpi3", "libtbb.so.12": "libtbb12",
}  # fmt: skip
"""Debian's and Ubuntu's packages by library."""
_INSTALLED = LazyPattern(r"/(?:site|dist)-packages/(?P<module>[A-Za-z_]\w*)[/.][^\n]*\.so")
_KNOWN_MODULES = ("vllm", "torch", "flash_attn", "xformers", "flashinfer", "functorch")
"""Those whose libraries are torch's, or go with it, and whose fixes are written."""
_CUDA = LazyPattern(
    r"lib(?:cudart|cublas(?:Lt)?|cudnn\w*|cufft|curand|cusolver|cusparse(?:Lt)?|nccl|nvrtc|nvJitLink|cupti|nvshmem\w*)\.so\.?(?P<major>\d+)?"
)


@value
def stray_module(facts: Mapping[str, object]) -> Computed:
    """Return the module whose compiled library does not load, where it is neither vLLM's nor torch's, nor has fixes of its own."""
    path = str(facts.get("library") or facts.get("library2") or "")
    found = _INSTALLED.search(path)
    if found is None or found["module"].startswith(_KNOWN_MODULES):
        return Computed("", "the library is vLLM's, torch's, or no package's")
    return Computed(found["module"], "", {"library": path})


@value
def system_package(facts: Mapping[str, object]) -> Computed:
    """Return the distribution's package that has the missing library; nothing where it is not the distribution's."""
    name = _library(facts)
    package = _DEBIAN.get(name, "")
    return Computed(
        package,
        f"{name} comes with {package} on Debian and Ubuntu"
        if package
        else f"{name or 'it'} is not a system library that is known",
    )


@value
def cuda_library(facts: Mapping[str, object]) -> Computed:
    """Return the missing library where it is one of CUDA's, with the CUDA release in its name."""
    name = _library(facts)
    found = _CUDA.match(name)
    if found is None:
        return Computed("", f"{name or 'it'} is none of CUDA's")
    release = (
        f": a build for CUDA {found['major']} looks for it" if found["major"] and name.startswith("libcudart") else ""
    )
    return Computed(name, f"{name} belongs to CUDA{release}")


def _library(facts: Mapping[str, object]) -> str:
    return str(facts.get("library") or facts.get("library2") or "").rpartition("/")[2]


_BUILT = LazyPattern(
    r"vllm\.(?:.*\.)?(?:_\w*|\w+_C|cumem_allocator|spinloop)(?:\..*)?|vllm\.(?:vllm_flash_attn|third_party|grpc|_version)\b.*"
)
"""What is compiled, generated or copied when vLLM is built: no release's sources tell of it."""


@value
def module_last(facts: Mapping[str, object]) -> Computed:
    """Return the last release with the missing module of vLLM, where later ones do without it."""
    return _named(facts, last=True)


@value
def module_first(facts: Mapping[str, object]) -> Computed:
    """Return the first release with the missing module of vLLM, where the installed one may be older."""
    return _named(facts, last=False)


@value
def module_unknown(facts: Mapping[str, object]) -> Computed:
    """Return the missing module where no release has it, and none of vLLM's builds makes it."""
    module = _asked(facts)
    if not module or modules.span(module) is not None:
        return Computed("", "releases of vLLM have the module, or none is missing")
    return Computed(module, f"no release of vLLM from {modules.oldest()} on has it")


def _named(facts: Mapping[str, object], last: bool) -> Computed:
    module = _asked(facts)
    span = modules.span(module) if module and facts.get("owner") != "vllm" else None
    if span is None:
        return Computed("", "the module is none of vLLM's, or vLLM's own code asks for it")
    until = span[1] if span[1] != modules.newest() else ""
    if until or last:
        return Computed(
            until if last else "", f"vLLM has {module} up to {until}" if until else "the newest release has it"
        )
    return Computed(span[0] if span[0] != modules.oldest() else "", f"vLLM has {module} from {span[0]} on")


def _asked(facts: Mapping[str, object]) -> str:
    module = str(facts.get("package") or "").strip("'\"`., ")
    return module if module.startswith("vllm.") and not _BUILT.fullmatch(module) else ""


@value
def hub_client(facts: Mapping[str, object]) -> Computed:
    """Return the hub's command before ``hf``, which came with 0.34 of huggingface_hub: for releases before 0.10."""
    release = str(facts.get("vllm_version") or facts.get("assumed_release") or "")
    old = facts.get("old_hub_client") or in_range(release, "<0.10") is True
    return Computed("huggingface-cli", "") if old else Computed("", "huggingface_hub has hf from 0.34 on")


@value
def hub_auth(facts: Mapping[str, object]) -> Computed:
    """Return the same where ``hf`` has a word more: ``hf auth login``."""
    return hub_client(facts)
