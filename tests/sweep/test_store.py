"""The folder of a sweep: what is damaged, strange or another's is noticed, and never merged."""

import errno
import fcntl
import json
import os
import pathlib
import shutil

import pytest
from sweep_files import SMALL, contents, require_only_whole_parts, write

from coverjax.foundation.checks import InputError
from coverjax.sweep import manifest as manifests
from coverjax.sweep import read_sweep, read_table, run_sweep, store

TINY = SMALL.replace(', "LatentNoRepeat"', ', "BaseNoRepeat"')


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("done")
    run_sweep(read_sweep(write(folder, TINY)), folder / "out")
    return folder / "out"


@pytest.fixture
def sweep(tmp_path):
    return read_sweep(write(tmp_path, TINY))


@pytest.fixture
def copy(done, tmp_path) -> pathlib.Path:
    return pathlib.Path(shutil.copytree(done, tmp_path / "out"))


def parts(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted((folder / "parts").iterdir())


def test_what_is_missing_is_made_again_with_the_same_bytes(sweep, done, copy):
    parts(copy)[1].unlink()
    found = run_sweep(sweep, copy, resume=True)
    assert (found.made, found.done, found.cells, found.complete) == (4, 10, 10, True)
    assert contents(copy) == contents(done)
    again = run_sweep(sweep, copy, resume=True)
    assert (again.made, again.compilations) == (0, 0)


@pytest.mark.parametrize("damage", ["a flipped bit", "cut off", "empty", "another sweep's", "another part's"])
def test_a_damaged_part_is_set_aside_and_made_again(sweep, done, copy, damage):
    victim = parts(copy)[0]
    content = bytearray(victim.read_bytes())
    if damage == "a flipped bit":
        content[len(content) // 2] ^= 1
        victim.write_bytes(content)
    elif damage == "cut off":
        victim.write_bytes(content[:-100])
    elif damage == "empty":
        victim.write_bytes(b"")
    elif damage == "another sweep's":
        victim.rename(copy / "parts" / store.part_name("f" * 64, "part-000000", bytes(content)))
    else:
        victim.write_bytes(parts(copy)[1].read_bytes())
    with pytest.raises(InputError, match="is damaged or of another one"):
        read_table(copy)
    lines: list[str] = []
    found = run_sweep(sweep, copy, resume=True, tell=lines.append)
    assert found.made == 4
    assert lines == [f"{copy}: damaged and made again: {found.repaired[0]}"]
    assert contents(copy) == contents(done)
    assert (copy / f".damaged-{found.repaired[0]}").exists()


def test_one_part_under_two_names_is_there_once(sweep, done, copy):
    shutil.copy(parts(copy)[0], copy / "parts" / "part-000000-0123456789abcdef.parquet")
    assert run_sweep(sweep, copy, resume=True).repaired == ["part-000000-0123456789abcdef.parquet"]
    assert contents(copy) == contents(done)


@pytest.mark.parametrize(
    "place", ["mine.parquet", "parts/mine.parquet", "parts/part-000000.parquet", "parts/x/"]
)
def test_a_strange_file_is_refused_and_left_alone(sweep, copy, place):
    before = contents(copy)
    path = copy / place
    if place.endswith("/"):
        path.mkdir()
    else:
        path.write_bytes(b"mine")
    with pytest.raises(
        InputError, match=rf"hold nothing but a sweep; found {place.rstrip('/')}: move it away"
    ):
        run_sweep(sweep, copy, resume=True)
    assert path.exists()
    path.rmdir() if path.is_dir() else path.unlink()
    assert contents(copy) == before


def test_a_folder_of_something_else_is_refused(sweep, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("x")
    with pytest.raises(InputError, match=r"must be a new folder.*found chapter.txt"):
        run_sweep(sweep, tmp_path / "thesis")
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["chapter.txt"]


def test_a_sweep_that_is_there_needs_resume(sweep, copy):
    with pytest.raises(InputError, match="a sweep is there already; go on with it by --resume"):
        run_sweep(sweep, copy)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0.4", "0.5", r"manifest.json: axes.eps: .* it was \[0.0, 0.1.*now it is \[0.0, 0.125"),
        ("budget = 6", "budget = 7", r"budget: .* it was 6, now it is 7"),
        ("part = 4", "part = 5", r"part: .* it was 4, now it is 5"),
        ('"IID", ', "", r"policies: .* it was \['IID'"),
        ("budget = 6", "budget = 6\ntrials = 3", r"trials: .* it was None, now it is 3"),
        ("imbalance = [0.0, 1.0]", "imbalance = [0.0]", r"axes.imbalance: .*it was \[0.0, 1.0\]"),
        ("budget = 6\n", "", r"budget: .* it was 6, now it is 64"),
    ],
)
def test_another_sweep_is_refused_with_the_difference(copy, tmp_path, old, new, message):
    changed = read_sweep(write(tmp_path, TINY.replace(old, new), "other.toml"))
    before = contents(copy)
    with pytest.raises(InputError, match=message) as caught:
        run_sweep(changed, copy, resume=True)
    assert "use the file of that sweep, or another folder" in str(caught.value)
    assert contents(copy) == before


def test_axes_in_another_order_are_another_sweep(copy, tmp_path):
    lines = TINY.strip().splitlines()
    swapped = "\n".join([*lines[:-2], lines[-1], lines[-2]])
    with pytest.raises(InputError, match=r"axes: .* it was \['eps', 'imbalance'\], now it is \['imbalance'"):
        run_sweep(read_sweep(write(tmp_path, swapped, "other.toml")), copy, resume=True)


@pytest.mark.parametrize(("name", "place"), [("jax", "versions"), ("coverjax", "versions"), ("device", "")])
def test_another_version_is_refused(sweep, copy, name, place):
    path = copy / "manifest.json"
    told = json.loads(path.read_text())
    (told[place] if place else told)[name] = "another"
    path.write_text(json.dumps(told))
    with pytest.raises(
        InputError, match=rf"manifest.json: {name}: must be another, which the sweep was begun"
    ):
        run_sweep(sweep, copy, resume=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "must be the manifest that `coverjax sweep` wrote"),
        ('{"kind": "x"}', "must be the manifest that `coverjax sweep` wrote"),
        (None, "parts without a manifest are there"),
    ],
)
def test_a_manifest_that_is_none(sweep, copy, text, message):
    path = copy / "manifest.json"
    path.unlink() if text is None else path.write_text(text)
    with pytest.raises(InputError, match=message):
        run_sweep(sweep, copy, resume=True)


def test_a_manifest_changed_by_hand_is_noticed(sweep, copy):
    told = manifests.read_manifest(copy)
    told["layout"] = "x"
    manifests.write_manifest(copy, told)
    with pytest.raises(InputError, match="layout: was changed by hand"):
        run_sweep(sweep, copy, resume=True)


def test_an_unfinished_sweep_is_no_table(copy):
    parts(copy)[2].unlink()
    with pytest.raises(InputError, match=r"must hold all 3 parts of its sweep; 2 are there: go on with"):
        read_table(copy)
    with pytest.raises(InputError, match=r"manifest.json: must be there, can't be read"):
        read_table(copy / "parts")


# -- one writer ------------------------------------------------------------------------------------


def test_two_sweeps_into_one_folder(sweep, copy):
    with (
        store.Store(copy, sweep, resume=True),
        pytest.raises(InputError, match=rf"one run at a time; process {os.getpid()} on this host is writing"),
    ):
        run_sweep(sweep, copy, resume=True)
    assert run_sweep(sweep, copy, resume=True).complete


def test_a_lock_that_a_killed_run_left_is_free(sweep, copy):
    (copy / ".lock").write_text(json.dumps({"pid": 1, "host": os.uname().nodename}))
    assert run_sweep(sweep, copy, resume=True).complete
    assert not (copy / ".lock").exists()


def test_a_lock_without_words_is_a_lock(sweep, copy):
    with (copy / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another process is writing to it"):
            run_sweep(sweep, copy, resume=True)


def test_the_lock_of_another_host_is_believed(sweep, copy):
    (copy / ".lock").write_text(json.dumps({"pid": 7, "host": "elsewhere"}))
    with pytest.raises(
        InputError, match=r"process 7 on host elsewhere holds it: .* remove .*/\.lock if it is"
    ):
        run_sweep(sweep, copy, resume=True)
    (copy / ".lock").unlink()
    assert run_sweep(sweep, copy, resume=True).complete


# -- places that can't be written to ---------------------------------------------------------------


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_full_disk_is_one_line_and_can_be_resumed(sweep, done, tmp_path, monkeypatch, error):
    real, calls = os.fsync, []

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 6:  # two for the manifest, two for the first part, then the second part's folder
            raise OSError(error, os.strerror(error))
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    out = tmp_path / "out"
    with pytest.raises(InputError, match=rf"{os.strerror(error)}.*go on with --resume") as caught:
        run_sweep(sweep, out)
    assert "\n" not in str(caught.value)
    monkeypatch.undo()
    require_only_whole_parts(out)
    assert not list(out.glob(".*"))
    assert run_sweep(sweep, out, resume=True).complete
    assert contents(out) == contents(done)


def test_a_full_folder_for_temporary_files_is_one_line(sweep, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with pytest.raises(InputError, match=r"none: the folder for temporary files must have room.*set TMPDIR"):
        run_sweep(sweep, tmp_path / "out")


def test_a_place_that_is_read_only(sweep, tmp_path):
    for place in (pathlib.Path("/proc/sweep"), write(tmp_path, "x", "file") / "out"):
        with pytest.raises(InputError, match=r"must be a folder that can be written to; .*; choose another"):
            run_sweep(sweep, place)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(sweep, copy):
    copy.chmod(0o500)
    try:
        with pytest.raises(InputError, match="must be a folder that can be written to; Permission denied"):
            run_sweep(sweep, copy, resume=True)
    finally:
        copy.chmod(0o700)
