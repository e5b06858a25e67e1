"""Policies through generation, with a generator that is known: measured curves against exact ones.

The network is replaced by a writer that renders the strategy its latent stands for: latent z writes strategy
s with probability W[z, s], and nonsense otherwise. Everything else is as it is for a fitted model.
"""

import json
from collections import Counter

import jax
import numpy as np
import pytest

import coverjax as cj
from coverjax.foundation.checks import InputError
from coverjax.sequences import exploration, generation, rollouts
from coverjax.sequences.exploration import BASE, ROUTER, explore, forced_samples
from coverjax.sequences.generation import draw
from coverjax.sequences.language_model import start_model
from coverjax.sequences.roles import inputs_of
from coverjax.sequences.rollouts import roll_out
from coverjax.sequences.tasks.registry import task
from coverjax.sequences.transformer import Size

LATENTS = 5
SPLIT = np.array(
    [[0.9, 0.05, 0, 0], [0.9, 0, 0.05, 0], [0.05, 0.9, 0, 0], [0, 0, 0.95, 0], [0, 0.05, 0, 0.9]], float
)
ROUTED = np.array([0.3, 0.25, 0.25, 0.12, 0.08])
FREQUENCIES = ROUTED @ SPLIT
COLLAPSED = np.tile(FREQUENCIES, (LATENTS, 1))


@pytest.fixture(scope="module")
def subject():
    return task("list_summation")


@pytest.fixture(scope="module")
def models(subject):
    size = Size(width=8, layers=1, heads=1, hidden=8)
    words = subject.vocabulary()
    return [start_model(jax.random.key(0), subject.name, words, size, (14, 40), n) for n in (0, LATENTS)]


@pytest.fixture
def write(subject, monkeypatch):
    """Replace the network by a writer with a table W."""

    def use(table):
        def generate(model, x_texts, latents, keys, **heat):
            uniform = generation.standard_uniform(keys, 1)[:, 0]
            texts = []
            for x_text, z, u in zip(x_texts, latents, uniform, strict=True):
                shares = FREQUENCIES if z < 0 else table[z]
                s = int(np.searchsorted(np.cumsum(shares), u))
                x = subject.parse_x(x_text)
                strategies = subject.strategies(x)
                texts.append(subject.render(x, strategies[s]) if s < len(strategies) else "1+1=3")
            return texts

        monkeypatch.setattr(generation, "generate", generate)
        monkeypatch.setattr(rollouts, "generate", generate)
        routed = lambda model, x_texts: np.tile(ROUTED, (len(x_texts), 1))  # noqa: E731
        for module in (generation, exploration):
            monkeypatch.setattr(module, "router_probs", routed)

    return use


@pytest.fixture(scope="module")
def sides(subject):
    rng = np.random.default_rng(4)
    return inputs_of(subject, rng, 24, "development"), inputs_of(subject, rng, 40, "test")


def known_table(subject, inputs, table):
    names = [subject.render_x(x) for x in inputs]
    return cj.RouterGenerator(
        np.tile(ROUTED, (len(inputs), 1)), np.tile(table, (len(inputs), 1, 1)), ids=names
    )


