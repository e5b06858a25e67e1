"""`coverjax sweep`: what it prints, what it writes, how it ends."""

import json
import signal

import pytest
from sweep_files import SMALL, write

from coverjax.cli.main import main
from coverjax.sweep import runner

TINY = SMALL.replace(', "LatentNoRepeat"', ', "BaseNoRepeat"')


def run(capsys, *words) -> tuple[int, str, str]:
    code = main(["sweep", *map(str, words)])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def path(tmp_path):
    return write(tmp_path, TINY)


def test_a_dry_run_counts_and_writes_nothing(capsys, path, tmp_path):
    code, out, err = run(capsys, path, "--out", tmp_path / "out", "--dry-run")
    assert (code, err) == (0, "")
    assert "10 cells x 3 policies = 30 rows, exact" in out
    assert "eps (5), imbalance (2)" in out
    assert not (tmp_path / "out").exists()
    code, out, _ = run(capsys, path, "--dry-run", "--json")
    told = json.loads(out)
    assert (told["cells"], told["rows"], told["parts"], told["structures"]) == (10, 30, 3, 1)


def test_a_sweep_from_file_to_figures(capsys, path, tmp_path):
    out = tmp_path / "out"
    code, printed, err = run(capsys, path, "--out", out)
    assert code == 0
    assert "sweep of 10 cells x 3 policies" in printed
    assert "10 cells, 10 made now" in err
    names = sorted(file.name for file in out.iterdir())
    assert names == ["figures", "manifest.json", "parts", "report.html", "summary.json"]
    assert "sweep of 10 cells" in (out / "report.html").read_text().lower()
    assert sorted(file.name for file in (out / "figures").iterdir()) == ["gain.png", "gain.svg"]
    before = {file: file.read_bytes() for file in out.rglob("*") if file.is_file()}
    code, document, err = run(capsys, path, "--out", out, "--resume", "--json")
    assert code == 0
    assert "10 cells, 0 made now" in err
    assert json.loads(document)["cells"] == 10
    assert document == (out / "summary.json").read_text()
    assert {file: file.read_bytes() for file in out.rglob("*") if file.is_file()} == before
    code, printed, err = run(capsys, path, "--out", out)
    assert (code, printed) == (2, "")
    assert err.count("\n") == 1
    assert "a sweep is there already; go on with it by --resume" in err


def test_figures_of_an_earlier_run_go(capsys, path, tmp_path):
    """A summary beside figures that are not its own would be taken for theirs."""
    out = tmp_path / "out"
    assert run(capsys, path, "--out", out)[0] == 0
    for name in ("regimes.png", "regimes.svg", "mine.png"):
        (out / "figures" / name).write_bytes(b"earlier")
    assert run(capsys, path, "--out", out, "--resume")[0] == 0
    names = sorted(file.name for file in (out / "figures").iterdir())
    assert names == ["gain.png", "gain.svg", "mine.png"]
    assert "regimes" not in (out / "report.html").read_text()


def test_a_signal_ends_with_what_is_done(capsys, path, tmp_path, monkeypatch):
    real = runner.Store.write

    def write_and_stop(self, part, content):
        real(self, part, content)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(runner.Store, "write", write_and_stop)
    code, printed, err = run(capsys, path, "--out", tmp_path / "out")
    assert (code, printed) == (128 + signal.SIGTERM, "")
    assert "stopped by SIGTERM after 4 of 10 cells; go on with the same command and --resume" in err
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    monkeypatch.undo()
    assert run(capsys, path, "--out", tmp_path / "out", "--resume")[0] == 0


def test_a_second_interrupt_drops_what_is_under_way(capsys, path, tmp_path, monkeypatch):
    def twice(self, part, content):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(runner.Store, "write", twice)
    code, printed, err = run(capsys, path, "--out", tmp_path / "out")
    assert (code, printed) == (130, "")
    assert "interrupted; what is done is kept: go on with" in err
    assert not list((tmp_path / "out" / "parts").iterdir())
    assert not (tmp_path / "out" / ".lock").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.toml"], "none.toml: can't be read"),
        (["FILE", "--workers", "0"], "workers: must be at least 1"),
        (["FILE", "--workers", "x"], "--workers"),
        ([], "FILE"),
    ],
)
def test_what_is_wrong_is_one_line(capsys, path, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *(path if word == "FILE" else word for word in words))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert message in err


def test_figures_over_a_setting_that_does_not_vary(capsys, tmp_path):
    path = write(tmp_path, TINY + "[figures]\nx = 'budget'\n")
    code, _, err = run(capsys, path, "--out", tmp_path / "out")
    assert code == 2
    assert ":12: figures.x: budget has one value in this sweep; varied: eps, imbalance" in err
    assert not (tmp_path / "out").exists()
