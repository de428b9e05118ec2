"""First fixes by what a log tells of the hub's answer, NCCL's interfaces, the container's options and the kind of the model."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage
from vllm_triage.classifier.values import COMPUTED

GATED = """OSError: You are trying to access a gated repo.
Make sure to have access to it at https://huggingface.co/acme/secret-7b.
{} Client Error. (Request ID: Root=1-5b2e6a3c)
Cannot access gated repo for url https://huggingface.co/acme/secret-7b/resolve/main/config.json.
{}
"""
LOG_IN = "Access to model acme/secret-7b is restricted. You must have access to it and be authenticated to access it. Please log in."
NOT_LISTED = "Access to model acme/secret-7b is restricted and you are not in the authorized list. Visit https://huggingface.co/acme/secret-7b to ask for access."
NO_TEMPLATE = "ValueError: As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat template if the tokenizer does not define one."
TIMED_OUT = (
    "[rank0]:[E611 15:13:54.2 ProcessGroupNCCL.cpp:683] [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600024 milliseconds before timing out."
)
SYSTEM_ERROR = "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)"


def first(text: str) -> str:
    return triage(text).fixes[0].title


@pytest.mark.parametrize(
    ("status", "said", "expected"),
    [("401", LOG_IN, "Give the server process the token"), ("403", NOT_LISTED, "Accept the terms")],
)
def test_an_unknown_caller_needs_the_token_a_known_one_the_grant(status: str, said: str, expected: str) -> None:
    assert first(GATED.format(status, said)).startswith(expected)


def test_a_second_try_that_is_refused_with_a_token_counts() -> None:
    assert first(GATED.format("401", LOG_IN) + "\nwith the token:\n" + GATED.format("403", NOT_LISTED)).startswith(
        "Accept the terms"
    )


@pytest.mark.parametrize(
    "name", ["HUGGING_FACE_HUB_TOKEN_FILE", "HF_API_TOKEN", "HUGGINGFACE_TOKEN", "HUGGINGFACEHUB_API_TOKEN"]
)
def test_a_variable_that_the_client_does_not_read_is_told(name: str) -> None:
    answer = triage(GATED.format("401", LOG_IN) + f"\nenv:\n  - name: {name}\n    value: /run/secrets/x\n")
    assert answer.fixes[0].title == "Give the token by a variable that the hub's client reads"


@pytest.mark.parametrize("name", ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"])
def test_a_variable_that_the_client_reads_is_not_told_to_be_wrong(name: str) -> None:
    answer = triage(
        GATED.format("401", LOG_IN)
        + f"\nenv:\n  - name: {name}\n    valueFrom: {{secretKeyRef: {{name: hf, key: HUGGINGFACE_TOKEN}}}}\n"
    )
    assert all("variable that" not in fix.title for fix in answer.fixes)


@pytest.mark.parametrize("interface", ["docker0", "br-5f3a", "virbr0", "veth12", "tailscale0"])
def test_an_interface_that_the_nodes_do_not_share_is_left_out_first(interface: str) -> None:
    lines = f"$ vllm serve acme/big --tensor-parallel-size 8 --nnodes 2 --node-rank 0\na:1:1 [0] NCCL INFO Bootstrap: Using eth0:10.0.7.11<0>\na:1:1 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.7.11<0> [1]{interface}:172.18.0.1<0>\n"
    assert "interface" in first(lines + TIMED_OUT)
    assert "interface" in first(lines + SYSTEM_ERROR)


@pytest.mark.parametrize("start", ["--nnodes 2 --node-rank 0", ""])
def test_interfaces_matter_only_between_nodes_and_where_one_is_wrong(start: str) -> None:
    wrong = "" if start else " [1]docker0:172.17.0.1<0>"
    lines = f"$ vllm serve acme/big --tensor-parallel-size 8 {start}\na:1:1 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.7.11<0>{wrong}\n"
    assert "interface" not in first(lines + TIMED_OUT)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            "podman run --device nvidia.com/gpu=all vllm/vllm-openai:v0.9.1 --model acme/big --tensor-parallel-size 4",
            "Give the container more shared memory",
        ),
        (
            "docker run --gpus all --shm-size 16g vllm/vllm-openai:v0.9.1 --model acme/big --tensor-parallel-size 4",
            "Let NCCL name the resource",
        ),
        (
            "docker run --gpus all --ipc=host vllm/vllm-openai:v0.9.1 --model acme/big --tensor-parallel-size 4",
            "Let NCCL name the resource",
        ),
        ("docker run --gpus all vllm/vllm-openai:v0.9.1 --model acme/big", "Let NCCL name the resource"),
        ("vllm serve acme/big --tensor-parallel-size 4", "Let NCCL name the resource"),
    ],
)
def test_a_container_without_shared_memory_gets_it_before_a_diagnosis(given: str, expected: str) -> None:
    answer = triage(f"{given}\n\n{SYSTEM_ERROR}")
    assert answer.fixes[0].title == expected
    assert ("--ipc=host" in given) is not any("shared memory" in fix.title for fix in answer.fixes)


@pytest.mark.parametrize(
    ("model", "variant"),
    [
        ("mistralai/Mistral-7B-v0.3", "mistralai/Mistral-7B-Instruct-v0.3"),
        ("mistralai/Mixtral-8x7B-v0.1", "mistralai/Mixtral-8x7B-Instruct-v0.1"),
        ("meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B-Instruct"),
        ("meta-llama/Llama-2-7b-hf", "meta-llama/Llama-2-7b-chat-hf"),
        ("google/gemma-2-2b", "google/gemma-2-2b-it"),
        ("google/gemma-3n-E4B", "google/gemma-3n-E4B-it"),
        ("Qwen/Qwen2-7B", "Qwen/Qwen2-7B-Instruct"),
        ("Qwen/Qwen1.5-MoE-A2.7B", "Qwen/Qwen1.5-MoE-A2.7B-Chat"),
    ],
)
def test_a_vendors_base_model_is_replaced_by_the_one_trained_on_chats(model: str, variant: str) -> None:
    fixes = triage(f"$ vllm serve {model}\n{NO_TEMPLATE}").fixes
    assert fixes[0].title == "Serve the instruction-tuned variant"
    assert variant in (fixes[0].change or "")


@pytest.mark.parametrize(
    "model", ["/models/my-finetune", "acme/Mistral-7B-v0.3", "mistralai/Mistral-7B-Instruct-v0.3", "deepseek-ai/DeepSeek-V3.2-Exp", "google/gemma-2-2b-it", "Qwen/Qwen3-8B"]
)  # fmt: skip
def test_a_model_of_another_kind_needs_its_template(model: str) -> None:
    assert first(f"$ vllm serve {model}\n{NO_TEMPLATE}") == "Give the server a chat template"


UPSTREAM = '2026/02/03 09:32:18 [error] 41#41: *8 upstream timed out (110: Operation timed out) while reading response header from upstream, client: 10.8.4.2, request: "POST /v1/chat/completions HTTP/1.1"'
PAGE = "openai.InternalServerError: <html>\n<head><title>504 Gateway Time-out</title></head>\n<body>\n<center><h1>504 Gateway Time-out</h1></center>\n</body>\n</html>"


@pytest.mark.parametrize("said", [UPSTREAM, PAGE, "HTTP/1.1 504\nupstream request timeout"])
def test_a_proxy_that_gives_up_is_not_the_client(said: str) -> None:
    answer = triage(said)
    assert answer.cause == "client_connection/proxy_timeout"
    assert "proxy_read_timeout" in (answer.fixes[0].change or "")
    assert all("client's time-out" not in fix.title for fix in answer.fixes)


@pytest.mark.parametrize("around", ["ingress-nginx:\n", "our ingress, access log:\n"])
def test_an_ingress_is_told_by_annotations(around: str) -> None:
    answer = triage(f"{around}{UPSTREAM}\n{PAGE}\n<center>nginx</center>")
    assert "nginx.ingress.kubernetes.io/proxy-read-timeout" in (answer.fixes[0].change or "")


def test_a_client_that_gives_up_is_the_client() -> None:
    answer = triage("openai.APITimeoutError: Request timed out.")
    assert (answer.cause, answer.fixes[0].title) == ("client_connection/client_timeout", "Raise the client's time-out")


def test_adapters_keep_the_model_that_they_are_made_for() -> None:
    facts = {"model": "mistralai/Mistral-7B-v0.3", "arguments": {"enable_lora": True}}
    assert COMPUTED["instruct_variant"](facts) == ""
    assert COMPUTED["instruct_variant"]({**facts, "arguments": {}}) == "mistralai/Mistral-7B-Instruct-v0.3"
