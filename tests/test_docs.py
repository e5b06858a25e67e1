"""What stands in README and docs is so: commands parse or run, targets exist, links lead somewhere."""

import importlib.util
import json
import pathlib
import re
import shlex

import pytest
import tyro

from coverjax.cli import main as command

ROOT = pathlib.Path(__file__).parents[1]
FOLDERS = ("docs", "benchmarks")
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += [page for folder in FOLDERS for page in sorted((ROOT / folder).glob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


class ParsedError(BaseException):
    """Stands for: the arguments were understood. No `Exception`, so that nothing on the way catches it."""


def shell_lines(text: str) -> list[str]:
    """Return the commands of the shell blocks: continued lines joined, comments and variables taken off."""
    lines = []
    for block in re.findall(r"```sh\n(.*?)```", text, re.S):
        for line in block.replace("\\\n", " ").splitlines():
            words = line.split("#")[0].strip()
            lines += [words] if words else []
    return lines


def commands(page: pathlib.Path, tool: str) -> list[str]:
    found = [re.sub(r"^(\w+=\S+ )+", "", line) for line in shell_lines(page.read_text())]
    return [line for line in found if line.split()[0] == tool]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_command_is_understood(page, monkeypatch, capsys):
    """The options of each are read as on the command line; nothing is computed."""
    real = tyro.cli

    def reads(*arguments, **settings):
        real(*arguments, **settings)
        raise ParsedError

    monkeypatch.setattr(tyro, "cli", reads)
    for line in commands(page, "coverjax"):
        words = shlex.split(line)[1:]
        if words and words[0] in command.VERBS and "|" not in words:
            try:
                code = command.main(words)
            except ParsedError:
                continue
            pytest.fail(f"{line}: exit {code}: {capsys.readouterr().err}")


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_target_is_in_the_makefile(page):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    for line in commands(page, "make"):
        assert line.split()[1] in targets, line


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_program_that_is_named_is_there(page):
    for module in re.findall(r"python -m ((?:benchmarks|tools)[.\w]*)", page.read_text()):
        place = ROOT.joinpath(*module.split("."))
        assert place.with_suffix(".py").exists() or (place / "__main__.py").exists(), module


def test_examples_in_pages_are_doctests():
    """A Python block without a prompt would never be run."""
    for page in PAGES:
        for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.S):
            # A script for several machines, and a fragment of a verb, can't be run by themselves.
            runs = ">>> " in block or "jax.distributed" in block or "write_page(page, part)" in block
            assert runs, f"{page.name}: a block that nothing runs: {block[:60]!r}"


def test_the_command_reference_is_current():
    place = importlib.util.spec_from_file_location("reference", ROOT / "tools" / "command_reference.py")
    tool = importlib.util.module_from_spec(place)
    place.loader.exec_module(tool)
    current = tool.PLACE.read_text(encoding="utf-8") == tool.reference()
    assert current, "docs/command-reference.md is not current: run python tools/command_reference.py"


def test_the_readme_s_own_log_becomes_a_page(tmp_path, monkeypatch, capsys):
    """As a new user would: the files as they stand there, the command as it stands there."""
    text = (ROOT / "README.md").read_text()
    log = re.search(r"```text\n(\{\"input\".*?)```", text, re.S).group(1)
    (tmp_path / "log.jsonl").write_text(log)
    declared = re.search(r"```text\n(input,strategy\n.*?)```", text, re.S).group(1)
    (tmp_path / "strategies.csv").write_text(declared)
    line = next(line for line in commands(ROOT / "README.md", "coverjax") if "estimate log.jsonl" in line)
    monkeypatch.chdir(tmp_path)
    assert command.main(shlex.split(line)[1:]) == 0
    capsys.readouterr()
    out = pathlib.Path(shlex.split(line)[-1])
    assert {"report.html", "summary.json", "coverage.svg"} <= {path.name for path in out.iterdir()}


@pytest.mark.slow
def test_the_readme_s_table_is_what_its_command_says(monkeypatch, capsys):
    text = (ROOT / "README.md").read_text()
    line = next(line for line in commands(ROOT / "README.md", "coverjax") if "uneven.csv" in line)
    monkeypatch.chdir(ROOT)
    assert command.main([*shlex.split(line.split(" --out")[0])[1:], "--json"]) == 0
    found = {line["policy"]: line for line in json.loads(capsys.readouterr().out)["policies"]}
    rows = re.findall(r"^\| (\w+): .* \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+)", text, re.M)
    assert len(rows) == 4
    for name, area, gain, last, mean in rows:
        whole = found[name]["time_to_coverage"]["1"]["restricted_mean"]
        told = [
            found[name]["auc"],
            found[name]["gain"]["pooled"],
            found[name]["curves"]["coverage"][-1],
            whole,
        ]
        for value, shown in zip(told, (area, gain, last, mean), strict=True):
            places = len(shown.partition(".")[2])
            assert f"{value:.{places}f}" == shown, (name, value, shown)
