"""A supervisor and small child programs that behave well, badly, and not at all."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from psycopg.errors import QueryCanceled
from sqlalchemy.exc import DataError, OperationalError, StatementError

from core.errors import InvalidInput, LeaseLost
from core.jobs.events import Step
from core.settings import Settings
from tests.support.children import at_work
from tests.support.patience import PATIENCE_SECONDS
from worker.lease_heartbeat import LeaseHeartbeat
from worker.supervisor import Ending, Orders, no_reads, supervise

SETTINGS = Settings(job_wall_seconds=PATIENCE_SECONDS, grace_seconds=0.1, sample_seconds=0.05)

PRELUDE = """
import json, os, sys, time
from pathlib import Path
events, answers = channel._events, channel._answers
def say(line): events.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\\n")
"""


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., tuple[Ending, list[Any]]]:
    """Supervises a program that stands in for the sandbox's work; what it recorded and told comes back."""

    def start(
        program: str,
        *,
        beat: Callable[[], bool] = lambda: False,
        record: Callable[[dict[str, Any]], None] | None = None,
        progress: Callable[[Sequence[Step]], None] | None = None,
        opening: Callable[[], None] = no_reads,
        draining: Callable[[], bool] = lambda: False,
        lease_seconds: float = PATIENCE_SECONDS,
        **limits: float,
    ) -> tuple[Ending, list[Any]]:
        seen: list[Any] = []
        orders = Orders(
            record=record or seen.append,
            progress=progress or seen.extend,
            draining=draining,
            opening=opening,
        )
        work = PRELUDE + textwrap.dedent(program)
        with (
            at_work(tmp_path, work),
            LeaseHeartbeat(beat, every_seconds=0.05, lease_seconds=lease_seconds) as pulse,
        ):
            ending = supervise("release", tmp_path, SETTINGS.model_copy(update=limits), pulse, orders)
        return ending, seen

    return start


METER = """
say({"type": "meter", "entry": {"sequence": 3}})
answer = answers.readline()
"""
PROGRESS = """
assert json.loads(answer) == {"recorded": 3}
say({"type": "progress", "stage": "fit", "done": 1, "total": 2})
"""
Run = Callable[..., tuple[Ending, list[Any]]]


def test_messages_are_handed_on_and_a_read_is_answered_after_its_record(run: Run) -> None:
    assert run(METER + PROGRESS) == (Ending.FINISHED, [{"sequence": 3}, ("fit", 1, 2)])


@pytest.mark.parametrize(
    ("program", "ending"),
    [
        ("os._exit(0)", Ending.FINISHED),
        ("os._exit(70)", Ending.FAILED),
        ("os._exit(71)", Ending.MEMORY),
        ("os._exit(72)", Ending.VIOLATION),
        ("raise ValueError('secret')", Ending.FAILED),
        ("os.kill(os.getpid(), 9)", Ending.FAILED),
        ("say(b'no json\\n'); time.sleep(60)", Ending.VIOLATION),
        ("say([1]); time.sleep(60)", Ending.VIOLATION),
        ("say({'type': 'other'}); time.sleep(60)", Ending.VIOLATION),
        ("say({'type': 'meter', 'entry': {}, 'more': 1}); time.sleep(60)", Ending.VIOLATION),
        (
            "say({'type': 'progress', 'stage': 'fit', 'done': 'x', 'total': 1}); time.sleep(60)",
            Ending.VIOLATION,
        ),
    ],
)
def test_endings_of_a_childs_own_making(program: str, ending: Ending, run: Run) -> None:
    assert run(program)[0] is ending


def test_a_child_that_takes_too_long_is_killed(run: Run) -> None:
    assert run("time.sleep(60)", job_wall_seconds=0.3)[0] is Ending.TIME


def test_a_child_that_never_stops_talking_is_killed_in_time_too(run: Run) -> None:
    program = """
    line = json.dumps({"type": "progress", "stage": "fit", "done": 1, "total": 2}).encode() + b"\\n"
    while True:
        say(line * 100)
    """
    assert run(program, job_wall_seconds=0.5)[0] is Ending.TIME


def test_a_child_that_never_reads_its_answers_is_refused(run: Run) -> None:
    program = """
    for sequence in range(100_000):
        say({"type": "meter", "entry": {"sequence": sequence}})
    time.sleep(60)
    """
    assert run(program)[0] is Ending.VIOLATION


def test_everything_that_a_child_said_before_it_ended_is_heard(run: Run) -> None:
    program = """
    for done in range(500):
        say({"type": "progress", "stage": "fit", "done": done, "total": 500})
    """
    ending, seen = run(program)
    assert ending is Ending.FINISHED
    assert seen == [("fit", done, 500) for done in range(500)]


def test_a_heart_that_stops_in_an_unknown_way_loses_the_lease(run: Run) -> None:
    def beat() -> bool:
        raise KeyError("nobody thought of this")

    assert run("time.sleep(60)", beat=beat)[0] is Ending.LOST


def test_a_child_that_takes_too_much_memory_is_killed(run: Run) -> None:
    program = "x = bytearray(300_000_000)\ntime.sleep(60)"
    assert run(program, job_memory_bytes=200_000_000)[0] is Ending.MEMORY


def test_a_cancelled_child_is_killed(run: Run) -> None:
    assert run("time.sleep(60)", beat=lambda: True)[0] is Ending.CANCELLED


def test_a_child_whose_lease_is_lost_is_killed(run: Run) -> None:
    def beat() -> bool:
        raise LeaseLost("gone")

    assert run("time.sleep(60)", beat=beat)[0] is Ending.LOST


