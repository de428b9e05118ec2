"""``vllm-triage plan``: text, JSON, exit codes."""

import io
import json
from pathlib import Path

import pytest

from vllm_triage.service.cli.commands.plan import run

CONFIGS = Path(__file__).parents[3] / "classifier" / "sizing" / "configs"


def plan(capsys, name, *words):
    """Run the command on a published config; return exit code and output."""
    code = run(["--model-config", str(CONFIGS / f"{name}.json"), *words])
    return code, capsys.readouterr()


def test_what_fits_is_said_with_its_arithmetic(capsys):
    """Every number of the sum is shown, and the command to start with."""
    code, printed = plan(capsys, "qwen2.5-7b", "--gpu-memory", "24GiB", "--model", "Qwen/Qwen2.5-7B-Instruct")
    assert code == 0
    assert "budget      24.0 GiB × 0.92 = 22.1 GiB" in printed.out
    assert "7.62 billion parameters, 16 bits → 14.18 GiB on a GPU" in printed.out
    assert "28 layers × 4 KV heads × (128 + 128) × 2 bytes = 56 KiB" in printed.out
    assert "✔ It fits with the context of 32768 tokens" in printed.out
    assert "\nvllm serve Qwen/Qwen2.5-7B-Instruct\n" in printed.out


def test_a_context_that_does_not_fit_is_shortened_in_the_command(capsys):
    """Exit code 1: as asked for, the server would not start."""
    code, printed = plan(capsys, "llama-3.1-8b", "--gpu-memory", "24", "--vllm-version", "0.11.0", "-f", "json")
    answer = json.loads(printed.out)
    assert (code, answer["verdict"], answer["max_model_len"]) == (1, "fits_shorter", 131072)
    shortened = answer["max_len_that_fits"] // 16 * 16
    assert answer["command"] == f"vllm serve MODEL --max-model-len {shortened}"
    assert answer["kv_cache_bytes_per_token"] == 131072
    room = answer["gpu_memory_gib"] * 0.9 - answer["weights_gib"] - answer["overhead_gib"]
    assert answer["kv_cache_available_gib"] == pytest.approx(room, abs=0.01)
    assert shortened * 131072 <= answer["kv_cache_available_gib"] * 2**30 < (shortened + 64) * 131072
    assert (
        plan(
            capsys, "llama-3.1-8b", "--gpu-memory", "24", "--vllm-version", "0.11.0", "--max-model-len", str(shortened)
        )[0]
        == 0
    )


def test_what_cannot_fit_says_what_would(capsys):
    """No command is printed where none works."""
    code, printed = plan(capsys, "llama-3.1-70b", "--gpu-memory", "48GiB", "--gpus", "2")
    assert code == 1
    assert "✖ No flag fixes this: weights 131.4 GiB, GPUs 2 × 48.0 GiB." in printed.out
    assert "  4 GPUs of 48.0 GiB: --tensor-parallel-size 4: " in printed.out
    assert "vllm serve" not in printed.out


def test_given_numbers_go_before_estimates(capsys):
    """--weights, --overhead and the options of the server itself."""
    given = [
        "--gpu-memory",
        "40GiB",
        "--gpus",
        "2",
        "--weights",
        "60GiB",
        "--overhead",
        "2GiB",
        "--gpu-memory-utilization",
        "0.95",
    ]
    wanted = [
        "--kv-cache-dtype",
        "fp8",
        "--max-model-len",
        "16384",
        "--max-num-seqs",
        "64",
        "--tensor-parallel-size",
        "2",
    ]
    code, printed = plan(capsys, "qwen2.5-32b", *given, *wanted, "--enforce-eager", "-f", "json")
    answer = json.loads(printed.out)
    assert (code, answer["weights_gib"], answer["overhead_gib"]) == (0, 30.0, 2.0)
    assert answer["kv_cache_available_gib"] == pytest.approx(40 * 0.95 - 30 - 2)
    assert answer["kv_cache_needed_gib"] == 16384 * 64 * 2 * 4 * 128 / 2**30
    assert answer["command"] == (
        "vllm serve MODEL --tensor-parallel-size 2 --max-model-len 16384 --gpu-memory-utilization 0.95 "
        "--kv-cache-dtype fp8 --max-num-seqs 64 --enforce-eager"
    )


def test_weights_of_unknown_width_are_asked_for(capsys, monkeypatch):
    """Exit code 2, and the option that gives the number."""
    config = json.loads((CONFIGS / "llama-3.1-8b.json").read_text()) | {
        "quantization_config": {"quant_method": "quark"}
    }
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(config)))
    assert run(["--model-config", "-", "--gpu-memory", "24GiB"]) == 2
    assert "✖ the width of quark weights is not in the config: give --weights SIZE" in capsys.readouterr().out


