"""Exploring with continuous latents and a known generator: z decides the strategy, or it does not."""

import json

import jax
import numpy as np
import pytest

import coverjax as cj
from coverjax.cli.main import main
from coverjax.foundation.checks import InputError
from coverjax.sequences import continuous_exploration, continuous_study, generation
from coverjax.sequences.collapse import latent_agreement, latent_use
from coverjax.sequences.continuous_exploration import (
    DRAWS,
    FARTHEST,
    LOW_DISCREPANCY,
    POOL,
    draw_runs,
    explore_continuous,
    latents_of,
)
from coverjax.sequences.exploration import BASE, ROUTER
from coverjax.sequences.language_model import start_model
from coverjax.sequences.latent_draws import farthest_points
from coverjax.sequences.roles import inputs_of
from coverjax.sequences.tasks.registry import task
from coverjax.sequences.transformer import Size

DIMENSIONS = 2


@pytest.fixture(scope="module")
def subject():
    return task("list_summation")


@pytest.fixture(scope="module")
def base(subject):
    size = Size(width=8, layers=1, heads=1, hidden=8)
    return start_model(jax.random.key(0), subject.name, subject.vocabulary(), size, (14, 40))


@pytest.fixture(scope="module")
def model(base):
    return base.with_gaussian(jax.random.key(1), DIMENSIONS)


@pytest.fixture(scope="module")
def plain(subject):
    """Test inputs on which no two strategies write the same trace."""
    inputs = inputs_of(subject, np.random.default_rng(4), 30, "test")
    return [x for x in inputs if len({subject.render(x, s) for s in subject.strategies(x)}) == 4]


@pytest.fixture
def write(subject, monkeypatch):
    """Replace the network by a writer: the quadrant of z is its strategy, or z says nothing."""

    def use(decides):
        def generate(model, x_texts, latents, keys, **heat):
            uniform = generation.standard_uniform(keys, 1)[:, 0]
            texts = []
            for x_text, z, u in zip(x_texts, np.asarray(latents), uniform, strict=True):
                by_chance = int(4 * u)
                s = int(z[0] > 0) + 2 * int(z[1] > 0) if decides and z.ndim else by_chance
                x = subject.parse_x(x_text)
                texts.append(subject.render(x, subject.strategies(x)[s]))
            return texts

        for module in (generation, continuous_exploration):
            monkeypatch.setattr(module, "generate", generate)

    return use


@pytest.mark.parametrize("method", DRAWS)
def test_latents_are_named_by_input_and_trial(subject, model, plain, method, key):
    many = latents_of(key, model, subject, plain[:3], method, 5, 2, pool=16)
    fewer = latents_of(jax.random.clone(key), model, subject, plain[1:3], method, 4, 1, pool=16)
    assert many.shape == (3, 2, 5, DIMENSIONS)
    np.testing.assert_array_equal(many[1:, :1, :4], fewer)
    assert len(np.unique(many.reshape(-1, DIMENSIONS), axis=0)) == 30


def test_latents_are_in_the_router_s_coordinates(subject, model, plain, monkeypatch, key):
    plainly = {
        method: latents_of(jax.random.clone(key), model, subject, plain[:2], method, 4) for method in DRAWS
    }
    mean, scale = np.array([[1.0, -2.0], [0.0, 3.0]]), np.array([[0.5, 2.0], [1.0, 0.1]])
    monkeypatch.setattr(continuous_exploration, "router_normal", lambda *_: (mean, scale))
    for method, noise in plainly.items():
        moved = latents_of(jax.random.clone(key), model, subject, plain[:2], method, 4)
        np.testing.assert_allclose(moved, mean[:, None, None] + scale[:, None, None] * noise)


def test_farthest_points_are_of_the_pool_that_a_trial_draws(subject, model, plain, key):
    found = latents_of(key, model, subject, plain[:1], FARTHEST, 3, 1, pool=8)[0, 0]
    pool = latents_of(jax.random.clone(key), model, subject, plain[:1], FARTHEST, 8, 1, pool=8)[0, 0]
    again = pool[farthest_points(pool, 3)]
    np.testing.assert_array_equal(found, again)


