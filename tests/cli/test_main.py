"""The front door: verbs, exit codes, and how fast help comes."""

import os
import subprocess
import sys
import time
import types

import pytest

import coverjax.cli.main as front
from coverjax._version import __version__
from coverjax.cli.main import main
from coverjax.foundation.checks import InputError
from coverjax.foundation.files import whole_file, whole_folder


@pytest.fixture
def verb(monkeypatch):
    """A verb `test` that does what a test wants."""

    def offer(run):
        module = types.ModuleType("coverjax_test_verb")
        module.run = run
        monkeypatch.setitem(sys.modules, "coverjax_test_verb", module)
        monkeypatch.setitem(front.VERBS, "test", ("coverjax_test_verb", "does what a test wants"))

    return offer


def raising(error):
    def run(argv):
        raise error

    return run


@pytest.mark.parametrize("argv", [[], ["--help"], ["-h"], ["help"]])
def test_help_lists_the_verbs(argv, capsys):
    assert main(argv) == 0
    out, err = capsys.readouterr()
    assert all(f"\n  {verb} " in out for verb in front.VERBS)
    assert err == ""
    assert max(map(len, out.splitlines())) <= 80


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"coverjax {__version__}\n"


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["estimat"], "'estimat' is not a verb of coverjax; did you mean `estimate`?; see coverjax --help"),
        (["--versoin"], "'--versoin' is not an option of coverjax; did you mean `--version`?"),
        (["qqqq"], "'qqqq' is not a verb of coverjax; the verbs are estimate, "),
        (["\x1b[31m\n"], r"'\x1b[31m\n' is not a verb"),
    ],
)
def test_an_unknown_verb_is_one_line_and_the_nearest_name(argv, told, capsys):
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
    assert err.count("\n") == 1


def test_the_verb_gets_its_arguments(verb, capsys):
    seen = []
    verb(seen.extend)
    assert main(["test", "--flag", "x"]) == 0
    assert seen == ["--flag", "x"]


def test_wrong_input_is_one_line(verb, capsys):
    verb(raising(InputError("log.jsonl:3: strategies: must be a list;\ngot 7")))
    assert main(["test"]) == 2
    assert capsys.readouterr().err == "log.jsonl:3: strategies: must be a list; got 7\n"


def test_a_fault_of_ours_is_short_and_says_how_to_report_it(verb, capsys, monkeypatch):
    monkeypatch.delenv("COVERJAX_DEBUG", raising=False)
    verb(raising(ValueError("an index is off")))
    assert main(["test", "--flag"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "a fault of coverjax, not of your input: ValueError: an index is off" in err
    assert "COVERJAX_DEBUG=1" in err
    assert __version__ in err
    assert "coverjax test --flag" in err
    assert "Traceback" not in err


def test_the_traceback_comes_on_demand(verb, capsys, monkeypatch):
    monkeypatch.setenv("COVERJAX_DEBUG", "1")
    verb(raising(RuntimeError("deep")))
    assert main(["test"]) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_an_interrupt_is_130(verb, capsys):
    verb(raising(KeyboardInterrupt()))
    assert main(["test"]) == 130
    assert capsys.readouterr().err == "coverjax: interrupted; nothing was written\n"


def test_what_went_with_a_temporary_folder_was_not_written(verb, capsys, tmp_path):
    def stopped(*_):
        for _ in range(2):  # a checkpoint is written again and again
            with whole_file(tmp_path / "kept") as part:
                part.write_text("1")
        with whole_folder(tmp_path / "out") as folder, whole_file(folder / "model") as part:
            part.write_text("1")
        with whole_folder(tmp_path / "lost") as folder:
            with whole_file(folder / "model") as part:
                part.write_text("1")
            raise KeyboardInterrupt

    verb(stopped)
    assert main(["test"]) == 130
    names = [str(tmp_path / "kept"), str(tmp_path / "out" / "model")]
    assert capsys.readouterr().err == (
        f"coverjax: interrupted; written before that, and whole: {', '.join(names)}\n"
    )


@pytest.mark.parametrize(("code", "expected"), [(0, 0), (None, 0), (2, 2), ("text", 1)])
def test_exits_of_a_verb(verb, code, expected):
    verb(raising(SystemExit(code)))
    assert main(["test"]) == expected


def test_help_loads_nothing_slow_and_comes_at_once():
    code = (
        "import sys; from coverjax.cli.main import main; main(['--help']); "
        "slow = {'jax', 'numpy', 'tyro', 'duckdb', 'matplotlib', 'equinox'}; "
        "print(sorted(slow & set(sys.modules)), file=sys.stderr)"
    )
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        times.append(time.perf_counter() - begun)
        assert done.stderr == "[]\n"
    # 0.03 s on an idle machine; the promise is 0.25 s. The best of three, as other tests run beside this one.
    assert min(times) < 0.25


def test_a_reader_that_goes_away_is_no_fault():
    command = [sys.executable, "-m", "coverjax", "--help"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert done.returncode == 141
    assert done.stderr == ""


def test_a_narrow_alphabet_does_not_end_a_command():
    code = "import sys; from coverjax.cli.main import main; main(['日本'])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert "\\u65e5\\u672c" in done.stderr