def z_scores(log, exact):
    """Measured mean curve against the exact one, by the spread over inputs and trials."""
    seen = np.cumsum(log.matches, axis=2).astype(bool).mean(axis=-1)
    runs = seen.reshape(-1, seen.shape[-1])
    error = runs.std(axis=0) / np.sqrt(len(runs))
    return np.abs(runs.mean(axis=0) - exact.coverage.mean(axis=0)) / np.maximum(error, 1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize(
    "policy",
    [cj.LatentIID(), cj.LatentNoRepeat(), cj.GreedyLatent(), cj.LatentSchedule(np.eye(LATENTS)[:4] * 3.0)],
    ids=lambda policy: type(policy).__name__,
)
def test_a_policy_through_generation_has_its_exact_curve(subject, models, write, sides, policy, key):
    """320 runs, 4 budgets; |z| < 5, false alarms below 1e-5 a policy. Ambiguous traces match the exact law
    only where the input has none: those inputs are left out."""
    write(SPLIT)
    plain = [x for x in sides[1] if len({subject.render(x, s) for s in subject.strategies(x)}) == 4]
    table = known_table(subject, plain, SPLIT)
    log = roll_out(key, models[1], subject, plain, policy, table, 4, 10)
    assert log.ordered
    assert log.matches.shape == (len(plain), 10, 4, 4)
    assert z_scores(log, cj.exact(policy, table, 4)).max() < 5


@pytest.mark.statistical
def test_good_ucb_through_generation_is_what_simulate_says(subject, models, write, sides, key):
    """As above, against 4,000 simulated runs."""
    write(SPLIT)
    plain = [x for x in sides[1] if len({subject.render(x, s) for s in subject.strategies(x)}) == 4]
    table = known_table(subject, plain, SPLIT)
    log = roll_out(key, models[1], subject, plain, cj.GoodUCB(c=0.5), table, 6, 10)
    assert z_scores(log, cj.simulate(jax.random.key(0), cj.GoodUCB(c=0.5), table, 6, 4000)).max() < 5


def test_latents_in_the_log_are_the_policy_s(subject, models, write, sides, key):
    write(SPLIT)
    table = known_table(subject, sides[1], SPLIT)
    log = roll_out(key, models[1], subject, sides[1], cj.LatentNoRepeat(), table, LATENTS, 2)
    assert (np.sort(log.latent, axis=-1) == np.arange(LATENTS)).all()
    assert len({tuple(row) for row in log.latent.reshape(-1, LATENTS)}) > 20


def test_an_input_s_runs_do_not_change_with_the_others(subject, models, write, sides, key):
    write(SPLIT)
    table = known_table(subject, sides[1], SPLIT)
    whole = roll_out(key, models[1], subject, sides[1], cj.GoodUCB(), table, 6, 3)
    part, again = table.take(np.arange(5, 9)), jax.random.clone(key)
    few = roll_out(again, models[1], subject, sides[1][5:9], cj.GoodUCB(), part, 6, 2)
    np.testing.assert_array_equal(few.latent, whole.latent[5:9, :2])
    np.testing.assert_array_equal(few.matches, whole.matches[5:9, :2])


@pytest.mark.slow
def test_exploring_on_purpose_gains_and_a_collapsed_model_does_not(subject, models, write, sides):
    for table, gains in ((SPLIT, True), (COLLAPSED, False)):
        policies = ("no repeat, alive", "good ucb", "greedy on W") if gains else ("no repeat", "greedy on W")
        write(table)
        found = explore(
            jax.random.key(3),
            models[1],
            subject,
            *sides,
            base=models[0],
            trials=4,
            steps=50,
            policies=policies,
        )
        assert tuple(found.curves) == (BASE, ROUTER, *policies)
        assert found.knows["greedy on W"] == "estimated_W"
        # Good-UCB knows nothing: with fewer draws than latents it takes them as they are numbered.
        for name in policies:
            if name == "good ucb":
                continue
            report = found.gains[name]
            low, high = report.pooled - 2.6 * report.stderr, report.pooled + 2.6 * report.stderr
            assert (low > 0) if gains else (low < 0 < high), name
        report = found.gains[ROUTER]
        assert abs(report.pooled) < 4 * report.stderr
        if gains:
            best = found.chosen_unseeing
            assert found.sees[best] != "outcomes"
            # Four of five latents, two of them twins: the writer's own table says what that covers.
            true = (
                cj.exact(cj.LatentNoRepeat(), known_table(subject, sides[1], SPLIT), 4).coverage[:, -1].mean()
            )
            low, high = cj.interval(found.curves[best], level=0.999)
            assert low[-1] - 0.02 < true < high[-1] + 0.02
            assert found.curves["greedy on W"].coverage[:, -1].mean() > 0.85
            for name in policies:
                low, high = cj.interval(found.curves[name], level=0.999)
                promised = found.predicted[name].coverage.mean(axis=0)
                assert ((low - 0.02 < promised) & (promised < high + 0.02)).all(), name


def test_draw_is_a_log_that_the_project_reads(subject, models, write, sides, tmp_path):
    write(SPLIT)
    drawn = draw(jax.random.key(1), models[1], subject, sides[1], 6)
    cj.write_log(drawn.log, tmp_path / "log.jsonl")
    cj.write_declared(drawn.log, tmp_path / "declared.csv")
    line = json.loads((tmp_path / "log.jsonl").read_text().splitlines()[0])
    assert set(line) == {"input", "sample", "strategies", "valid", "correct", "latent", "labeler"}
    back = cj.read_log(tmp_path / "log.jsonl", declared=tmp_path / "declared.csv")
    np.testing.assert_array_equal(back.declared_count, 4)
    curves = [cj.estimate(log).mean().coverage for log in (back, drawn.log)]
    np.testing.assert_allclose(*curves, rtol=1e-12)
    assert drawn.results[0, 0].outcome in ("unique", "ambiguous", "parse_failure", "structurally_invalid")


def test_more_samples_or_other_inputs_leave_a_text_as_it_is(subject, models, write, sides):
    write(SPLIT)
    whole = draw(jax.random.key(1), models[1], subject, sides[1], 6)
    few = draw(jax.random.key(1), models[1], subject, sides[1][7:9], 3)
    assert (few.texts == whole.texts[7:9, :3]).all()
    np.testing.assert_array_equal(few.log.latent, whole.log.latent[7:9, :, :3])


@pytest.mark.statistical
def test_latents_are_drawn_from_the_router(subject, models, write, sides):
    """40 x 50 draws; |z| < 5 for each latent."""
    write(SPLIT)
    drawn = draw(jax.random.key(1), models[1], subject, sides[1], 50)
    count = np.bincount(drawn.log.latent.ravel(), minlength=LATENTS)
    n = count.sum()
    assert (np.abs(count - n * ROUTED) / np.sqrt(n * ROUTED * (1 - ROUTED)) < 5).all()


def test_forced_latents_are_kept_and_write_their_strategies(subject, models, write, sides):
    write(np.eye(LATENTS)[:, :4])
    drawn = draw(jax.random.key(1), models[1], subject, sides[1], LATENTS, latents=np.arange(LATENTS))
    assert (drawn.log.latent == np.arange(LATENTS)).all()
    for z, name in enumerate(subject.strategies()):
        assert all(name in result.strategy_matches for result in drawn.results[:, z])
    assert Counter(result.outcome for result in drawn.results[:, 4]) == {"parse_failure": 40}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"latents": np.array([0, LATENTS])},
            r"latents: must be whole numbers from 0 to 4, \(40, 2\) or \(2,\)",
        ),
        ({"latents": np.array([0.5, 1.0])}, "latents: must be whole numbers from 0 to 4"),
        ({"samples": 0}, "samples: must be a whole number >= 1; got 0"),
        ({"inputs": []}, "inputs: must be distinct, at least one; got 0"),
        ({"temperature": -1.0}, "temperature: must be a number >= 0"),
    ],
)
def test_what_can_not_be_drawn_is_refused(subject, models, sides, change, said):
    given = {"inputs": sides[1], "samples": 2} | change
    with pytest.raises(InputError, match=said):
        draw(jax.random.key(0), models[1], subject, given.pop("inputs"), given.pop("samples"), **given)