def test_curves_are_those_of_the_draws(subject, base, model, plain, write, key):
    """With one quadrant a strategy, coverage is the number of quadrants: read it off the latents."""
    write(True)
    found = explore_continuous(key, model, subject, plain, base=base, trials=6)
    assert list(found.curves) == [BASE, ROUTER, *DRAWS]
    assert {name: log.ordered for name, log in found.logs.items()} == {
        BASE: False,
        ROUTER: False,
        **dict.fromkeys(DRAWS, True),
    }
    placing = jax.random.split(jax.random.clone(key), 4)[2]
    for method in DRAWS:
        z = latents_of(jax.random.clone(placing), model, subject, plain, method, 4, 6)
        quadrant = (z > 0) @ np.array([1, 2])
        seen = [[[len(set(run[:k])) / 4 for k in range(1, 5)] for run in runs] for runs in quadrant]
        np.testing.assert_allclose(found.curves[method].coverage, np.mean(seen, axis=1))
        assert found.gains[method].pooled > 0.1
    assert found.gains[BASE].pooled == 0.0
    assert abs(found.gains[ROUTER].pooled) < 0.1
    assert all(log.latent is None for log in found.logs.values())


def test_spread_of_latents_is_not_coverage_of_strategies(subject, model, plain, write, key):
    """Where z says nothing, the farthest points cover no more than independent ones."""
    write(False)
    found = explore_continuous(key, model, subject, plain, trials=10)
    for method in DRAWS:
        report = found.gains[method]
        assert abs(report.pooled) < 5 * report.stderr
        assert report.pooled < 0.1


def test_same_seed_same_numbers(subject, model, plain, write, key):
    write(True)
    one, two = (
        explore_continuous(jax.random.clone(key), model, subject, plain[:4], trials=2) for _ in range(2)
    )
    for name, curves in one.curves.items():
        np.testing.assert_array_equal(curves.coverage, two.curves[name].coverage)


@pytest.mark.parametrize(
    ("decides", "same", "other"), [(True, (1.0, 1.0), (0.15, 0.4)), (False, (0.1, 0.4), (0.1, 0.4))]
)
def test_agreement_says_whether_z_decides(subject, model, plain, write, key, decides, same, other):
    write(decides)
    found = latent_agreement(key, model, subject, plain, 6)
    assert same[0] <= found.same.mean[0] <= same[1]
    assert other[0] <= found.other.mean[0] <= other[1]
    assert (found.difference.low[0] > 0.4) == decides
    assert (found.difference.low[0] < 0.0 < found.difference.high[0]) != decides


def test_what_can_not_be_explored_is_refused(subject, base, model, plain, key):
    with pytest.raises(InputError, match="must have continuous latents; this is a base model"):
        explore_continuous(key, base, subject, plain)
    numbered = base.with_latents(jax.random.key(0), 3)
    with pytest.raises(InputError, match="must have continuous latents; this one has 3, by number"):
        explore_continuous(key, numbered, subject, plain)
    with pytest.raises(InputError, match="base: must be a base model"):
        explore_continuous(key, model, subject, plain, base=model)
    with pytest.raises(InputError, match="methods: must be one of low discrepancy, farthest point"):
        explore_continuous(key, model, subject, plain, methods=("no repeat",))
    with pytest.raises(InputError, match="pool: must be a whole number >= 4; got 3"):
        explore_continuous(key, model, subject, plain, pool=3)
    with pytest.raises(InputError, match="inputs: must be distinct, at least one; got none"):
        explore_continuous(key, model, subject, [])
    for wrong in (np.zeros((2, 1, 3, 2)), np.zeros((1, 3, 2)), np.full((1, 1, 3, 2), np.inf)):
        with pytest.raises(InputError, match=r"z: must be finite, \[1 inputs, trials, draws, 2 dimensions\]"):
            draw_runs(key, model, subject, plain[:1], wrong)
    with pytest.raises(InputError, match="this one's are continuous, 2 dimensions"):
        cj.sequences.explore(key, model, subject, [], plain)
    with pytest.raises(InputError, match="must have continuous latents"):
        latent_use(key, base, subject)


