"""Slow, stalled, cannot tell: by the time that goes by, and by what else is seen."""

from __future__ import annotations

from typing import Any

import pytest

from vllm_triage.classifier.standstill.monitor import Monitor
from vllm_triage.classifier.standstill.patience import Patience
from vllm_triage.classifier.standstill.types import ProcessState, Standstill

LINE = b"INFO 11-02 10:00:09 [core.py:58] a step\n"
SAMPLE = (
    b"INFO 11-02 10:01:00 [loggers.py:127] Engine 000: Avg prompt throughput: 9.0 tokens/s, Avg generation throughput: %.1f "
    b"tokens/s, Running: %d reqs, Waiting: 2 reqs, GPU KV cache usage: 9.9%%, Prefix cache hit rate: 0.0%%\n"
)
NOTICE = b"INFO 11-12 09:14:02 [shm_broadcast.py:466] No available shared memory broadcast block found in 60 seconds.\n"
BAR = "\rLoading safetensors checkpoint shards: {0:3}% Completed | {1}/20 [00:0{1}<00:09,  2.00s/it]"
ANSWER = b'INFO:     10.0.0.1:5 - "POST /v1/completions HTTP/1.1" 200 OK\n'
RANK = b"INFO 10-25 13:08:43 [parallel_state.py:1208] rank %d in world size 4 is assigned as DP rank 0, PP rank 0, TP rank 0\n"


class Played:
    """A monitor on a clock of its own."""

    def __init__(self, stage: str = "launch", patience: Patience | None = None) -> None:
        self.monitor = Monitor(patience)
        self.now = 1000.0
        self.said: list[Standstill] = []
        self.comes(LINE)
        self.reaches(stage)

    def comes(self, data: bytes) -> None:
        self._judge()
        self.monitor.observe(data, self.now)

    def reaches(self, stage: str) -> None:
        self.monitor.reach(stage, self.now)

    def waits(self, seconds: float, *states: ProcessState, working: float = 0.0, reading: float = 0.0) -> None:
        """Let time go by, in steps of a second."""
        begun = self.now
        while self.now < begun + seconds:
            self.now += 1.0
            if states:
                grown = tuple(
                    state._replace(
                        cpu_seconds=state.cpu_seconds + working * self.now,
                        read_bytes=state.read_bytes + int(reading * self.now),
                    )
                    for state in states
                )
                self.monitor.see_processes(grown, self.now)
            self._judge()

    def _judge(self) -> None:
        if (state := self.monitor.judge(self.now)) is not None:
            self.said.append(state)

    @property
    def verdicts(self) -> list[str]:
        return [state.verdict for state in self.said]


def process(state: str = "S", pid: int = 7, name: str = "VLLM::EngineCore") -> ProcessState:
    return ProcessState(pid, name, state, 5.0, 1000)


@pytest.mark.parametrize(
    "stage", ["launch", "config", "engine_init", "distributed_init", "weights", "compile", "kv_cache"]
)
def test_silence_alone_is_never_a_stall(stage):
    """Whatever the stage and however long: it cannot be told."""
    played = Played(stage)
    played.waits(20_000)

    assert played.verdicts == ["unclear"]
    assert played.said[0].finding == ""
    assert any("py-spy" in command for command in played.said[0].next)


def test_nothing_is_said_within_the_patience():
    """Healthy starts are not commented on."""
    played = Played("weights")
    played.waits(299)

    assert played.verdicts == []


def test_what_goes_on_again_is_told():
    """And the next silence is judged anew."""
    played = Played("weights")
    played.waits(400)
    played.comes(LINE)
    played.waits(400)

    assert played.verdicts == ["unclear", "moving", "unclear"]
    assert played.said[1].seconds == pytest.approx(400, abs=3)


def test_a_stopped_process_is_a_stall_within_seconds():
    """SIGSTOP, a debugger: there is no work that looks like this."""
    played = Played("weights")
    played.waits(5, process())
    played.waits(9, process("T"))
    assert played.verdicts == []
    played.waits(5, process("T"))

    assert played.verdicts == ["stalled"]
    state = played.said[0]
    assert (state.finding, state.next) == ("stood_still", ("kill -CONT 7",))
    assert "VLLM::EngineCore (pid 7)" in state.evidence[0]


