"""What a checkpoint is known by: the same in every process, another for another policy."""

import functools
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coverjax.learning.checkpoints import described

PROGRAM = """
import sys
import equinox as eqx
import jax
import coverjax as cj
from coverjax.learning import training


class Net(eqx.Module):
    inner: eqx.nn.MLP
    last: object = eqx.field(static=True)

    def __call__(self, sight):
        return self.last(self.inner(sight.table.reshape(-1)))


if sys.argv[2] == "stopping":
    write = training.write_checkpoint

    def stopping(*given):
        write(*given)
        raise SystemExit(7)

    training.write_checkpoint = stopping
inner = eqx.nn.MLP(4, 2, 3, 1, activation=jax.nn.relu, key=jax.random.key(1))
policy = cj.LearnedLatent(Net(inner, lambda x: 3.0 * x), sees="blind")
model = cj.families.confusion(2, 2, 0.1)
_, history = cj.train_policy(jax.random.key(0), policy, model, 2, steps=4, every=2, checkpoint=sys.argv[1])
print(history["step"].tolist())
"""


def test_a_users_network_goes_on_in_a_new_process(tmp_path):
    """Its functions lie at other addresses there."""
    for word, code, out in (("stopping", 7, ""), ("going on", 0, "[0, 2, 4]\n")):
        words = [sys.executable, "-c", PROGRAM, str(tmp_path / "training.npz"), word]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
        assert (done.returncode, done.stdout) == (code, out), done.stderr


def scaled(size):
    return lambda x: size * x


def around():
    def inner(x):
        return inner if x else None

    return inner


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (scaled(2.0), scaled(3.0)),
        (lambda x: x + 1, lambda x: x + 2),
        (lambda x: np.sin(x), lambda x: np.cos(x)),
        (lambda x, y=1: x * y, lambda x, y=2: x * y),
        (jax.nn.relu, jax.nn.silu),
        (jax.jit(scaled(2.0)), jax.jit(scaled(3.0))),
        (functools.partial(jnp.add, 1), functools.partial(jnp.add, 2)),
        ({"a": scaled(1.0)}, {"a": scaled(2.0)}),
        (jax.tree.structure({"a": 1}), jax.tree.structure({"b": 1})),
        (jax.tree.structure([None]), jax.tree.structure([1])),
        (around(), scaled),
    ],
)
def test_what_differs_is_told_apart(one, other):
    assert described(one) != described(other)
    assert "0x" not in described([one, other])


def test_what_is_the_same_is_told_alike():
    assert described(scaled(2.0)) == described(scaled(2.0))
    assert described(around()) == described(around())
    assert described(frozenset("abcdef")) == described(frozenset("fedcba"))
    assert described(object()) == described(object())