def test_only_farthest_points_need_a_pool_and_judging_gives_them_a_large_one(
    subject, model, plain, key, monkeypatch
):
    seen = {}

    def asked(*_, **settings):
        seen.update(settings)
        raise InterruptedError

    found = explore_continuous(
        jax.random.clone(key),
        model,
        subject,
        plain[:1],
        budget=3,
        pool=2,
        trials=1,
        methods=("low discrepancy",),
    )
    assert set(found.curves) == {"router iid", "low discrepancy"}
    monkeypatch.setattr(continuous_study, "explore_continuous", asked)
    for budget, pool in ((None, POOL), (POOL + 1, POOL + 1), (2, POOL)):
        with pytest.raises(InterruptedError):
            continuous_study.judged_continuous(jax.random.clone(key), subject, model, budget=budget)
        assert seen["pool"] == pool


@pytest.mark.slow
def test_from_a_fit_to_curves_by_the_command(tmp_path, capsys):
    """A few updates of the base model that comes with the package: files, documents, one log read back."""
    base = tmp_path / "base.npz"
    cj.sequences.fitted_base("list_summation").save(base)
    fitted, judged, drawn = (tmp_path / name for name in ("fitted", "judged", "drawn"))
    few = ["--steps=4", "--every=2", "--batch=4", "--texts=40", "--held-out=8", "--warmup=2"]
    given = ["--base", str(base), "--objective", "gaussian", "--dimensions", "3", "--json"]
    assert main(["sequences", "factorize", *few, *given, "--out", str(fitted)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["model"]["dimensions"] == 3
    assert len(document["kl"]) == 3
    model = str(fitted / "model.npz")

    words = ["--model", model, "--base", str(base), "--development", "4", "--test", "6", "--trials", "2"]
    assert main(["sequences", "evaluate", *words, "--out", str(judged)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "of 3 dimensions active" in told
    document = json.loads((judged / "summary.json").read_text())
    assert set(document["methods"]) == {BASE, ROUTER, *DRAWS}
    assert document["methods"][BASE]["gain"]["pooled"] == 0.0
    for name in DRAWS:
        path = judged / f"log-{name.replace(' ', '-')}.jsonl"
        curves = cj.estimate(cj.read_log(path, declared=judged / "declared.csv", ordered=True), 4)
        np.testing.assert_allclose(curves.mean().coverage[0], document["methods"][name]["coverage"])

    assert (
        main(["sequences", "draw", "--model", model, "--inputs", "2", "--samples", "3", "--out", str(drawn)])
        == 0
    )
    capsys.readouterr()
    lines = (drawn / "texts.csv").read_text().splitlines()
    assert lines[0] == "input,sample,text,outcome,strategies,reason,z0,z1,z2"
    assert len(lines) == 7
    assert all(np.isfinite(float(cell)) for cell in lines[1].split(",")[-3:])
    for words in (["draw", "--latents", "each"], ["evaluate", "--policies", "schedule"]):
        assert main(["sequences", words[0], "--model", model, *words[1:]]) == 2
        said = capsys.readouterr().err
        assert "continuous" in said or "methods: must be one of" in said
        assert said.count("\n") == 1


def test_a_run_s_text_depends_on_its_own_names_only(subject, base, model, plain, key):
    z = latents_of(key, model, subject, plain[:3], LOW_DISCREPANCY, 3, 2)
    told = jax.random.key(9)
    whole = draw_runs(told, model, subject, plain[:3], z)
    part = draw_runs(jax.random.clone(told), model, subject, plain[1:3], z[1:, :1, :2])
    np.testing.assert_array_equal(whole.matches[1:, :1, :2], part.matches)
    assert whole.ordered


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"level": 1.0}, "level: must lie strictly between 0 and 1"),
        ({"development": 0}, "development: must be a whole number >= 1; got 0"),
        ({"test": True}, "test: must be a whole number >= 1; got True"),
    ],
)
def test_judging_is_refused_before_anything_is_drawn(subject, model, key, monkeypatch, settings, message):
    monkeypatch.setattr(continuous_study, "explore_continuous", None)
    with pytest.raises(InputError, match=message):
        continuous_study.judged_continuous(key, subject, model, **settings)
