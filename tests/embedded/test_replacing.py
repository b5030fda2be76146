"""A supervisor that replaces its commands one by one, and ends those that are not heard of."""

import os
import signal
from pathlib import Path

import pytest

from tests.embedded.programs import Program, running
from tests.embedded.test_supervisor import SERVE, is_alive
from tests.waiting import eventually

REPLACING = SERVE.replace("grace=1)", "grace=1, replaceable=True)")
# Reports ten times a second, notes its pid and that it was told to leave; files in the folder change that.
REPORT = """
import json, os, signal, socket, sys, time
listener = socket.socket(fileno=int(json.load(sys.stdin)["BOOKPRINT_REPORT_TO"]))
os.chdir(os.environ["HOME_OF_TEST"])
def note(file):
    with open(file, "a") as notes:
        print(os.getpid(), file=notes)
def leave(*_):
    note(sys.argv[1] + ".left")
    sys.exit()
signal.signal(signal.SIGUSR1, leave)
note(sys.argv[1] + ".pids")
broken = os.path.exists("broken")
while True:
    if not os.path.exists(f"silent-{os.getpid()}"):
        listener.send(f"{os.getpid()} {'starting' if broken else 'ready'}".encode())
    time.sleep(0.1)
"""


def waiting(ready: float = 100.0, silent: float = 100.0) -> str:
    """The supervisor, with seconds that it waits for a report; by default no healthy command needs them."""
    deadlines = f"deadlines=Deadlines({ready=}, {silent=}, leaving=100.0)"
    return REPLACING.replace("import Supervisor", "import Deadlines, Supervisor").replace(
        "log=lambda", f"{deadlines}, log=lambda"
    )


def pids(data_dir: Path, file: str) -> list[int]:
    path = data_dir / file
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def started(data_dir: Path) -> list[int]:
    """The pids of the first of both commands, once they run."""
    assert eventually(lambda: all(pids(data_dir, f"{name}.pids") for name in ("one", "two")))
    return [pids(data_dir, f"{name}.pids")[0] for name in ("one", "two")]


def log_of(data_dir: Path) -> list[str]:
    return (data_dir / "serve.log").read_text().splitlines()


def hang_up(program: Program) -> None:
    program.process.send_signal(signal.SIGHUP)


def test_they_are_replaced_one_by_one_and_told_to_leave(data_dir: Path) -> None:
    with running(waiting(), data_dir, REPORT, "one", "two") as program:
        old = started(data_dir)
        hang_up(program)
        assert eventually(lambda: pids(data_dir, "two.left") == [old[1]])
        assert pids(data_dir, "one.left") == [old[0]]
        assert eventually(lambda: not any(map(is_alive, old)))
        new = [pids(data_dir, f"{name}.pids")[-1] for name in ("one", "two")]
        assert all(map(is_alive, new))
        lines = log_of(data_dir)
        order = ["one is started", "one is replaced", "two is started", "two is replaced"]
        assert [line for line in lines if line in order][2:] == order
        # Those that have taken their places are looked after, too.
        os.kill(new[0], signal.SIGKILL)
        assert eventually(lambda: len(pids(data_dir, "one.pids")) == 3)


@pytest.mark.slow
def test_where_the_new_one_does_not_get_ready_the_old_ones_stay(data_dir: Path) -> None:
    with running(waiting(ready=2.0), data_dir, REPORT, "one", "two") as program:
        old = started(data_dir)
        (data_dir / "broken").touch()
        hang_up(program)
        message = "a new process did not get ready; the running processes continue"
        assert eventually(lambda: message in log_of(data_dir))
        assert all(map(is_alive, old))
        assert not is_alive(pids(data_dir, "one.pids")[1])
        assert len(pids(data_dir, "two.pids")) == 1
        (data_dir / "broken").unlink()

        def replaced() -> bool:
            """Asked again and again, as on a busy machine a healthy one may take two seconds, too."""
            hang_up(program)
            return pids(data_dir, "two.left")[:1] == [old[1]]

        assert eventually(replaced)


@pytest.mark.slow
def test_one_that_is_not_heard_of_is_killed_and_started_again(data_dir: Path) -> None:
    with running(waiting(silent=2.0), data_dir, REPORT, "one", "two"):
        [one, two] = started(data_dir)
        (data_dir / f"silent-{one}").touch()
        assert eventually(lambda: len(pids(data_dir, "one.pids")) >= 2)
        # On a busy machine the other may have been silent, too.
        assert is_alive(two) or "two has not reported for 2 s" in log_of(data_dir)
    assert "one has not reported for 2 s" in log_of(data_dir)


@pytest.mark.slow
def test_one_that_cannot_report_may_be_replaced_again_and_again(data_dir: Path) -> None:
    ends = "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit())\n"
    with running(SERVE, data_dir, ends + REPORT, "one") as program:
        for times in range(1, 8):
            assert eventually(lambda n=times: len(pids(data_dir, "one.pids")) == n)  # type: ignore[misc]
            hang_up(program)
        assert program.process.poll() is None
    assert not any("giving up" in line for line in log_of(data_dir))