def test_a_debugger_that_stops_for_a_moment_is_none():
    """Ten seconds are needed, without a break."""
    played = Played("weights")
    for _ in range(5):
        played.waits(8, process("T"))
        played.waits(1, process("S"))

    assert played.verdicts == []


def test_a_stopped_process_counts_while_serving_too_whether_or_not_requests_run():
    """The next request would wait for ever."""
    played = Played("serving")
    played.waits(15, process("T"))

    assert [(state.verdict, state.finding) for state in played.said] == [("stalled", "stalled")]


def test_a_silent_start_that_reads_is_slow():
    """A throttled disk: its weights come, if slowly."""
    played = Played("weights")
    played.waits(1000, process(), reading=2e5)

    assert played.verdicts == ["slow"]
    assert "MB/s read" in " ".join(played.said[0].evidence)


def test_a_silent_start_that_computes_is_slow():
    """A throttled compiler."""
    played = Played("compile")
    played.waits(2000, process(), working=0.4)

    assert played.verdicts == ["slow"]


def test_a_silent_start_that_neither_reads_nor_computes_is_stalled():
    """That is more than silence."""
    played = Played("weights")
    played.waits(400, process())

    assert played.verdicts == ["stalled"]


def test_process_groups_compute_while_they_hang():
    """Waiting ranks poll: it is no work there; but it is no proof either."""
    played = Played("distributed_init")
    played.waits(400, process(), working=0.9)

    assert played.verdicts == ["unclear"]


def test_ranks_that_have_not_told_their_place_are_named():
    """Three of four did."""
    played = Played("distributed_init")
    for rank in (0, 1, 3):
        played.comes(RANK % rank)
    played.monitor.know({"world_size": 4})
    played.waits(400)

    assert [(state.verdict, state.finding) for state in played.said] == [("stalled", "silence")]
    assert "of 4 ranks 2 have not reported their place" in played.said[0].evidence


def test_a_progress_bar_that_stands_is_evidence():
    """It moved every two seconds, then for longer than the patience not at all."""
    played = Played("weights")
    for step in range(1, 6):
        played.comes(BAR.format(step * 5, step).encode())
        played.waits(2)
    played.waits(400)

    assert played.verdicts == ["stalled"]
    assert "5 of 20, 2 s for each step so far" in played.said[0].evidence[0]


def test_a_bar_that_moves_seldom_stands_no_sooner():
    """A step took 40 s: 300 s are not many of them."""
    played = Played("weights")
    for step in range(1, 6):
        played.comes(BAR.format(step * 5, step).encode())
        played.waits(40)
    played.waits(310)

    assert "stalled" not in played.verdicts


def test_a_bar_that_is_drawn_again_without_having_moved_is_no_progress():
    """tqdm refreshes it."""
    played = Played("weights")
    for step in (1, 2, 3):
        played.comes(BAR.format(step * 5, step).encode())
        played.waits(2)
    for _ in range(40):
        played.comes(BAR.format(15, 3).encode())
        played.waits(10)

    assert played.verdicts == ["stalled"]


def test_a_bar_that_crawls_is_slow():
    """A download at a trickle: it moves, the rest would take hours."""
    played = Played("weights")
    for step in range(1, 4):
        played.comes(BAR.format(step, step).replace("/20", "/900").encode())
        played.waits(100)

    assert played.verdicts == ["slow"]
    assert "at the rate so far the rest takes" in played.said[0].evidence[0]


def test_notices_that_repeat_are_evidence_and_no_progress():
    """'No available shared memory broadcast block', once a minute, and nothing else."""
    played = Played("kv_cache")
    played.monitor.know({"tensor_parallel_size": 2})
    for _ in range(10):
        played.waits(60)
        played.comes(NOTICE)

    assert played.verdicts == ["stalled"]
    assert "notices of 'No available shared memory broadcast block'" in played.said[0].evidence[0]


