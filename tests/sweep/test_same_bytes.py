"""A part's bytes do not depend on where it is made: one process, two, two devices, Ray."""

import importlib.util
import inspect
import pathlib
import subprocess
import sys

import jax
import pytest
from sweep_files import SIMULATED, SMALL, command, contents, write

from coverjax.foundation.checks import InputError
from coverjax.policy.registry import written_policy
from coverjax.sweep import executors, ray_tasks, read_sweep, run_sweep
from coverjax.sweep.making import Maker, order_of
from coverjax.sweep.manifest import manifest_of

MINE = """
from coverjax import Policy
from coverjax.policy.base import only


class InTurn(Policy):
    "Take the latents in turn."

    sees, knows, acts_on, markov = "blind", "nothing", "latents", True

    def init(self, known):
        return ()

    def choose(self, known, state, draw):
        return only(draw % known.latents, known.latents)

    def update(self, known, state, draw, action, matched):
        return state
"""

OWN = SMALL.replace('"LatentNoRepeat"', '"mine_of_sweeps:InTurn"')


@pytest.fixture
def own(tmp_path, monkeypatch) -> pathlib.Path:
    """A sweep with the user's own policy, beside its file."""
    (tmp_path / "mine_of_sweeps.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "mine_of_sweeps", raising=False)
    return write(tmp_path, OWN)


def by_command(path: pathlib.Path, out: pathlib.Path, *words: str, **variables: str) -> dict[str, str]:
    words, environment = command("sweep", str(path), "--out", str(out), *words, **variables)
    done = subprocess.run(
        words, env=environment, cwd=path.parent, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return contents(out)


@pytest.mark.slow
def test_workers_and_devices_give_the_same_bytes(own, tmp_path):
    sweep = read_sweep(own)
    assert sweep.policies[-1] == "mine_of_sweeps:InTurn"
    here = run_sweep(sweep, tmp_path / "here")
    expected = contents(here.folder)
    assert by_command(own, tmp_path / "two", "--workers", "2") == expected
    flags = "--xla_force_host_platform_device_count=2"
    assert by_command(own, tmp_path / "devices", XLA_FLAGS=flags) == expected


@pytest.mark.slow
def test_simulated_parts_too(tmp_path):
    path = write(tmp_path, SIMULATED)
    run_sweep(read_sweep(path), tmp_path / "here")
    flags = "--xla_force_host_platform_device_count=2"
    assert by_command(path, tmp_path / "devices", XLA_FLAGS=flags) == contents(tmp_path / "here")


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray, the extra `cluster`")
def test_ray_gives_the_same_bytes(own, tmp_path):
    run_sweep(read_sweep(own), tmp_path / "here")
    assert by_command(own, tmp_path / "ray", "--ray", "local", "--workers", "2") == contents(
        tmp_path / "here"
    )


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="Ray is installed")
def test_ray_that_is_not_installed_is_one_line(tmp_path):
    sweep = read_sweep(write(tmp_path, SMALL))
    with pytest.raises(InputError, match=r"--ray: needs Ray, .* pip install 'coverjax\[cluster\]'"):
        run_sweep(sweep, tmp_path / "out", ray="local")


class Ray:
    """Ray as it is before a cluster answers."""

    @staticmethod
    def is_initialized() -> bool:
        return False

    @staticmethod
    def init(**options: object) -> None:
        raise ConnectionError(f"no cluster: {sorted(options)}")


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("auto", "no cluster"),
        ("localhost:1", "refused"),
        ("ray://localhost:1", "refused"),
        ("a:b", "invalid"),
    ],
)
def test_an_address_where_no_cluster_answers_is_one_line(tmp_path, monkeypatch, address, told):
    monkeypatch.setattr(ray_tasks, "_ray", lambda: Ray)
    sweep = read_sweep(write(tmp_path, SMALL))
    with pytest.raises(InputError, match=rf"--ray: must be the address of a running cluster.*{told}"):
        run_sweep(sweep, tmp_path / "out", ray=address)


def test_programs_are_compiled_by_structure_not_by_cell(tmp_path):
    text = SMALL.replace(', "LatentNoRepeat"', "").replace("budget = 6", "budget = 11")
    few = read_sweep(write(tmp_path, text))
    many = read_sweep(write(tmp_path, text.replace("steps = 5", "steps = 40"), "many.toml"))
    assert (len(few.cells), len(many.cells), len(many.structures)) == (10, 80, 1)
    first = run_sweep(few, tmp_path / "few")
    assert run_sweep(many, tmp_path / "many").compilations == 0
    assert first.compilations <= 4


def test_a_part_does_not_depend_on_the_parts_before_it(tmp_path):
    sweep = read_sweep(write(tmp_path, SMALL.replace(', "LatentNoRepeat"', "")))
    maker = Maker(order_of(sweep, manifest_of(sweep)))
    forward = [maker.make(number) for number in range(3)]
    assert [maker.make(number) for number in (2, 0, 1)] == [forward[2], forward[0], forward[1]]


def test_a_worker_that_is_not_alike_refuses(tmp_path):
    sweep = read_sweep(write(tmp_path, SMALL))
    order = order_of(sweep, manifest_of(sweep))
    with pytest.raises(
        InputError, match=r"worker: must have the device of the process that began, gpu; it has"
    ):
        Maker(order | {"device": "gpu"})


def test_a_policy_whose_file_changed_is_refused(own, tmp_path):
    sweep = read_sweep(own)
    maker = Maker(order_of(sweep, manifest_of(sweep)))
    (tmp_path / "mine_of_sweeps.py").write_text(MINE + "# changed\n")
    message = r"cells 0 to 3: policy: the module of mine_of_sweeps:InTurn must be the one that the sweep"
    with pytest.raises(InputError, match=message):
        maker.make(0)


def test_a_policy_that_a_worker_cannot_find_travels_as_text(own, tmp_path, monkeypatch):
    sweep = read_sweep(own)
    order = order_of(sweep, manifest_of(sweep))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setattr("sys.path", list(sys.path))
    monkeypatch.delitem(sys.modules, "mine_of_sweeps")
    Maker(order | {"folder": str(tmp_path / "elsewhere")})
    found = inspect.getfile(type(written_policy("mine_of_sweeps:InTurn")))
    assert pathlib.Path(found).parent.name.startswith("coverjax-policies-")


class Pool:
    """A pool whose processes die."""

    def __init__(self, *arguments: object):
        pass

    def submit(self, *arguments: object) -> None:
        raise executors.BrokenProcessPool

    def end(self, sure: bool = False) -> None:
        pass


def test_workers_that_die_again_and_again_are_said(tmp_path, monkeypatch):
    sweep = read_sweep(write(tmp_path, SMALL))
    monkeypatch.setattr(executors, "SpawnPool", Pool)
    with pytest.raises(InputError, match=r"workers: processes must live; they ended 3 times at part 0"):
        run_sweep(sweep, tmp_path / "out", workers=2)
    with pytest.raises(InputError, match="workers: must be at least 1; got 0"):
        run_sweep(sweep, tmp_path / "out", workers=0)


def test_one_device_here():
    """The default run has one device: what stands above about two is not vacuous."""
    assert jax.local_device_count() == 1
