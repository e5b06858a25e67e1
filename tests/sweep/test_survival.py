"""A sweep that is killed, at any moment and as often as one likes, ends as if nobody had touched it.

`COVERJAX_SOAK=50 pytest tests/sweep/test_survival.py` (`make soak`) kills fifty times.
"""

import os
import pathlib
import random
import signal
import subprocess
import time

import duckdb
import pytest
from sweep_files import SOAK, command, contents, require_only_whole_parts, write

KILLS = int(os.environ.get("COVERJAX_SOAK", "5"))
PARTS, PATIENCE = 125, 180.0


def started(path: pathlib.Path, out: pathlib.Path, *more: str) -> subprocess.Popen:
    words, variables = command("sweep", str(path), "--out", str(out), *more)
    pipe = subprocess.PIPE
    return subprocess.Popen(words, env=variables, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def finished(path: pathlib.Path, out: pathlib.Path, *more: str) -> str:
    process = started(path, out, *more)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    return errors


def count(out: pathlib.Path) -> int:
    parts = out / "parts"
    return len(list(parts.iterdir())) if parts.is_dir() else 0


def wait_for(process: subprocess.Popen, out: pathlib.Path, parts: int) -> None:
    """Wait until so many parts are there, or the process ended."""
    end = time.monotonic() + PATIENCE
    while count(out) < parts and process.poll() is None:
        assert time.monotonic() < end, f"{count(out)} parts after {PATIENCE} s"
        time.sleep(0.002)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> tuple[pathlib.Path, dict[str, str]]:
    folder = tmp_path_factory.mktemp("undisturbed")
    path = write(folder, SOAK)
    finished(path, folder / "out")
    found = contents(folder / "out")
    assert len(found) == PARTS + 1
    return path, found


@pytest.mark.slow
def test_killed_at_random_moments(undisturbed, tmp_path):
    path, expected = undisturbed
    chance = random.Random(20261130)
    out = tmp_path / "out"
    moments = sorted(chance.randrange(1, len(expected) - 1) for _ in range(KILLS))
    moments[0] = 0  # one before anything is there
    for moment in moments:
        process = started(path, out, "--resume")
        wait_for(process, out, moment)
        time.sleep(chance.random() * 0.05)
        assert process.poll() is None, process.communicate()
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        process.stderr.close()
        if count(out):
            require_only_whole_parts(out)
    finished(path, out, "--resume")
    assert contents(out) == expected
    assert not [file.name for file in out.iterdir() if file.name.startswith(".")]
    twice = "SELECT count(*) FROM (SELECT cell, policy FROM read_parquet(?) GROUP BY ALL HAVING count(*) > 1)"
    assert duckdb.execute(twice, [str(out / "parts" / "*.parquet")]).fetchone() == (0,)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_by_a_signal_it_finishes_what_is_under_way(undisturbed, tmp_path, number):
    path, _ = undisturbed
    out = tmp_path / "out"
    process = started(path, out)
    wait_for(process, out, 2)
    process.send_signal(number)
    output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert output == ""
    assert "stopped by" in errors
    assert "--resume" in errors
    assert 2 <= count(out) < PARTS
    require_only_whole_parts(out)
    assert not (out / "summary.json").exists()


@pytest.mark.slow
def test_a_dead_worker_is_replaced_and_workers_end_with_their_parent(undisturbed, tmp_path):
    path, expected = undisturbed
    out = tmp_path / "out"
    process = started(path, out, "--workers", "2")
    wait_for(process, out, 3)
    workers = children(process.pid)
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    wait_for(process, out, count(out) + 9)  # it was replaced; its part was made again
    workers = children(process.pid)
    assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    end = time.monotonic() + 20
    while any(pathlib.Path(f"/proc/{pid}/stat").exists() and alive(pid) for pid in workers):
        assert time.monotonic() < end, "workers outlive their parent"
        time.sleep(0.05)
    require_only_whole_parts(out)
    finished(path, out, "--resume")
    assert contents(out) == expected


def children(pid: int) -> list[int]:
    """The worker processes of a process."""
    found = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [
        int(child) for child in found if b"spawn_main" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes()
    ]


def alive(pid: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
