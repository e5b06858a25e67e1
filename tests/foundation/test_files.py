"""Files that are there whole or not at all."""

import os

import pytest

from coverjax.foundation.checks import InputError
from coverjax.foundation.files import WRITTEN, whole_file, whole_folder, write_durably


class BrokenError(Exception):
    """Something goes wrong half way."""


def break_after(path, text):
    path.write_text(text)
    raise BrokenError


def test_a_file_appears_at_the_end(tmp_path):
    path = tmp_path / "a.txt"
    with whole_file(path) as part:
        part.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_an_error_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(BrokenError), whole_file(path) as part:
        break_after(part, "half")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_folder_is_filled_at_the_end(tmp_path):
    out = tmp_path / "deep" / "out"
    with whole_folder(out) as part:
        (part / "a").write_text("1")
        (part / "b").write_text("2")
        assert not (out / "a").exists()
    assert sorted(os.listdir(out)) == ["a", "b"]


def test_an_error_removes_the_folders_that_were_made(tmp_path):
    with pytest.raises(BrokenError), whole_folder(tmp_path / "deep" / "out") as part:
        break_after(part / "a", "1")
    assert os.listdir(tmp_path) == []


def test_an_error_leaves_what_a_folder_held(tmp_path):
    (tmp_path / "mine").write_text("keep")
    (tmp_path / "a").write_text("old")
    with pytest.raises(BrokenError), whole_folder(tmp_path) as part:
        break_after(part / "a", "new")
    assert (tmp_path / "a").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["a", "mine"]


@pytest.mark.parametrize("opened", [whole_file, whole_folder])
def test_a_place_below_a_file_is_the_users_error(tmp_path, opened):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(InputError, match=r"file/out: must be a place that can be written to; Not a directory"),
        opened(tmp_path / "file" / "out"),
    ):
        pass


def test_a_folder_in_place_of_a_file_is_the_users_error(tmp_path):
    with pytest.raises(InputError, match="must be a file that can be written"), whole_file(tmp_path):
        pass


@pytest.mark.parametrize("opened", [whole_file, whole_folder])
def test_a_full_disk_is_the_users_error_and_leaves_nothing(tmp_path, opened):
    with (
        pytest.raises(InputError, match="No space left on device; choose another or make room"),
        opened(tmp_path / "out"),
    ):
        raise OSError(28, os.strerror(28))
    assert os.listdir(tmp_path) == []


def test_other_faults_of_the_body_stay_what_they_are(tmp_path):
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "out"):
        open(tmp_path / "nothing")  # noqa: SIM115
    assert os.listdir(tmp_path) == []


def test_files_of_an_earlier_run_go_and_those_of_others_stay(tmp_path):
    for name in ("a", "b", "notes"):
        (tmp_path / name).write_text("old")
    with whole_folder(tmp_path, own=("a", "b", "c")) as part:
        (part / "a").write_text("new")
    assert sorted(os.listdir(tmp_path)) == ["a", "notes"]
    assert (tmp_path / "a").read_text() == "new"


def test_an_error_leaves_the_files_of_an_earlier_run(tmp_path):
    (tmp_path / "b").write_text("old")
    with pytest.raises(BrokenError), whole_folder(tmp_path, own=("a", "b")) as part:
        break_after(part / "a", "new")
    assert os.listdir(tmp_path) == ["b"]


def test_what_is_written_is_remembered(tmp_path):
    WRITTEN.clear()
    with whole_file(tmp_path / "f") as part:
        part.write_text("1")
    with whole_folder(tmp_path / "out") as part:
        (part / "a").write_text("1")
        assert [tmp_path / "f"] == WRITTEN
    write_durably(tmp_path / "d", b"1", tmp_path)
    assert [tmp_path / "f", tmp_path / "out" / "a", tmp_path / "d"] == WRITTEN
    with pytest.raises(InputError):
        write_durably(tmp_path / "none" / "d", b"1", tmp_path)
    assert len(WRITTEN) == 3
