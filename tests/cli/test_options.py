"""Every wrong argument of every verb is one line that names the option, what it must be and what came."""

import dataclasses
import importlib
import pathlib
from typing import Annotated, Literal

import pytest
import tyro

from coverjax.cli.complaints import kinds
from coverjax.cli.main import VERBS
from coverjax.cli.options import parse, parse_with_file
from coverjax.cli.outputs import command_line, flag, plain, positionals
from coverjax.foundation.checks import InputError


@dataclasses.dataclass(frozen=True)
class Toy:
    """A toy."""

    file: Annotated[pathlib.Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="FILE.toml")] = None
    count: int = 3
    share: float = 0.5
    chunk: int | None = None
    kind: Literal["a", "b"] = "a"
    names: tuple[str, ...] = ()
    table: pathlib.Path | None = None
    loud: bool = False


@dataclasses.dataclass(frozen=True)
class Needy:
    """A toy that needs something."""

    place: Annotated[pathlib.Path, tyro.conf.Positional, tyro.conf.arg(metavar="PLACE")]
    size: int


def option_classes():
    found = {}
    for module in dict.fromkeys(module for module, _ in VERBS.values()):
        for name, value in vars(importlib.import_module(module)).items():
            if dataclasses.is_dataclass(value) and name.endswith("Options"):
                found[name] = value
    return found


CLASSES = option_classes()


def wrong(options, argv):
    with pytest.raises(InputError) as raised:
        parse(options, "verb", argv)
    message = str(raised.value)
    assert "\n" not in message
    assert message.startswith("coverjax verb: ")
    assert message.endswith("; see coverjax verb --help")
    return message


def needed(options):
    """Words for what an options class can't do without."""
    words = []
    for field in dataclasses.fields(options):
        if field.default is dataclasses.MISSING:
            words += ["word"] if field.name in positionals(options) else [flag(field.name), "1"]
    return words


@pytest.mark.parametrize("name", CLASSES)
def test_every_option_of_every_verb_refuses_nonsense_in_one_line(name):
    options = CLASSES[name]
    for field, kind in kinds(options).items():
        if field in positionals(options):
            continue
        if kind.type in (int, float) or kind.choices:
            message = wrong(options, [*needed(options), flag(field), "nonsense"])
            assert f"{flag(field)}: must be {kind.words}; got 'nonsense'" in message
    assert "--no-such-thing: is no option" in wrong(options, [*needed(options), "--no-such-thing"])


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--count", "1e3"], "--count: must be a whole number; got '1e3'"),
        (["--chunk", "x"], "--chunk: must be a whole number; got 'x'"),
        (["--share", "half"], "--share: must be a number; got 'half'"),
        (["--kind", "c"], "--kind: must be one of a, b; got 'c'"),
        (["--kind"], "--kind: needs a value, one of a, b"),
        (["--table"], "--table: needs a value, a path"),
        (["--count", "--loud"], "--count: needs a value, a whole number"),
        (["--loud=3"], "--loud: takes no value; got '3'"),
        (["--cuont", "3"], "--cuont: is no option; did you mean --count?"),
        (["--zzz"], "--zzz: is no option; the options are --count, --share"),
        (["--names", "x", "--share=y"], "--share: must be a number; got 'y'"),
        (["one.toml", "two.toml"], "'two.toml': is one word too many: it takes only FILE.toml"),
    ],
)
def test_words_of_complaints(argv, message):
    assert message in wrong(Toy, argv)


def test_what_is_missing_is_named():
    assert "needs PLACE, a path" in wrong(Needy, ["--size", "3"])
    assert "--size: is needed, a whole number" in wrong(Needy, ["here"])


def written(tmp_path, text):
    path = tmp_path / "run.toml"
    path.write_text(text)
    return path


def test_a_flag_wins_over_the_file_even_where_it_is_the_default(tmp_path):
    path = written(tmp_path, 'count = 7\nkind = "b"\nnames = ["x", "y"]\nchunk = 5\ntable = "t.csv"\n')
    told = parse_with_file(Toy, "verb", [str(path)])
    assert (told.count, told.kind, told.names, told.chunk) == (7, "b", ("x", "y"), 5)
    assert told.table == tmp_path / "t.csv"
    told = parse_with_file(Toy, "verb", [str(path), "--count", "3", "--kind", "a", "--names"])
    assert (told.count, told.kind, told.names, told.chunk) == (3, "a", (), 5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("count = true", r"count: must be a whole number; got True"),
        ("count = 1.5", r"count: must be a whole number; got 1.5"),
        ('chunk = "x"', r"chunk: must be a whole number; got 'x'"),
        ('kind = "c"', r"kind: must be one of a, b; got 'c'"),
        ("names = [1]", r"names: must be text; got 1"),
        ("loud = 1", r"loud: must be true or false; got 1"),
        ("table = 3", r"table: must be a path; got 3"),
        ("size = 3", r"size: unknown option; the options are count, share"),
        ("file = 3", r"file: unknown option"),
        ("count = ", r"must be TOML"),
    ],
)
def test_wrong_values_in_a_file(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        parse_with_file(Toy, "verb", [str(written(tmp_path, text))])


def test_numbers_without_a_point_are_numbers(tmp_path):
    assert parse_with_file(Toy, "verb", [str(written(tmp_path, "share = 1"))]).share == 1.0


def test_the_command_names_what_differs_from_the_defaults():
    told = Toy(count=4, names=("x", "y z"), loud=True, table=pathlib.Path("t.csv"))
    words = "coverjax some verb --count 4 --names x 'y z' --table t.csv --loud"
    assert command_line("some verb", told) == words
    assert plain(told)["names"] == ["x", "y z"]
    assert "file" not in plain(told)
    assert command_line("verb", Needy(pathlib.Path("p"), 2)) == "coverjax verb p --size 2"
