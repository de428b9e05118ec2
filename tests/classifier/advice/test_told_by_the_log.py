"""What the log already shows, holds or excludes is not offered; what follows from it is."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage

_OLD_DRIVER = (
    "RuntimeError: The NVIDIA driver on your system is too old (found version {}). "
    "Please update your GPU driver by downloading and installing a new version"
)
_REFUSED = 'openai.OpenAI(base_url="{}")\nhttpx.ConnectError: [Errno 111] Connection refused\nopenai.APIConnectionError: Connection error.'
_AUDIO = "openai.BadRequestError: Error code: 400 - {'error': {'message': 'Invalid or unsupported audio file.', 'type': 'BadRequestError', 'param': None, 'code': 400}}"
_GATE = """INFO 09-28 21:06:01 [api_server.py:1896] vLLM API server version {release}
INFO 09-28 21:06:02 [__init__.py:742] Resolved architecture: Qwen3MoeForCausalLM
INFO 09-28 21:06:03 [core.py:76] Initializing a V1 LLM engine (v{release}) with config: model='/m/q', tokenizer='/m/q', quantization={method}, seed=0
Traceback (most recent call last):
  File "/usr/lib/python3.12/site-packages/vllm/model_executor/models/qwen3_moe.py", line 574, in load_weights
    param = params_dict[name]
KeyError: 'layers.3.{name}'"""
_ROUTER = """Traceback (most recent call last):
  File "/usr/lib/python3.12/site-packages/vllm/model_executor/layers/linear.py", line 378, in weight_loader
    assert param.size() == loaded_weight.size(), (
AssertionError: Tried to load weights of size torch.Size([{}, 1024])to a parameter of size torch.Size([{}, 1024])"""


def titles(text: str) -> list[str]:
    """Return the titles of the fixes for a log."""
    return [fix.title for fix in triage(text).fixes]


@pytest.mark.parametrize(
    ("text", "present", "missing"),
    [
        (_OLD_DRIVER.format(12040), "Install the last release that was built for CUDA 12", "Install a vLLM build for the CUDA that the driver has"),
        (_OLD_DRIVER.format(11080), "Install a vLLM build for the CUDA that the driver has", "Install the last release that was built for CUDA 12"),
        ("$ docker run --gpus all vllm/vllm-openai:latest --model m/m\n" + _OLD_DRIVER.format(12020), "Take the last image that was built for CUDA 12", "Install the last release that was built for CUDA 12"),
        (_OLD_DRIVER.format(12020) + "\nWe are not allowed to upgrade the host driver here.", "Install the last release that was built for CUDA 12", "Upgrade the NVIDIA driver on the host"),
        (_OLD_DRIVER.format(12020) + "\nI will upgrade the driver tomorrow.", "Upgrade the NVIDIA driver on the host", "Take the last image that was built for CUDA 12"),
        (_REFUSED.format("http://llm.team-a.svc.cluster.local:8000/v1"), "Keep the old pod until the new one has loaded", "In Kubernetes, call the Service and not a pod"),
        (_REFUSED.format("http://10.244.1.7:8000/v1"), "In Kubernetes, call the Service and not a pod", "Keep the old pod until the new one has loaded"),
        (_AUDIO, "Convert the sound before it is sent", "Send the media in the request"),
        (_GATE.format(release="0.10.2", method="gptq_marlin", name="mlp.gate.qzeros"), "Upgrade to the release that gives the router its quantisation", "See whether config.json has a quantization_config, and restore it where it has none"),
        (_GATE.format(release="0.10.2", method="None", name="mlp.experts.w2_weight_scale"), "See whether config.json has a quantization_config, and restore it where it has none", "Upgrade to the release that gives the router its quantisation"),
        (_ROUTER.format(96, 128), "Set the number of experts to that of the files", "Make config.json and weights agree"),
        (_ROUTER.format(32000, 32002), "Make config.json and weights agree", "Set the number of experts to that of the files"),
    ],
)  # fmt: skip
def test_what_is_told_decides(text: str, present: str, missing: str) -> None:
    found = titles(text)
    assert present in found
    assert missing not in found