def test_a_database_that_stays_away_for_a_lease_loses_it(run: Run) -> None:
    def beat() -> bool:
        raise OperationalError("SELECT 1", {}, Exception("down"))

    assert run("time.sleep(60)", beat=beat, lease_seconds=1.0)[0] is Ending.LOST


STOPPED = [
    pytest.param(LeaseLost("gone"), Ending.LOST, id="lease"),
    pytest.param(OperationalError("INSERT", {}, Exception("down")), Ending.OUTAGE, id="database"),
    # What the database answers may follow from what it was asked: no outage, which would not count.
    pytest.param(DataError("INSERT", {}, Exception("22003")), Ending.LOST, id="refused"),
    pytest.param(OperationalError("UPDATE", {}, QueryCanceled("late")), Ending.LOST, id="timeout"),
]


@pytest.mark.parametrize(("error", "ending"), STOPPED)
def test_a_read_that_could_not_be_recorded_is_never_answered(
    error: Exception, ending: Ending, run: Run, tmp_path: Path
) -> None:
    def record(entry: dict[str, Any]) -> None:
        raise error

    program = METER + "Path('drew').write_text(repr(answer))"
    assert run(program, record=record)[0] is ending
    drew = tmp_path / "drew"
    assert not drew.exists() or drew.read_text() == "b''"


def test_progress_of_a_second_is_told_together_and_the_last_step_always(run: Run) -> None:
    told: list[list[Step]] = []
    program = """
    for done in range(40):
        say({"type": "progress", "stage": "fit", "done": done, "total": 40})
        time.sleep(0.03)
    say({"type": "progress", "stage": "fit", "done": 40, "total": 40})
    """
    began = time.monotonic()
    ending, _ = run(program, progress=lambda steps: told.append(list(steps)))
    took = time.monotonic() - began
    assert ending is Ending.FINISHED
    assert [step.done for steps in told for step in steps] == list(range(41))
    assert len(told) <= 3 + took  # at once, then a second apart, and at the end


def test_what_was_reached_is_told_of_a_child_that_is_stopped(run: Run, tmp_path: Path) -> None:
    """It is stopped once it has said so: what it says in half a second, no machine promises."""
    told: list[Step] = []
    program = """
    for done in range(3):
        say({"type": "progress", "stage": "fit", "done": done, "total": 9})
    Path("said").touch()
    time.sleep(3600)
    """
    said = tmp_path / "said"
    assert run(program, progress=told.extend, draining=said.exists)[0] is Ending.DRAINED
    assert [step.done for step in told] == [0, 1, 2]


def test_progress_that_a_database_does_not_take_costs_no_work(run: Run) -> None:
    def progress(steps: Sequence[Step]) -> None:
        raise OperationalError("UPDATE", {}, Exception("down"))

    assert run(METER + PROGRESS, progress=progress)[0] is Ending.FINISHED


@pytest.mark.parametrize(
    ("error", "ending"), [(LeaseLost("gone"), Ending.LOST), (InvalidInput("digits"), Ending.VIOLATION)]
)
def test_progress_under_a_lost_lease_or_with_free_text_ends_the_work(
    error: Exception, ending: Ending, run: Run
) -> None:
    def progress(steps: Sequence[Step]) -> None:
        raise error

    assert run(METER + PROGRESS + "time.sleep(60)", progress=progress)[0] is ending


OPEN = """
say({"type": "open"})
answer = answers.readline()
Path("opened").write_text(repr(answer))
"""


def test_a_graph_is_opened_after_that_is_durable(run: Run, tmp_path: Path) -> None:
    told: list[str] = []
    assert run(OPEN, opening=lambda: told.append("opening"))[0] is Ending.FINISHED
    assert told == ["opening"]
    assert (tmp_path / "opened").read_text() == repr(b'{"opened": true}\n')


@pytest.mark.parametrize(("error", "ending"), STOPPED)
def test_an_opening_that_is_not_durable_is_never_answered(
    error: Exception, ending: Ending, run: Run, tmp_path: Path
) -> None:
    def opening() -> None:
        raise error

    assert run(OPEN, opening=opening)[0] is ending
    opened = tmp_path / "opened"
    assert not opened.exists() or opened.read_text() == "b''"


def test_a_child_without_a_meter_opens_nothing_through_one(run: Run) -> None:
    assert run(OPEN)[0] is Ending.VIOLATION


@pytest.mark.parametrize(
    "error", [TypeError("no text"), KeyError("x"), StatementError("", "", {}, ValueError())]
)
def test_whatever_a_check_of_the_transcript_raises_is_the_childs_fault(error: Exception, run: Run) -> None:
    def record(entry: dict[str, Any]) -> None:
        raise error

    assert run(METER, record=record)[0] is Ending.VIOLATION


def test_a_message_too_deep_to_be_read_is_the_childs_fault(run: Run) -> None:
    assert run("say(b'[' * 200_000 + b'\\n'); time.sleep(60)")[0] is Ending.VIOLATION


def test_a_draining_worker_gives_the_child_a_grace_and_then_kills_it(run: Run) -> None:
    assert run("time.sleep(60)", draining=lambda: True)[0] is Ending.DRAINED


def test_a_child_that_finishes_within_the_grace_counts(run: Run) -> None:
    assert run("time.sleep(0.2)", draining=lambda: True, grace_seconds=PATIENCE_SECONDS)[0] is Ending.FINISHED


def test_grandchildren_die_with_the_child(run: Run, tmp_path: Path) -> None:
    program = """
    import subprocess
    p = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    Path("written").write_text(str(p.pid))
    Path("written").rename("grandchild")
    time.sleep(60)
    """
    grandchild = tmp_path / "grandchild"
    assert run(program, draining=grandchild.exists)[0] is Ending.DRAINED
    stat = Path(f"/proc/{grandchild.read_text()}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"