@pytest.mark.parametrize("tokens", [50.0, 0.0])
def test_statistics_that_stop_while_requests_run_are_a_stall(tokens):
    """A server at work owes them every ten seconds."""
    played = Played("serving")
    for _ in range(5):
        played.comes(SAMPLE % (50.0, 3))
        played.waits(10)
    played.comes(SAMPLE % (tokens, 3))
    played.waits(59)
    assert played.verdicts == []
    played.waits(10)

    assert [(state.verdict, state.finding) for state in played.said] == [("stalled", "stalled")]
    assert "3 requests ran and 2 waited" in played.said[0].evidence[0]


def test_a_single_line_of_statistics_is_given_more_time():
    """Their interval is not known yet: it may have been set to a minute."""
    played = Played("serving")
    played.comes(SAMPLE % (50.0, 3))
    played.waits(119)
    assert played.verdicts == []
    played.waits(5)

    assert played.verdicts == ["stalled"]


def test_statistics_that_come_seldom_are_waited_for():
    """VLLM_LOG_STATS_INTERVAL=60."""
    played = Played("serving")
    for _ in range(4):
        played.comes(SAMPLE % (50.0, 3))
        played.waits(60)
    played.waits(120)

    assert played.verdicts == []


@pytest.mark.parametrize("last", [SAMPLE % (0.0, 0), (SAMPLE % (50.0, 3)) + ANSWER], ids=["idle", "answered"])
def test_a_server_without_requests_is_silent_for_days(last):
    """None run, or the last was answered after the last line."""
    played = Played("serving")
    played.comes(SAMPLE % (50.0, 3))
    played.waits(10)
    played.comes(last.replace(b"Waiting: 2", b"Waiting: 0"))
    played.waits(1)
    played.comes(ANSWER)
    played.waits(100_000)

    assert played.verdicts == []


def test_a_step_that_computes_may_take_longer():
    """A first compilation in the middle of serving: not called a stall at once."""
    played = Played("serving")
    for _ in range(3):
        played.comes(SAMPLE % (50.0, 3))
        played.waits(10, process(), working=0.9)
    played.waits(100, process(), working=0.9)
    assert played.verdicts == ["unclear"]
    played.waits(200, process(), working=0.9)

    assert played.verdicts == ["unclear", "stalled"]


def test_health_checks_are_no_progress():
    """The front end answers them while the engine hangs."""
    played = Played("kv_cache")
    for _ in range(100):
        played.comes(b'INFO:     10.0.0.1:5 - "GET /health HTTP/1.1" 200 OK\n')
        played.waits(5)

    assert played.verdicts == ["unclear"]


def test_lines_that_go_on_for_too_long_are_slow():
    """It talks, but the stage does not end."""
    played = Played("weights")
    for _ in range(50):
        played.comes(LINE)
        played.waits(20)

    assert played.verdicts == ["slow"]


def test_a_second_start_is_measured_by_the_first():
    """Its weights took 10 s: after 90 s of silence something is to be said."""
    played = Played("weights")
    played.waits(10)
    played.reaches("api_ready")
    played.comes(LINE)
    played.reaches("launch")
    played.reaches("weights")
    played.waits(95)

    assert played.verdicts == ["unclear"]
    assert played.said[0].usual == 10


def test_what_stalled_to_the_end_is_known_then():
    """Also where it went on because it was told to stop; not where it went on by itself."""
    stuck = Played("weights")
    stuck.waits(400, process())
    stuck.monitor.end(stuck.now)
    stopped = Played("weights")
    stopped.waits(400, process())
    stopped.comes(LINE)
    stopped.waits(5)
    stopped.monitor.end(stopped.now)
    went_on = Played("weights")
    went_on.waits(400, process())
    for _ in range(10):
        went_on.comes(LINE)
        went_on.waits(5)
    went_on.monitor.end(went_on.now)
    silent = Played("weights")
    silent.waits(400)
    silent.monitor.end(silent.now)

    found = [one.monitor.stalled_to_the_end(stopped=True) for one in (stuck, stopped, went_on, silent)]
    assert [state.verdict if state else "" for state in found] == ["stalled", "stalled", "", ""]
    assert stuck.monitor.stalled_to_the_end(stopped=False)
    assert not stopped.monitor.stalled_to_the_end(stopped=False)


