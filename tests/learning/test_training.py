"""Training: optima from outside, the same bits after an interruption, every setting, every refusal."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference_learning as brute
from small_policies import tiny

import coverjax as cj
from coverjax.learning import training

K = 5


def random_model(rng, inputs=6, latents=3, strategies=4, concentration=0.5):
    generator = rng.dirichlet(np.full(strategies, concentration), size=(inputs, latents))
    return cj.RouterGenerator(rng.dirichlet(np.ones(latents), size=inputs), generator)


def same(a, b):
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return all(np.array_equal(np.asarray(x), np.asarray(y)) for x, y in pairs)


# -- optima ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("concentration", [0.1, 1.0])
def test_a_router_reaches_the_concave_optimum(rng, key, concentration):
    model = random_model(rng, inputs=40, latents=6, strategies=8, concentration=concentration)
    policy, _ = cj.train_policy(key, cj.LatentIID, model, 16, steps=250)
    reached = cj.auc(cj.exact(policy, model, 16))
    best = np.array([brute.best_router_auc(table, 16) for table in model.generator])
    assert (best - reached).max() < 1e-4
    assert (reached - best).max() < 1e-5


def test_a_schedule_reaches_the_best_one_of_all(rng, key):
    model = random_model(rng, inputs=12, latents=3)
    policy, _ = cj.train_policy(key, cj.LatentSchedule, model, K, steps=300, seeds=32, every=300)
    assert isinstance(policy, cj.LatentSchedule)
    reached = cj.auc(cj.exact(policy, model, K))
    plans = np.eye(3)[list(itertools.product(range(3), repeat=K))]
    hits = plans[None] @ model.generator[:, None]
    best = (1 - np.cumprod(1 - hits, axis=2)).mean(axis=(2, 3)).max(axis=1)
    assert (reached <= best + 1e-6).all()
    assert (best - reached).mean() < 2e-4


def gap_closed(policy, model, draws):
    """The share of the gap between GreedyLatent and OptimalLatent."""
    greedy, best, reached = (
        cj.auc(cj.exact(p, model, draws, include=())) for p in (cj.GreedyLatent(), cj.OptimalLatent(), policy)
    )
    assert (reached <= best + 1e-6).all()
    return (reached - greedy).mean() / (best - greedy).mean()


def test_tables_trained_on_their_models_close_nine_tenths_of_the_gap_above_greedy(rng, key, tmp_path):
    """Exact gradients through the dynamic program, from equal logits; nobody tells what is optimal."""
    model = random_model(rng, inputs=8, latents=4, strategies=5, concentration=0.3)
    policy, _ = cj.train_policy(key, cj.LearnedLatent, model, 8, network="table", steps=120, every=120)
    assert gap_closed(policy, model, 8) > 0.9
    policy.save(tmp_path / "policy.npz")
    assert same(policy, cj.LearnedLatent(tmp_path / "policy.npz"))
    with pytest.raises(cj.InputError, match="the policy was made for 8 inputs"):
        cj.exact(policy, model.take([0]), 8)


@pytest.mark.slow
def test_a_network_closes_half_of_the_gap_above_greedy_on_models_it_never_saw(rng, key):
    trained, others = (
        random_model(rng, inputs=number, latents=4, strategies=4, concentration=0.2) for number in (400, 40)
    )
    policy, _ = cj.train_policy(
        key, cj.LearnedLatent, trained, 8,
        gradient="regret", steps=250, every=250, batch=32, trials=4, learning_rate=0.01, width=12,
    )  # fmt: skip
    assert gap_closed(policy, others, 8) > 0.5


@pytest.mark.parametrize(
    "objective",
    [
        "log_coverage",
        "full_coverage",
        *(pytest.param(o, marks=pytest.mark.slow) for o in ("coverage", "gain")),
    ],
)
def test_every_objective_rises_to_what_it_should(rng, key, objective):
    model = random_model(rng, concentration=1.0)
    policy, history = cj.train_policy(key, cj.LatentIID, model, 8, objective=objective, steps=100)
    form = cj.objectives.latent_iid(jax.nn.softmax(policy.params.logits[:, 0]), model.generator)
    extra = (model.marginal().marginals(),) if objective == "gain" else ()
    reached = getattr(cj.objectives, objective)(form, 8, *extra).mean()
    np.testing.assert_allclose(history["held_out"][0, -1], reached, rtol=1e-4)
    assert history["held_out"][0, -1] > history["held_out"][0, 0]


@pytest.mark.slow
def test_kl_keeps_a_router_at_its_base_and_entropy_makes_it_even(rng, key):
    model = random_model(rng)
    near, _ = cj.train_policy(key, cj.LatentIID, model, K, steps=200, kl=50.0)
    np.testing.assert_allclose(jax.nn.softmax(near.params.logits[:, 0]), model.router, atol=0.02)
    even, _ = cj.train_policy(key, cj.LatentIID, model, K, steps=200, entropy=50.0)
    np.testing.assert_allclose(jax.nn.softmax(even.params.logits[:, 0]), 1 / 3, atol=0.02)


def test_weights_say_what_counts(key):
    generator = np.array([[[1.0, 0.0], [0.0, 1.0]]] * 2)
    model = cj.RouterGenerator(np.full((2, 2), 0.5), generator)
    policy, _ = cj.train_policy(key, cj.LatentIID, model, 1, steps=100, weights=[[3.0, 1.0], [1.0, 3.0]])
    chosen = np.asarray(policy.params.logits[:, 0].argmax(axis=-1))
    assert chosen.tolist() == [0, 1]


def test_undeclared_and_invalid_draws_count_for_nothing(key):
    generator = np.array([[[1.0, 0.0], [0.0, 1.0]]] * 2)
    declared = [[True, False], [True, True]]
    model = cj.RouterGenerator(np.full((2, 2), 0.5), generator, declared=declared, valid=[0.1, 1.0])
    raw, _ = cj.train_policy(key, cj.LatentIID, model, 2, steps=50)
    assert raw.params.logits[0, 0, 0] > 1
    valid, _ = cj.train_policy(key, cj.LatentIID, model, 2, steps=50, coverage="valid")
    assert valid.params.logits[1, 0, 1] > valid.params.logits[1, 0, 0] + 0.1


# -- the machinery ---------------------------------------------------------------------------------


def interrupted(monkeypatch, after):
    """Stop right after so many checkpoints, as a signal would."""
    count = itertools.count(1)
    write = training.write_checkpoint

    def stopping(*args):
        write(*args)
        if next(count) == after:
            raise KeyboardInterrupt

    monkeypatch.setattr(training, "write_checkpoint", stopping)


RANDOMLY = {"steps": 24, "every": 5, "batch": 3, "held_out": 0.34, "trials": 2, "seeds": 2}
"""Random minibatches, held-out inputs and runs: everything that an interruption could mix up."""


@pytest.mark.parametrize("gradient", ["exact", pytest.param("score", marks=pytest.mark.slow)])
def test_an_interrupted_training_ends_in_the_same_bits(rng, key, tmp_path, monkeypatch, gradient):
    model = random_model(rng)
    settings = {**RANDOMLY, "gradient": gradient}
    whole, history = cj.train_policy(key, tiny(), model, K, **settings)
    file = tmp_path / "training.npz"
    with monkeypatch.context() as patch:
        interrupted(patch, after=2)
        with pytest.raises(KeyboardInterrupt):
            cj.train_policy(key, tiny(), model, K, checkpoint=file, **settings)
    resumed, after = cj.train_policy(key, tiny(), model, K, checkpoint=file, **settings)
    assert same(whole, resumed)
    for name in ("step", "train", "held_out", "best_step", "best_seed", "learning_rate"):
        np.testing.assert_array_equal(history[name], after[name])
    again, _ = cj.train_policy(key, tiny(), model, K, checkpoint=file, **settings)
    assert same(whole, again)
    assert [path.name for path in tmp_path.iterdir()] == ["training.npz"]


def test_a_checkpoint_of_another_training_is_refused(rng, key, tmp_path):
    model = random_model(rng)
    file = tmp_path / "training.npz"
    cj.train_policy(key, cj.LatentIID, model, K, steps=10, checkpoint=file)
    for change in ({"steps": 20}, {"objective": "coverage"}, {"weights": [1.0, 1.0, 1.0, 2.0]}):
        with pytest.raises(cj.InputError, match="checkpoint: must be of this training"):
            cj.train_policy(key, cj.LatentIID, model, K, checkpoint=file, **{"steps": 10, **change})
    with pytest.raises(cj.InputError, match="checkpoint: must be of this training"):
        cj.train_policy(key, cj.LatentIID, random_model(rng), K, steps=10, checkpoint=file)
    file.write_bytes(b"no checkpoint")
    with pytest.raises(cj.InputError, match="must be a checkpoint of coverjax"):
        cj.train_policy(key, cj.LatentIID, model, K, steps=10, checkpoint=file)


def test_a_training_is_a_function_of_its_key(rng):
    model = random_model(rng)
    settings = {**RANDOMLY, "gradient": "exact"}
    first, second, other = (
        cj.train_policy(jax.random.key(seed), tiny(), model, K, **settings)[0] for seed in (1, 1, 2)
    )
    assert same(first, second)
    assert not same(first, other)


@pytest.mark.slow
def test_the_best_of_seeds_and_evaluations_is_kept_and_patience_ends_training(rng, key):
    """Three seeds side by side, from their own starts; one run for all that must hold of it."""
    model = random_model(rng, inputs=10)
    policy, history = cj.train_policy(
        key, cj.LearnedLatent, model, K,
        network="mlp", steps=200, every=2, patience=3, held_out=0.3, learning_rate=1.0, decay="constant",
        width=4, seeds=3, sees="blind",
    )  # fmt: skip
    values, steps = history["held_out"], history["step"]
    assert values.shape == history["train"].shape == (3, len(steps))
    assert len(set(values[:, 0].tolist())) == 3
    assert steps[-1] < 200
    assert history["best_seed"] == values.max(axis=1).argmax()
    assert (history["best_step"] == steps[values.argmax(axis=1)]).all()
    assert (steps[-1] - history["best_step"] >= 6).all()
    curves = cj.exact(policy, model.take(history["judged"]), K)
    assert curves.inputs == 3
    np.testing.assert_allclose(cj.auc(curves).mean(), values.max(), atol=1e-6)


def test_learning_rates_warm_up_and_decay(rng, key):
    model = random_model(rng)
    _, history = cj.train_policy(
        key, cj.LatentIID, model, K, steps=40, every=10, warmup=20, learning_rate=0.1, decay="constant"
    )
    np.testing.assert_allclose(history["learning_rate"], [0.005, 0.055, 0.1, 0.1, 0.1])
    _, history = cj.train_policy(key, cj.LatentIID, model, K, steps=40, every=20, learning_rate=0.1)
    np.testing.assert_allclose(history["learning_rate"], [0.1, 0.05, 0.0], atol=1e-9)


@pytest.mark.slow
def test_a_batch_is_a_sample_of_the_inputs_and_its_gradient_their_mean(rng, key, monkeypatch):
    """Chunks of inputs add up to the same update as all at once."""
    model = random_model(rng, inputs=7)
    settings = {"steps": 5, "every": 5}
    whole, history = cj.train_policy(jax.random.clone(key), tiny(), model, K, **settings)
    with monkeypatch.context() as patch:
        patch.setattr(training, "GRADIENT_BYTES", 4 * 3 * (300 * K * 16 + 3 * K * 16) * 2)
        _, chunked = cj.train_policy(jax.random.clone(key), tiny(), model, K, **settings)
    # Adam turns the rounding of a gradient near 0 into a whole step: such parameters may differ.
    np.testing.assert_allclose(chunked["train"], history["train"], rtol=1e-4)
    small, history = cj.train_policy(key, tiny(), model, K, batch=2, **settings)
    assert np.isfinite(history["train"][0, 1:]).all()
    assert not same(whole, small)


def test_inputs_without_a_say_change_nothing(rng, key):
    model = random_model(rng, inputs=5)
    declared = np.ones((6, 4), bool)
    declared[5] = False
    more = cj.RouterGenerator(
        np.concatenate([model.router, model.router[:1]]),
        np.concatenate([model.generator, model.generator[:1]]),
        declared=declared,
    )
    without, _ = cj.train_policy(key, cj.LatentIID, model, K, steps=10)
    beside, history = cj.train_policy(key, cj.LatentIID, more, K, steps=10)
    np.testing.assert_allclose(beside.params.logits[:5], without.params.logits, atol=1e-3)
    assert (np.asarray(beside.params.logits[5]) == 0).all()
    assert np.isfinite(history["held_out"]).all()
    chosen = [1.0, 0.0, 0.0, 0.0, 0.0]
    only, _ = cj.train_policy(key, cj.LatentIID, model, K, steps=10, input_weights=chosen)
    assert (np.asarray(only.params.logits[1:]) == 0).all()
    assert (np.asarray(only.params.logits[0]) != 0).any()


def test_progress_goes_to_stderr_and_only_when_asked(rng, key, capsys):
    model = random_model(rng)
    cj.train_policy(key, cj.LatentIID, model, K, steps=10, every=5)
    assert capsys.readouterr() == ("", "")
    cj.train_policy(key, cj.LatentIID, model, K, steps=10, every=5, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "train" in err
    assert "10/10" in err


class Tilted(cj.Policy):
    """A user's own policy: a shared preference for each latent, sharper as draws go by."""

    preference: jax.Array
    slope: jax.Array

    sees = "blind"
    knows = "nothing"
    acts_on = "latents"
    markov = True

    @classmethod
    def start(cls, key, model, budget, size=0.1):
        return cls(size * jax.random.normal(key, (model.latents,)), jnp.zeros(()))

    def init(self, known):
        return ()

    def choose(self, known, state, draw):
        return self.preference * (1.0 + self.slope * draw.astype(self.preference.dtype))

    def update(self, known, state, draw, action, matched):
        return state


