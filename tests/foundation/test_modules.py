"""What a user names as module:name: found in the current folder, and one line whatever is wrong with it."""

import sys

import pytest

from coverjax.foundation.checks import InputError
from coverjax.foundation.modules import named_thing
from coverjax.policy.registry import policy_class


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "named_here.py").write_text("answer = 42\n")
    (tmp_path / "half_written.py").write_text("def broken(:\n")
    (tmp_path / "raising.py").write_text("1 / 0\n")
    yield tmp_path
    for name in ("named_here", "half_written", "raising"):
        sys.modules.pop(name, None)


def test_a_module_of_the_current_folder_is_found_and_the_path_is_left_alone(folder):
    before = list(sys.path)
    assert named_thing("named_here:answer", "thing") == 42
    assert sys.path == before


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (
            "half_written:f",
            r"thing: module 'half_written' must be importable; SyntaxError: .*half_written.py",
        ),
        ("raising:f", "thing: module 'raising' must be importable; ZeroDivisionError: division by zero"),
        ("nowhere_at_all:f", "thing: module 'nowhere_at_all' must be importable; No module named"),
        ("named_here:nothing", "thing: module named_here must hold nothing; it holds none"),
        (".named_here:answer", "thing: must be written module:name; got '.named_here:answer'"),
        ("named_here", "thing: must be written module:name; got 'named_here'"),
    ],
)
def test_what_is_wrong_is_one_line(folder, place, message):
    with pytest.raises(InputError, match=message) as caught:
        named_thing(place, "thing")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("raising:Mine", "policy: module 'raising' must be importable; ZeroDivisionError"),
        ("half_written:Mine", "policy: module 'half_written' must be importable; SyntaxError"),
        ("named_here:answer", "policy: module named_here must hold a class answer; it holds none"),
        (":Mine", "policy: must be written module:Class; got ''"),
        (".named_here:Mine", "policy: must be written module:Class; got '.named_here'"),
    ],
)
def test_policies_too(folder, place, message):
    with pytest.raises(InputError, match=message):
        policy_class(place)
