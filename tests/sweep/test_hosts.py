"""One law shared among the processes of `jax.distributed`: the same bits as in one."""

import os
import socket
import subprocess
import sys

import jax
import numpy as np
import pytest

import coverjax as cj
from coverjax.foundation.checks import InputError
from coverjax.sweep import hosts

PROGRAM = """
import sys
import jax
jax.distributed.initialize(sys.argv[1], num_processes=2, process_id=int(sys.argv[2]))
import numpy as np
import coverjax as cj
from coverjax.sweep import on_hosts
law = cj.families.dirichlet(jax.random.key(3), 5, 4)
def produce(law):
    return cj.simulate(jax.random.key(1), cj.LatentIID(), cj.families.collapsed(law, 2), 9, 32)


found = on_hosts(produce, law)
assert jax.process_count() == 2
np.savez(sys.argv[3], **{name: getattr(found, name) for name in ("coverage", "novelty_any", "strategy_auc")},
         declared=found.declared, error=found.mc_stderr.coverage, ids=found.ids.astype(int))
"""


@pytest.mark.slow
def test_two_processes_give_the_bits_of_one(tmp_path):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    kept = {name: value for name, value in os.environ.items() if name != "COVERJAX_X64"}
    files = [tmp_path / f"{process}.npz" for process in range(2)]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, address, str(process), str(file)],
            env={**kept, "JAX_PLATFORMS": "cpu"},
            stderr=subprocess.PIPE,
            text=True,
        )
        for process, file in enumerate(files)
    ]
    for process in running:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
    law = cj.families.dirichlet(jax.random.key(3), 5, 4)
    model = cj.families.collapsed(law, 2)
    one = cj.simulate(jax.random.key(1), cj.LatentIID(), model, 9, 32)
    for file in files:
        found = np.load(file)
        for name in ("coverage", "novelty_any", "strategy_auc", "declared"):
            np.testing.assert_array_equal(found[name], getattr(one, name))
        np.testing.assert_array_equal(found["error"], one.mc_stderr.coverage)
        assert found["ids"].tolist() == [0, 1, 2, 3, 4]


def test_one_process_is_the_plain_call():
    law = cj.families.zipf(1, 3)
    curves = cj.exact(cj.OracleNoRepeat(), law, 3)
    assert hosts.on_hosts(lambda own: curves if own is law else None, law) is curves


def test_fewer_inputs_than_processes_is_refused(monkeypatch):
    monkeypatch.setattr(jax, "process_count", lambda: 3)
    with pytest.raises(
        InputError, match="must have an input for each of the 3 processes; got 2: start fewer"
    ):
        hosts.on_hosts(lambda law: None, cj.families.zipf(2, 3))
