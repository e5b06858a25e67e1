"""Learned routers: symmetric, of equal size, blind to private fields, better than chance; their decodings."""

import dataclasses
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks import routing as grid_of_noise
from coverjax.foundation.checks import InputError
from coverjax.routing import evidence, routers
from coverjax.routing.fitting import TrainingBudget, scoring_loss
from coverjax.routing.networks import KINDS, new_network, parameter_count
from coverjax.routing.teams import TeamFamily
from coverjax.routing.views import check_boundary, routed

SMALL = evidence.EvidenceDesign(
    tasks=120, workers=6, team_size=2, required=4, pieces=8, extra=0, noise=0.1, sources=10, planted=1.0
)
BUDGET = TrainingBudget(
    parameters=1_200, settings=((3e-3, 1e-3),), checkpoints=3, steps=80, batch=16, items=16
)


@pytest.fixture(scope="module")
def small():
    drawn = evidence.sample_evidence(SMALL, 0)
    return drawn, evidence.split_by_source(drawn.sources)


@pytest.fixture(scope="module")
def fitted(small):
    """Return a function that gives a router of a kind, each trained once."""

    @functools.cache
    def one(kind):
        return routers.fit_router(jax.random.key(1), kind, *small, BUDGET)

    return one


SOME = [
    "set",
    "pair",
    *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("leave_one_out", "capability")),
]
"""Training compiles for seconds; the grid of noise below trains leave-one-out scorers in every run."""


@pytest.mark.parametrize("kind", KINDS)
def test_networks_are_of_equal_size(kind):
    network = new_network(kind, 24, 6_000, jax.random.key(0))
    assert abs(parameter_count(network) - 6_000) / 6_000 < 0.025


@pytest.mark.parametrize("kind", KINDS)
def test_renaming_workers_renames_scores(kind, key):
    network = new_network(kind, 5, 600, jax.random.key(2))
    family = TeamFamily.of_sizes("abcde", [2, 3])
    members = jnp.asarray(family.membership, jnp.float32)
    task, cards = (
        jax.random.normal(key, (5,), jnp.float32),
        jnp.arange(25, dtype=jnp.float32).reshape(5, 5) / 25,
    )
    order = np.array([3, 0, 4, 1, 2])
    before = network(task, cards, members)
    after = network(task, cards[order], members[:, order])
    np.testing.assert_allclose(before, after, rtol=2e-5, atol=1e-6)


def test_pair_scores_sum_to_team_scores(key):
    network = new_network("pair", 4, 500, jax.random.key(3))
    task = jax.random.normal(key, (4,), jnp.float32)
    cards = jnp.broadcast_to(jnp.arange(5.0, dtype=jnp.float32)[:, None], (5, 4))
    pairs = np.asarray(network.pairs(task, cards))
    assert np.array_equal(pairs, pairs.T)
    assert (np.diag(pairs) == 0).all()
    family = TeamFamily.of_sizes("abcde", [3])
    found = np.asarray(network(task, cards, jnp.asarray(family.membership, jnp.float32)))
    for team, row in enumerate(family.membership):
        wanted = sum(pairs[a, b] for a, b in itertools.combinations(np.flatnonzero(row), 2))
        assert found[team] == pytest.approx(wanted, rel=1e-5)


def test_the_loss_is_zero_at_the_targets_and_positive_elsewhere(key):
    targets = jax.random.uniform(key, (6, 7), jnp.float32)
    assert float(scoring_loss(targets, targets)) == pytest.approx(0.0, abs=1e-6)
    assert float(scoring_loss(targets[:, ::-1], targets)) > 0.01
    shifted = scoring_loss(targets + 1.0, targets)  # ranking does not see a shift, the squared error does
    assert float(shifted) == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize("kind", SOME)
def test_learned_routers_beat_chance_on_other_sources(kind, small, fitted):
    """Nearly legible cards: well above the mean team."""
    drawn, split = small
    scores = drawn.scores[split.test]
    routes = routed(fitted(kind), routers.public_fields(drawn, split.test), evidence.PUBLIC)
    assert scores[np.arange(len(scores)), routes].mean() > scores.mean() + 0.1


@pytest.mark.parametrize("kind", SOME)
def test_permuting_private_fields_leaves_routes_bit_identical(kind, small, fitted):
    drawn, _ = small
    check_boundary(fitted(kind), drawn.fields, evidence.PUBLIC)


