"""A run that is killed anywhere ends, resumed, with the same bytes."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
import teachable

from coverjax.corrections import Sweep, read_competence, run
from coverjax.corrections.journal import Journal
from coverjax.foundation.checks import InputError

HERE = pathlib.Path(__file__).parent


def finish(cases, path, **options):
    run(cases, teachable.Faithful, workers=0, journal=path, **options)
    return path.read_bytes()


def test_a_file_cut_at_any_byte_is_completed_to_the_same_bytes(make_cases, tmp_path):
    cases = make_cases(5, [2, 3])
    whole = finish(cases, tmp_path / "whole.jsonl")
    header = whole.index(b"\n") + 1
    path, part = tmp_path / "records.jsonl", tmp_path / "unfinished-records.jsonl"
    for size in range(header, len(whole) + 1, 173):
        part.write_bytes(whole[:size])
        assert finish(cases, path, resume=True) == whole
        assert not part.exists()
        path.unlink()


def test_only_what_is_missing_is_run(make_cases, tmp_path):
    cases, path = make_cases(4), tmp_path / "records.jsonl"

    class Stops(teachable.Faithful):
        built = 0

        def __init__(self):
            super().__init__()
            Stops.built += 1
            if Stops.built == 25:  # the third concept, as a concept takes ten
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(cases, Stops, journal=path)
    assert not path.exists()
    with pytest.raises(InputError, match="an unfinished run is there: resume it"):
        run(cases, Stops, journal=path)
    Stops.built = 100
    told = []
    found = run(cases, Stops, journal=path, resume=True, tell=lambda done, units: told.append((done, units)))
    assert Stops.built == 120
    assert told == [(2, 4), (3, 4), (4, 4)]
    assert found.hits.tolist() == [[0, 1, 2, 3, 4]] * 4
    assert read_competence(path).records == found.records
    run(cases, Stops, journal=path, resume=True)
    assert Stops.built == 120


def test_a_run_of_something_else_is_not_gone_on_with(make_cases, tmp_path):
    path = tmp_path / "records.jsonl"
    finish(make_cases(2), path)
    for change in (
        {"cases": make_cases(3)},
        {"cases": make_cases(2), "sweep": Sweep(seed=1)},
        {"cases": make_cases(2), "command": "other"},
    ):
        with pytest.raises(InputError, match=rf"{path}:1: \w+: the run to resume must be the same"):
            finish(change.pop("cases"), path, resume=True, **change)
    assert finish(make_cases(3), path)  # without `resume` a finished run is replaced


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must be the records.jsonl of"),
        ('{"kind": "other"}\n', "must be the records.jsonl of"),
        ("{\n", "malformed JSON"),
        ('{"kind": "corrections", "units": 2}\n{}\n', "must hold 2 records; got 1"),
        ("é", "must be the records.jsonl of"),
    ],
)
def test_a_file_of_no_finished_run_is_refused(tmp_path, text, says):
    path = tmp_path / "records.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=says):
        read_competence(tmp_path)


def test_a_place_that_can_not_be_written_to(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="must be a place that can be written to"):
        Journal(tmp_path / "file" / "records.jsonl", {"units": 0})


def command(folder, *more):
    words = [
        sys.executable,
        "-m",
        "coverjax",
        "corrections",
        "run",
        "cases.jsonl",
        "--system",
        "teachable:Slow",
    ]
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    return subprocess.Popen(
        [*words, "--out", folder, "--workers", "2", *more], stderr=subprocess.PIPE, env=environment
    )


@pytest.mark.slow
def test_a_killed_command_is_completed_to_the_same_bytes(make_cases, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [json.dumps(case) + "\n" for case in make_cases(12)]
    (tmp_path / "cases.jsonl").write_text("".join(lines))
    whole = command("whole")
    broken = command("broken")
    part = tmp_path / "broken" / "unfinished-records.jsonl"
    deadline = time.monotonic() + 60
    while not part.exists() or part.read_bytes().count(b"\n") < 3:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    broken.send_signal(signal.SIGKILL)
    broken.wait(60)
    # The workers hold the pipe as well: it ends when they have ended too.
    broken.communicate(timeout=30)
    assert part.exists()
    resumed = command("broken", "--resume")
    for process in (whole, resumed):
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said.decode()
    files = sorted(path.name for path in (tmp_path / "whole").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "broken").iterdir())
    assert {"records.jsonl", "summary.json", "concepts.csv", "snapshots.csv", "competence.svg"} <= set(files)
    for name in files:
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "broken" / name).read_bytes(), name