def test_a_name_with_a_space_is_quoted(capsys):
    """The command can be pasted."""
    printed = plan(capsys, "qwen2.5-7b", "--gpu-memory", "24", "--model", "my models/qwen")[1]
    assert "vllm serve 'my models/qwen'" in printed.out


def test_what_the_release_does_not_take_is_pointed_out(capsys):
    """nvfp4 came with 0.20: before, the plan says so; options that exist are not mentioned."""
    words = ["--gpu-memory", "24GiB", "--max-model-len", "4096", "--kv-cache-dtype", "nvfp4", "-f", "json"]
    old, new = (
        json.loads(plan(capsys, "qwen2.5-7b", *words, "--vllm-version", version)[1].out)["notes"]
        for version in ("0.11.0", "0.20.2")
    )
    assert [note for note in old if note not in new] == [
        "--kv-cache-dtype of vLLM 0.11.0 takes auto, bfloat16, fp8, fp8_e4m3, fp8_e5m2, fp8_inc; not nvfp4."
    ]
    assert not [note for note in new if "nvfp4" in note]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--gpu-memory", "lots"], "is not a size"),
        (["--gpu-memory", "24GiB", "--gpus", "0"], "not a positive whole number"),
        (["--gpu-memory", "24GiB", "--gpu-memory-utilization", "1.2"], "not a number above 0"),
        (
            ["--gpu-memory", "24GiB", "--kv-cache-dtype", "turboquant_4bit_nc"],
            "how turboquant_4bit_nc lays out the KV cache",
        ),
        (["--gpu-memory", "24GiB", "--tensor-parallel-size", "2"], "2 ranks need as many GPUs"),
        ([], "--gpu-memory"),
    ],
)
def test_misuse_is_exit_code_2(capsys, words, said):
    """With a message that names what is wrong."""
    code, printed = plan(capsys, "llama-3.1-8b", *words)
    assert (code, said in printed.err) == (2, True)


@pytest.mark.parametrize(
    ("text", "said"), [("{", "is not JSON"), ("[]", "holds no model config"), ("{}", "num_hidden_layers")]
)
def test_a_config_that_is_none_is_exit_code_2(capsys, tmp_path, text, said):
    """Broken, of another kind, or empty."""
    path = tmp_path / "config.json"
    path.write_text(text)
    assert run(["--model-config", str(path), "--gpu-memory", "24GiB"]) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_is_not_there_is_exit_code_2(capsys, tmp_path):
    """Its name is in the message."""
    assert run(["--model-config", str(tmp_path / "none.json"), "--gpu-memory", "24GiB"]) == 2
    assert "none.json" in capsys.readouterr().err


def test_a_change_tells_the_room_that_it_gives(capsys):
    """What a plan with that change says itself, not the least that was asked for."""
    _, printed = plan(capsys, "qwen2.5-7b", "--gpu-memory", "16GiB", "-f", "json")
    told = json.loads(printed.out)["changes"][-1]
    _, printed = plan(capsys, "qwen2.5-7b", "--gpu-memory", "16GiB", "--gpus", "2", "-f", "json")
    assert "--tensor-parallel-size 2" in told["change"]
    assert f"a context of {json.loads(printed.out)['max_model_len']} tokens" in told["gives"]


def test_a_gpu_by_its_name(capsys):
    """Its memory and its kernels; what was measured goes before the data sheet."""
    code, printed = plan(capsys, "qwen2.5-7b", "--gpu", "L4")
    assert (code, "L4 has bfloat16, FP8, FlashAttention 2 (compute capability 8.9)." in printed.out) == (0, True)
    assert "1 × 21.9 GiB" in printed.out
    assert "1 × 22.0 GiB" in plan(capsys, "qwen2.5-7b", "--gpu", "L4", "--gpu-memory", "22GiB")[1].out
    assert "which one: A100-40GB, A100-80GB?" in plan(capsys, "qwen2.5-7b", "--gpu", "A100")[1].err
    assert run(["--gpu", "list"]) == 0
    assert "H200" in capsys.readouterr().out


def test_a_model_by_its_name_in_the_cache_of_the_hub(capsys, tmp_path, monkeypatch):
    """Or by its folder; nothing is fetched."""
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    assert run(["acme/harbor", "--gpu", "L4"]) == 2
    assert "is not in the hub's cache" in capsys.readouterr().err
    folder = tmp_path / "hub" / "models--acme--harbor" / "snapshots" / "0f1e"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text((CONFIGS / "qwen2.5-7b.json").read_text())
    assert run(["acme/harbor", "--gpu", "L4"]) == 0
    assert "\nvllm serve acme/harbor\n" in capsys.readouterr().out
    assert run([str(folder), "--gpu", "L4"]) == 0
    assert f"\nvllm serve {folder}\n" in capsys.readouterr().out
