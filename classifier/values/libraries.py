"""Where a shared library comes from that the loader does not find: the distribution, or the CUDA packages beside torch."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .worked import Worked

_DEBIAN = {
    "libGL.so.1": "libgl1", "libgthread-2.0.so.0": "libglib2.0-0", "libglib-2.0.so.0": "libglib2.0-0", "libnuma.so.1": "libnuma1",
    "libgomp.so.1": "libgomp1", "libibverbs.so.1": "libibverbs1", "librdmacm.so.1": "librdmacm1", "libsndfile.so.1": "libsndfile1",
    "libtcmalloc_minimal.so.4": "libtcmalloc-minimal4", "libSM.so.6": "libsm6", "libXext.so.6": "libxext6",
    "libXrender.so.1": "libxrender1", "libnl-3.so.200": "libnl-3-200", "libatomic.so.1": "libatomic1", "libstdc++.so.6": "libstdc++6",
    "libffi.so.8": "libffi8", "libsqlite3.so.0": "libsqlite3-0", "libmpi.so.40": "libopenmpi3", "libtbb.so.12": "libtbb12",
}  # fmt: skip
"""Debian's and Ubuntu's packages by library."""
_INSTALLED = re.compile(r"/(?:site|dist)-packages/(?P<module>[A-Za-z_]\w*)[/.][^\n]*\.so")
_KNOWN_MODULES = ("vllm", "torch", "flash_attn", "xformers", "flashinfer", "functorch")
"""Those whose libraries are torch's, or go with it, and whose fixes are written."""
_CUDA = re.compile(
    r"lib(?:cudart|cublas(?:Lt)?|cudnn\w*|cufft|curand|cusolver|cusparse(?:Lt)?|nccl|nvrtc|nvJitLink|cupti|nvshmem\w*)\.so\.?(?P<major>\d+)?"
)


def stray_module(facts: Mapping[str, object]) -> Worked:
    """Return the module whose compiled library does not load, where it is neither vLLM's nor torch's, nor has fixes of its own."""
    path = str(facts.get("library") or facts.get("library2") or "")
    found = _INSTALLED.search(path)
    if found is None or found["module"].startswith(_KNOWN_MODULES):
        return Worked("", "the library is vLLM's, torch's, or no package's")
    return Worked(found["module"], "", {"library": path})


def system_package(facts: Mapping[str, object]) -> Worked:
    """Return the distribution's package that has the missing library; nothing where it is not the distribution's."""
    name = _library(facts)
    package = _DEBIAN.get(name, "")
    return Worked(
        package,
        f"{name} comes with {package} on Debian and Ubuntu"
        if package
        else f"{name or 'it'} is no system library that is known",
    )


def cuda_library(facts: Mapping[str, object]) -> Worked:
    """Return the missing library where it is one of CUDA's, with the CUDA release in its name."""
    name = _library(facts)
    found = _CUDA.match(name)
    if found is None:
        return Worked("", f"{name or 'it'} is none of CUDA's")
    release = (
        f": a build for CUDA {found['major']} looks for it" if found["major"] and name.startswith("libcudart") else ""
    )
    return Worked(name, f"{name} belongs to CUDA{release}")


def _library(facts: Mapping[str, object]) -> str:
    return str(facts.get("library") or facts.get("library2") or "").rpartition("/")[2]