def test_training_does_not_look_at_test_tasks(small):
    drawn, split = small
    spoiled = dataclasses.replace(
        drawn,
        scores=np.where(np.isin(np.arange(120), split.test)[:, None], 0.5, drawn.scores),
        worker_cards=np.where(
            np.isin(np.arange(120), split.test)[:, None, None], np.float32(7), drawn.worker_cards
        ),
    )
    one = routers.fit_router(jax.random.key(1), "set", drawn, split, BUDGET)
    two = routers.fit_router(jax.random.key(1), "set", spoiled, split, BUDGET)
    view = routers.public_fields(drawn, split.test)
    assert np.array_equal(one.scores(view), two.scores(view))


def test_a_new_key_or_new_noise_compiles_nothing_anew(small, fitted):
    from coverjax.routing.fitting import _fit_all

    _, split = small
    before = _fit_all._cache_size()
    noisy = evidence.sample_evidence(dataclasses.replace(SMALL, noise=1.0), 7)
    routers.fit_router(jax.random.key(9), "set", noisy, split, BUDGET)
    assert _fit_all._cache_size() == before
    assert fitted("set").parameters == pytest.approx(1_200, rel=0.05)


def test_partition_decoding_routes_to_the_best_block(rng):
    family = TeamFamily.of_sizes([f"w{i}" for i in range(6)], [2])
    scores = rng.normal(size=(30, 6, 6))
    scores = scores + scores.swapaxes(1, 2)
    routes = routers.pair_routes(scores, family, "partition")
    graph = routers.pair_routes(scores, family, "best team")
    for task in range(30):
        teams = list(itertools.combinations(range(6), 2))
        worth = [scores[task, a, b] for a, b in teams]
        assert graph[task] == int(np.argmax(worth))
        splits = [
            split for split in itertools.combinations(range(15), 3)
            if len({w for team in split for w in teams[team]}) == 6
        ]  # fmt: skip
        best = max(splits, key=lambda split, worth=worth: sum(worth[team] for team in split))
        assert routes[task] == max(best, key=lambda team, worth=worth: worth[team])


def test_simple_routers():
    family = TeamFamily.of_sizes("abc", [1, "all"])
    assert routers.everybody_router(family, 3).tolist() == [3, 3, 3]
    with pytest.raises(InputError, match="all workers together are no team of the family"):
        routers.everybody_router(TeamFamily.of_sizes("abc", [2]), 3)
    assert routers.constant_router(np.array([[0.1, 0.9], [0.5, 0.4]]), 2).tolist() == [1, 1]
    legal = np.array([[True, False, False], [False, True, True]] * 500)
    chosen = routers.random_router(legal, seed=3)
    assert legal[np.arange(1000), chosen].all()
    assert abs((chosen[1::2] == 1).mean() - 0.5) < 5 * 0.5 / np.sqrt(500)


def test_wrong_routers_are_refused(small, fitted):
    drawn, split = small
    with pytest.raises(
        InputError, match="kind: must be one of set, leave_one_out, pair, capability; got 'tree'"
    ):
        routers.fit_router(jax.random.key(0), "tree", drawn, split, BUDGET)
    with pytest.raises(InputError, match="labels: privileged labels are of pairs; 'set' scores teams"):
        routers.fit_router(jax.random.key(0), "set", drawn, split, BUDGET, "privileged")
    with pytest.raises(InputError, match="a partition needs pair scores; this router is of kind 'set'"):
        fitted("set").decoded("partition")
    with pytest.raises(InputError, match="partition decoding needs every team of one size"):
        routers.pair_routes(np.zeros((1, 4, 4)), TeamFamily.of_sizes("abcd", [1, 2]), "partition")


def test_privileged_labels_stand_in_the_name(small):
    drawn, split = small
    found = routers.fit_router(jax.random.key(0), "pair", drawn, split, BUDGET, "privileged")
    assert found.name == "pair [privileged labels]"
    assert found.decoded("partition").name == "pair partition [privileged labels]"


def test_a_small_grid_of_noise():
    """The published grid in small: paired intervals for each noise, both shapes."""
    four = dataclasses.replace(SMALL, workers=4, team_size=3, planted=0.0)
    for design in (four, SMALL):
        cells = grid_of_noise.grid(design, noises=(0.1, 2.0), seeds=(0, 1), budget=BUDGET)
        assert [cell.noise for cell in cells] == [0.1, 2.0]
        for cell in cells:
            assert cell.low <= cell.difference <= cell.high
            assert cell.difference == pytest.approx(cell.a - cell.b)
            assert max(cell.a, cell.b) <= cell.oracle
        # Cards that say nothing leave little to win.
        assert cells[0].a > cells[1].a


def test_predictions_are_float32(small, fitted):
    drawn, split = small
    view = routers.public_fields(drawn, split.test)
    assert fitted("set").scores(view).dtype == np.float32