def test_a_task_with_other_words_is_refused(subject, models):
    other = task("base_conversion")
    inputs = inputs_of(other, np.random.default_rng(0), 3, "test")
    said = (
        "task: must be written in the words of the model, which was fitted to list_summation; "
        r"base_conversion also has '\*', 'a', 'b', 'e'$"
    )
    with pytest.raises(InputError, match=said):
        draw(jax.random.key(0), models[0], other, inputs, 2)


def test_what_can_not_explore_is_refused(subject, models, sides):
    own, other = sides
    with pytest.raises(InputError, match="model: must have latents to choose from; this is a base model"):
        explore(jax.random.key(0), models[0], subject, own, other)
    with pytest.raises(InputError, match="base: must be a base model; this one has 5 latents already"):
        explore(jax.random.key(0), models[1], subject, own, other, base=models[1])
    with pytest.raises(InputError, match="test: must hold none of the development inputs"):
        explore(jax.random.key(0), models[1], subject, own, own[:2])
    with pytest.raises(
        InputError, match=r"policies: must be of no repeat, no repeat, alive, schedule, .*; got 'best'"
    ):
        explore(jax.random.key(0), models[1], subject, own, other, policies=["best"])
    for name, parts in (("development", ([], other)), ("test", (own, []))):
        with pytest.raises(InputError, match=f"{name}: must be at least one input; got none"):
            explore(jax.random.key(0), models[1], subject, *parts)
    with pytest.raises(InputError, match="samples: must be a whole number >= 1; got -1"):
        forced_samples(jax.random.key(0), models[1], subject, own, -1)
    table = known_table(subject, own, SPLIT)
    for name in ("budget", "trials"):
        given = {"budget": 2, "trials": 1} | {name: 0}
        with pytest.raises(InputError, match=f"{name}: must be a whole number >= 1; got 0"):
            roll_out(jax.random.key(0), models[1], subject, own, cj.LatentIID(), table, **given)
    with pytest.raises(InputError, match="model: must have latents to choose from"):
        generation.router_probs(models[0], ["sum 1,2,3,4"])
    with pytest.raises(InputError, match="known: must be of the same inputs in the same order"):
        roll_out(jax.random.key(0), models[1], subject, other, cj.GoodUCB(), table, 2)
    with pytest.raises(
        InputError, match="must act on latents to be run through generation; IID acts on base"
    ):
        roll_out(jax.random.key(0), models[1], subject, own, cj.IID(), table, 2)