def test_time_before_the_first_line_is_not_judged():
    """A follower may be started days before the server."""
    monitor = Monitor()

    assert monitor.judge(1e6) is None
    monitor.observe(LINE, 1e6)
    assert monitor.judge(1e6 + 1) is None


def loaded(
    waiting: list[int],
    *,
    running: int = 64,
    tokens: tuple[float, ...] = (900.0,),
    engines: int = 1,
    every: float = 10.0,
) -> list[str]:
    """Return what is said of a server whose queue is that long in lines of statistics that come one after the other."""
    played = Played("serving")
    for step, waits in enumerate(waiting):
        played.waits(every)
        for engine in range(engines):
            played.comes(
                b"INFO 11-02 10:01:00 [loggers.py:127] Engine %03d: Avg prompt throughput: 0.0 tokens/s, Avg generation "
                b"throughput: %.1f tokens/s, Running: %d reqs, Waiting: %d reqs, GPU KV cache usage: 9.9%%, Prefix cache hit "
                b"rate: 0.0%%\n" % (engine, tokens[step % len(tokens)], running, waits if engine == 0 else 0)
            )
        played.comes(ANSWER)
    return [f"{state.verdict}: {' '.join(state.evidence)}" for state in played.said]


def test_a_queue_that_only_grows_is_an_overload() -> None:
    (said,) = loaded([5, 12, 30, 44, 61, 80, 99, 120])
    assert said.startswith("slow: the queue only grows: 5 requests waited, 80 wait 60 s later")
    assert "64 to 64 run" in said
    assert "900 tokens a second (900 before)" in said


def test_one_engine_of_several_may_be_overrun() -> None:
    assert len(loaded([5, 12, 30, 44, 61, 80, 99, 120], engines=2)) == 1


@pytest.mark.parametrize(
    ("waiting", "how"),
    [
        ([5, 12, 30, 44], {}),
        ([5, 12, 30, 44, 61, 80, 99], {"every": 5.0}),
        ([5, 12, 30, 20, 25, 30, 35, 40], {}),
        ([5, 6, 6, 7, 7, 8, 8, 9], {}),
        ([0, 0, 0, 0, 0, 0, 0, 0], {}),
        ([400, 300, 200, 100, 50, 20, 5, 0], {}),
        ([5, 12, 30, 44, 61, 80, 99], {"tokens": (100.0, 150.0, 200.0, 400.0, 600.0, 900.0, 1200.0)}),
    ],
)
def test_bursts_and_queues_that_are_worked_off_are_none(waiting: list[int], how: dict[str, Any]) -> None:
    """Too few lines, too short a time, one step back, a few requests, none, one that shrinks, an engine that catches up."""
    assert loaded(waiting, **how) == []


SIZE = (
    b"INFO 06-01 10:00:00 [weight_utils.py:1108] Filesystem type for checkpoints: NFS. Checkpoint size: %.2f GiB. Available RAM: "
    b"900.00 GiB.\n"
)


@pytest.mark.parametrize(
    ("size", "drawn", "patience", "silent", "verdicts"),
    [
        (40.0, "", None, 1000, []),
        (40.0, "", None, 2200, ["unclear"]),
        (40.0, "", {"weights": 500.0}, 600, ["unclear"]),
        (4.0, "", None, 400, ["unclear"]),
        (40.0, BAR.format(5, 1), None, 400, ["unclear"]),
    ],
)
def test_large_files_may_be_silent_for_longer(
    size: float, drawn: str, patience: dict[str, float] | None, silent: float, verdicts: list[str]
) -> None:
    """As long as a file of that size takes from a very slow disk; of several files, one of them."""
    played = Played("weights", Patience(patience) if patience else None)
    played.comes(SIZE % size)
    if drawn:
        played.comes(drawn.encode())
    played.waits(silent)
    assert played.verdicts == verdicts


def test_slow_shards_are_waited_for_at_their_own_pace() -> None:
    played = Played("weights")
    for shard in range(1, 4):
        played.waits(200)
        played.comes(BAR.format(shard * 5, shard).encode())
    played.said.clear()
    played.waits(500)
    assert played.verdicts == []
    played.waits(300)
    assert played.verdicts == ["unclear"]