@pytest.mark.parametrize("gradient", ["exact", pytest.param("score", marks=pytest.mark.slow)])
def test_a_users_own_policy_is_trained_like_any_other(rng, key, gradient):
    generator = rng.dirichlet(np.ones(4), size=3)[None].repeat(4, axis=0)
    model = cj.RouterGenerator(np.full((4, 3), 1 / 3), generator)
    policy, _ = cj.train_policy(
        key, Tilted, model, K, steps=40, gradient=gradient, learning_rate=0.1, size=0.2, trials=32
    )
    assert isinstance(policy, Tilted)
    reached = cj.auc(cj.exact(policy, model, K)).mean()
    start = cj.auc(cj.exact(Tilted.start(key, model, K, size=0.0), model, K)).mean()
    assert reached > start


def test_a_users_own_network_is_trained_inside_learned_latent(rng, key):
    model = random_model(rng)
    policy, history = cj.train_policy(key, tiny(0.0), model, K, steps=30, learning_rate=0.5)
    assert policy.params.scale > 1
    assert history["held_out"][0, -1] > history["held_out"][0, 0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"sees": "latents", "network": "mlp", "knows": "router"},
        {"memory": "counts", "knows": "nothing"},
    ],
)
def test_policies_without_a_closed_form_learn_from_runs(rng, key, options):
    model = cj.families.confusion(4, 3, 0.1, router=[0.8, 0.1, 0.1])
    settings = {"steps": 60, "trials": 32, "gradient": "score", "learning_rate": 0.02, "width": 8}
    trained, history = cj.train_policy(key, cj.LearnedLatent, model, 4, **settings, **options)
    gained = history["held_out"][0, -1] - history["held_out"][0, 0]
    assert gained > 0.02
    curves = cj.simulate(key, trained, model, 4, 4000)
    assert abs(cj.auc(curves).mean() - history["held_out"][0].max()) < 0.05


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"objective": "speed"}, "objective: must be one of auc"),
        ({"budget": 0}, "budget: must be at least 1"),
        ({"model": "law"}, "model: must be a RouterGenerator"),
        ({"policy_class": cj.GreedyLatent}, "GreedyLatent can't be trained: offer a classmethod start"),
        ({"policy_class": cj.GreedyLatent()}, "must hold arrays of floats to train"),
        (
            {"policy_class": cj.LatentIID, "width": 3},
            "width: must be a setting of TrainConfig or of the policy",
        ),
        ({"wdth": 3}, "wdth: must be a setting .* LearnedLatent has network, width, sees"),
        ({"steps": 0}, "steps: must be a whole number >= 1"),
        ({"trials": 1}, "trials: must be a whole number >= 2"),
        ({"patience": 0}, "patience: must be a whole number >= 1"),
        ({"kl": -1.0}, "kl: must be a number >= 0"),
        ({"learning_rate": 0.0}, "learning_rate: must be above 0"),
        ({"decay": "linear"}, "decay: must be one of"),
        ({"gradient": "magic"}, "gradient: must be one of auto"),
        ({"held_out": 1.0}, "held_out: must be a share"),
        ({"held_out": 0.01}, "held_out: must leave inputs on both sides"),
        ({"policy_class": cj.LatentIID, "held_out": 0.5}, "held_out, batch: must be left out"),
        ({"policy_class": cj.LatentIID, "batch": 2}, "held_out, batch: must be left out"),
        ({"weights": [1.0]}, r"weights: must be \[4\] or \[6, 4\]"),
        ({"weights": [1.0, -1.0, 0.0, 0.0]}, "weights: must be finite numbers >= 0"),
        ({"weights": [0.0] * 4}, "no input can be trained for auc"),
        ({"input_weights": [1.0]}, r"input_weights: must be \[6\]"),
        ({"coverage": "valid"}, "coverage: must be a kind that the law can tell"),
        ({"sees": "latents", "gradient": "exact"}, "gradient: 'exact' needs a policy that is blind"),
        ({"sees": "latents", "gradient": "regret"}, "'regret' needs a policy that sees outcomes"),
        ({"gradient": "regret", "kl": 0.1}, "kl, entropy: must be 0 with gradient='regret'"),
        ({"gradient": "score", "objective": "log_coverage"}, "log_coverage is no mean over runs"),
        ({"network": "table", "sees": "latents"}, "network: 'table' has rows for draws and seen sets"),
        ({"network": "table", "memory": "counts"}, "network: 'table' has rows for draws and seen sets"),
        ({"network": "table", "budget": 10**6}, "network: a 'table' must hold at most"),
        ({"width": 0}, "width: must be a whole number >= 1"),
        ({"features": np.ones((6, 2))}, "features: only network='mlp'"),
    ],
)
def test_wrong_input_is_refused(rng, key, change, message):
    given = {"policy_class": cj.LearnedLatent, "model": random_model(rng), "budget": K, **change}
    if given["model"] == "law":
        given["model"] = cj.families.uniform(2, 3)
    with pytest.raises(cj.InputError, match=message):
        cj.train_policy(key, **given)


@pytest.mark.slow
def test_too_many_strategies_for_the_lattice_are_refused_or_simulated(rng, key):
    model = random_model(rng, inputs=2, strategies=17, concentration=5.0)
    for gradient in ("exact", "regret"):
        with pytest.raises(cj.InputError, match="needs the lattice"):
            cj.train_policy(key, tiny(), model, K, gradient=gradient)
    _, history = cj.train_policy(key, tiny(), model, K, steps=2, trials=2)
    assert np.isfinite(history["held_out"]).all()


def test_kl_needs_a_base_that_gives_every_latent(rng, key):
    model = cj.families.confusion(2, 3, 0.1, router=[1.0, 0.0, 0.0])
    with pytest.raises(cj.InputError, match="kl: the base router must give every latent"):
        cj.train_policy(key, cj.LatentIID, model, K, kl=0.1)
