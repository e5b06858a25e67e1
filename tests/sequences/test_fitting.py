"""Fits: what they learn, that they resume bit for bit, and what is refused."""

import jax
import numpy as np
import pytest

from coverjax.foundation.checks import InputError
from coverjax.sequences import parting, runs
from coverjax.sequences.corpora import corpora
from coverjax.sequences.factorization import base_surprisals
from coverjax.sequences.fitting import default_latents, factorize, fit_base
from coverjax.sequences.parting import updates_of_parts
from coverjax.sequences.pruning import PRICE
from coverjax.sequences.roles import role
from coverjax.sequences.settings import FitConfig, SplitConfig
from coverjax.sequences.tasks.registry import task
from coverjax.sequences.telling import told_apart
from coverjax.sequences.tokenizer import Tokenizer
from coverjax.sequences.transformer import Size
from coverjax.sequences.updates import chosen

TINY = {
    "size": Size(width=8, layers=1, heads=1, hidden=8),
    "batch": 8,
    "texts": 40,
    "held_out": 8,
    "warmup": 2,
    "progress": False,
}
KEY = 11
LENGTH = {"steps": 16, "every": 8}


@pytest.fixture(scope="module")
def subject():
    return task("list_summation")


@pytest.fixture(scope="module")
def base(subject):
    return fit_base(jax.random.key(KEY), subject, **LENGTH, **TINY)


def numbers(model):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(model)]


def same(a, b):
    for one, other in zip(numbers(a), numbers(b), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_fit_learns(base):
    _, history = base
    assert history["step"].tolist() == [8, 16]
    assert history["loss"][1] < history["loss"][0]
    assert np.isfinite(history["held_out"]).all()


def test_texts_are_chosen_for_few_updates_at_once_however_rarely_it_is_told(subject, base, monkeypatch):
    """Chosen for all up to the next evaluation they could take more memory than there is."""
    counts = []

    def spy(corpus, key, first, count, batch):
        counts.append(count)
        return chosen(corpus, key, first, count, batch)

    monkeypatch.setattr(runs, "chosen", spy)
    monkeypatch.setattr(runs, "AT_ONCE", 3)
    model, history = fit_base(jax.random.key(KEY), subject, **LENGTH, **TINY)
    same(model, base[0])
    np.testing.assert_allclose(history["loss"], base[1]["loss"], rtol=1e-6)
    assert counts == [3] * 6
    model, _ = fit_base(jax.random.key(KEY), subject, steps=LENGTH["steps"], every=10**9, **TINY)
    same(model, base[0])
    assert counts == [3] * 12


class StoppedError(Exception):
    """Stands for a machine that goes away."""


KINDS = {
    "base": {},
    "balanced": {"latents": 2},
    "pruned": {"latents": 4, "prune": 1e-9},
}


@pytest.mark.parametrize(
    "kind", ["base", *(pytest.param(k, marks=pytest.mark.slow) for k in KINDS if k != "base")]
)
def test_an_interrupted_fit_ends_with_the_bits_of_one_that_was_not(
    subject, base, tmp_path, monkeypatch, kind
):
    """However often it is stopped: at every checkpoint, before and after latents are pruned."""

    def fit(checkpoint):
        settings = {**LENGTH, **TINY, **KINDS[kind], "checkpoint": checkpoint}
        if kind == "base":
            return fit_base(jax.random.key(KEY), subject, **settings)
        return factorize(jax.random.key(KEY), subject, base[0], **settings)

    whole, told = base if kind == "base" else fit(None)
    write = runs.write_checkpoint

    def write_and_stop(*args):
        write(*args)
        raise StoppedError

    path = tmp_path / "unfinished.npz"
    for _ in told["step"]:
        monkeypatch.setattr(runs, "write_checkpoint", write_and_stop)
        with pytest.raises(StoppedError):
            fit(path)
        monkeypatch.undo()
    resumed, history = fit(path)
    same(resumed, whole)
    for name in ("step", "loss", "held_out", "use"):
        np.testing.assert_array_equal(history[name], told[name])


def test_a_checkpoint_of_another_fit_is_refused(subject, tmp_path):
    path = tmp_path / "unfinished.npz"
    settings = {**TINY, "checkpoint": path}
    fit_base(jax.random.key(KEY), subject, **LENGTH, **settings)
    with pytest.raises(InputError, match="must be of this training"):
        fit_base(jax.random.key(KEY + 1), subject, **LENGTH, **settings)


def test_a_corpus_holds_no_input_that_is_held_out(subject):
    fitted, held, lengths = corpora(jax.random.key(0), subject, FitConfig(texts=60, held_out=20))
    tokenizer = Tokenizer(subject.vocabulary())
    for texts, wanted in ((fitted, {"fit"}), (held, {"development", "test"})):
        roles = {
            role(tokenizer.decode(np.asarray(row[1 : slot - 1])))
            for row, slot in zip(texts.tokens, texts.slots, strict=True)
        }
        assert roles == wanted or roles < wanted
    assert len(fitted.slots) == 60
    assert lengths == (14, int(max(fitted.ends.max(), held.ends.max())) + 1)


def test_latents_by_default_are_a_few_more_than_strategies(subject):
    """As the documentation has it: of a mixture, for all its families."""
    assert default_latents(subject) == 7
    assert default_latents(task("multi_task")) == 35


def test_where_latents_are_pruned_there_are_three_for_each_strategy_of_an_input():
    assert default_latents(task("base_conversion"), pruned=True) == 9
    assert default_latents(task("multi_task"), pruned=True) == 12


def test_latents_are_pruned_unless_their_number_is_given():
    assert SplitConfig().price == PRICE
    assert SplitConfig(latents=7).price == 0.0
    assert SplitConfig(prune=0).price == 0.0
    assert SplitConfig(latents=7, prune=0.1).price == 0.1
    assert SplitConfig(objective="marginal").price == 0.0
    assert SplitConfig().schedule[0] == 0.4
    assert SplitConfig(latents=7).schedule == (0.25, 0.45)
    assert SplitConfig(latents=7, hold=0.9).schedule == (0.9, 1.0)


def test_the_updates_of_the_four_parts():
    def parts(steps, **split):
        return updates_of_parts(FitConfig(steps=steps), SplitConfig(**split))

    assert parts(1600, hold=0.25) == (400, 400, 300, 500)
    assert parts(11, hold=0.25) == (3, 2, 2, 4)
    assert parts(2, hold=0.5) == (1, 0, 0, 1)
    assert parts(1) == parts(100, prune=0.0) == parts(100, objective="elbo") == ()


@pytest.mark.slow
def test_latents_that_the_texts_do_not_miss_are_dropped(subject, base):
    """A base that knows little gives latents that tell nothing: one is enough, and its texts go on."""
    settings = {**TINY, "steps": 10, "every": 3}
    model, history = factorize(jax.random.key(3), subject, base[0], **settings)
    assert model.latents == 1
    assert history["step"].tolist() == [3, 4, 6, 7, 10]
    assert history["use"].shape == (5, 12)
    np.testing.assert_allclose(history["use"].sum(axis=-1), 1.0, rtol=1e-5)
    assert (history["use"][:2] > 0.0).all()
    np.testing.assert_array_equal(history["use"][2:, 1:], 0.0)
    assert (np.diff(history["seconds"]) > 0.0).all()


@pytest.mark.parametrize("whole", [[0, 1, 2], [0, 1, 0]], ids=["three", "two of them one"])
def test_in_the_last_parts_texts_that_were_told_apart_are_drawn(subject, base, monkeypatch, whole):
    """All are told apart, by latents in order, those that are one as one; batches are of what they become."""
    seen, drawn = [], []

    def spy(texts, latent, latents, first_latent):
        seen.append((texts, latent, latents))
        drawn.append(told_apart(texts, latent, latents, first_latent))
        return drawn[-1]

    def told(model, texts, progress=False):
        return (np.arange(3.0) - np.arange(len(texts.slots))[:, None]) % 3, np.zeros((len(texts.slots), 3))

    def reverse(router):
        return np.tile([2, 1, 0], (len(router), 1))

    def everyone(model, *_):
        return list(range(model.latents))

    monkeypatch.setattr(parting, "told_apart", spy)
    monkeypatch.setattr(parting, "_told", told)
    monkeypatch.setattr(parting, "_needed", everyone)
    monkeypatch.setattr(parting, "_alive", everyone)
    monkeypatch.setattr(parting, "ordered_latents", reverse)
    monkeypatch.setattr(parting, "merged_latents", lambda *_: np.array(whole))
    settings = {**TINY, "steps": 10}
    fitted = []
    monkeypatch.setattr(runs, "chosen", lambda corpus, *rest: fitted.append(corpus) or chosen(corpus, *rest))
    model, _ = factorize(jax.random.key(3), subject, base[0], latents=3, prune=1e-9, every=10, **settings)
    assert model.latents == len(set(whole))
    ((texts, latent, latents),) = seen
    corpus, _, _ = corpora(jax.random.split(jax.random.key(3), 3)[0], subject, FitConfig(**settings))
    same(texts, corpus)
    np.testing.assert_array_equal(latent, np.array(whole)[2 - np.arange(len(corpus.slots)) % 3])
    assert latents == len(set(whole))
    for plain in fitted[:2]:
        same(plain, corpus)
    assert fitted[2] is drawn[0]
    # In the end none is told.
    assert not np.array_equal(fitted[2].tokens, fitted[3].tokens)
    same(fitted[3], drawn[0].with_slots(model.tokenizer.latent(-1)))


def test_latents_without_texts_are_dropped_at_the_end_unless_they_are_needed(subject, base, monkeypatch):
    """0 writes most; 1 a few that no other writes, though the router gives it nothing; 2 and 3 write what 0
    does, 2 has a part of the texts and writes some of them better, until it doesn't."""
    model = base[0].with_latents(jax.random.key(1), 4)
    corpus, _, _ = corpora(jax.random.key(0), subject, FitConfig(**LENGTH, **TINY))
    told = np.full((40, 4), 9.0)
    told[:30, [0, 3]] = told[30:, 1] = 1.0
    told[:30, 2], told[:3] = 3.0, [6.0, 9.0, 1.0, 6.0]
    shares = np.log(np.full((40, 4), [0.945, 0.0, 0.05, 0.005]) + 1e-12)
    monkeypatch.setattr(parting, "_told", lambda *_: (told, shares))
    assert parting._alive(model, corpus, PRICE) == [0, 1, 2]
    told[:3, [0, 3]] = 1.0
    assert parting._alive(model, corpus, PRICE) == [0, 1]


def test_the_history_tells_the_latents_of_the_model_first():
    def told(use, seconds):
        numbers = np.arange(len(use), dtype=float)
        return {"step": numbers, "loss": numbers, "held_out": numbers, "seconds": seconds, "use": use}

    equal = told(np.array([[0.1, 0.2, 0.3, 0.4]]), np.array([5.0]))
    free = told(np.array([[0.6, 0.3, 0.1], [0.1, 0.8, 0.1]]), np.array([1.0, 2.0]))
    last = told(np.array([[0.2, 0.8]]), np.array([4.0]))
    numbers = [np.arange(4), np.array([1, 2, 3]), np.array([1, 3]), np.array([3])]
    found = parting._joined([equal, free, last], numbers)
    # 3 is the model's; 1 was dropped at the end, 2 after the second part, 0 after the first.
    np.testing.assert_allclose(
        found["use"],
        [[0.4, 0.2, 0.3, 0.1], [0.1, 0.6, 0.3, 0.0], [0.1, 0.1, 0.8, 0.0], [0.8, 0.2, 0.0, 0.0]],
    )
    assert found["seconds"].tolist() == [5.0, 6.0, 7.0, 11.0]


@pytest.mark.slow
def test_one_update_keeps_all_latents(subject, base):
    model, history = factorize(jax.random.key(3), subject, base[0], **{**TINY, "steps": 1})
    assert model.latents == history["use"].shape[1] == 12


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["marginal", "beta_elbo", "global_token"])
def test_objectives_from_a_base_run_and_use_is_a_share(subject, base, objective):
    model, history = factorize(
        jax.random.key(2), subject, base[0], objective=objective, latents=2, steps=1, every=1, **TINY
    )
    assert model.latents == 2
    np.testing.assert_allclose(history["use"].sum(axis=-1), 1.0, rtol=1e-5)
    assert np.isfinite(history["loss"]).all()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"steps": 0}, "steps: must be a whole number >= 1; got 0"),
        ({"batch": 2.5}, "batch: must be a whole number >= 1; got 2.5"),
        ({"learning_rate": 0.0}, "learning_rate: must be above 0; got 0.0"),
        ({"decay": -0.1}, "decay: must be a number >= 0; got -0.1"),
        ({"size": "huge"}, "size: must be one of quick"),
        ({"objective": "best"}, "objective: must be one of marginal"),
        ({"latents": 0}, "latents: must be a whole number >= 1; got 0"),
        ({"alpha": 1.5}, "alpha: must be a number from 0 to 1; got 1.5"),
        ({"gamma": -1.0}, "gamma: must be a number from 0 to inf; got -1.0"),
        ({"beta": -1.0}, "beta: must be a number >= 0; got -1.0"),
        ({"beta": 0.3, "objective": "elbo"}, "beta: must be left out of 'elbo'; 'beta_elbo' takes one"),
        ({"beta": 0.3, "objective": "marginal"}, "beta: must be left out of 'marginal'"),
        ({"latents": 7, "hold": 0.5, "fade": 0.2}, "fade: must not be below hold = 0.5; got 0.2"),
        ({"prune": -1.0}, "prune: must be a number from 0 to inf; got -1.0"),
        ({"prune": 0.1, "objective": "elbo"}, "prune: must be left out of 'elbo'"),
        ({"hold": 0.5, "fade": 0.7}, "fade: must be left out where latents are pruned"),
        ({"hold": 0.0, **TINY, **LENGTH}, "hold: must leave updates before and after .* got 0 of 16 updates"),
        ({"hold": 1.0, **TINY, **LENGTH}, "hold: must leave updates before and after .* got 1 of 16 updates"),
    ],
)
def test_settings_without_a_meaning_are_refused(subject, settings, said):
    with pytest.raises(InputError, match=said):
        factorize(jax.random.key(0), subject, None, **settings)


def test_objectives_that_measure_against_a_base_need_one(subject):
    with pytest.raises(InputError, match="'global' measures against a base model; fit one with fit_base"):
        factorize(jax.random.key(0), subject, None, objective="global", **TINY)


def test_a_base_of_another_task_is_refused(base):
    with pytest.raises(InputError, match="base: must be a model of base_conversion"):
        factorize(jax.random.key(0), task("base_conversion"), base[0], **TINY)


def test_a_base_that_has_latents_is_refused(subject, base):
    model = base[0].with_latents(jax.random.key(1), 3)
    with pytest.raises(InputError, match="base: must be a base model; this one has 3 latents already"):
        factorize(jax.random.key(0), subject, model, **TINY)


def test_a_rate_that_is_too_large_is_named(subject):
    with pytest.raises(InputError, match="learning_rate: the loss became nan by update"):
        fit_base(jax.random.key(0), subject, **LENGTH, learning_rate=1e30, **TINY)


@pytest.mark.parametrize(
    ("before", "missing", "later"),
    [([], "", "free-"), ([""], "free-", "told-"), (["", "free-"], "told-", "even-"), ([], "told-", "even-")],
)
def test_a_part_without_the_one_before_it_is_refused(subject, base, tmp_path, before, missing, later):
    """Someone removed a checkpoint to begin anew: the later one is of the fit that was given up."""
    first = tmp_path / "unfinished.npz"
    there = [tmp_path / f"{part}unfinished.npz" for part in (*before, later)]
    for path in there:
        path.write_bytes(b"of another fit")
    said = rf"{later}unfinished\.npz: goes on from {missing}unfinished\.npz, which is not there; remove"
    with pytest.raises(InputError, match=said):
        factorize(jax.random.key(0), subject, base[0], **LENGTH, **TINY, checkpoint=first)
    assert sorted(tmp_path.iterdir()) == sorted(there)


@pytest.mark.parametrize("held_out", [100, 300])
def test_every_held_out_text_counts_once(subject, base, held_out):
    settings = FitConfig(**{**LENGTH, **TINY, "held_out": held_out})
    _, held, _ = corpora(jax.random.key(0), subject, settings)
    told = np.asarray(base_surprisals(base[0], held).sum(axis=-1))
    assert len(told) == held_out
    fit = runs.Run(base[0], held, held, jax.random.key(1), settings, None)
    assert fit._held_out(base[0]) == pytest.approx(told.mean(), rel=1e-6)


def test_decay_keeps_numbers_small(subject, base):
    """Of a base model it is on unless it is 0."""
    assert FitConfig().rate_and_decay("base") == (0.02, 0.1)
    assert FitConfig().rate_and_decay("balanced") == (0.04, 0.0)
    assert FitConfig().rate_and_decay("marginal") == (0.02, 0.0)
    assert FitConfig(learning_rate=0.1, decay=0.0).rate_and_decay("base") == (0.1, 0.0)
    none, much = (
        fit_base(jax.random.key(KEY), subject, **LENGTH, **TINY, decay=decay)[0] for decay in (0.0, 20.0)
    )
    lengths = [np.square(model.network.embedding).sum() for model in (none, base[0], much)]
    assert lengths[0] > lengths[1] > 1.2 * lengths[2]


def test_numbers_of_the_objectives_by_default():
    assert SplitConfig(objective="beta_elbo").weights().beta == 0.3
    assert SplitConfig(objective="elbo").weights().beta == 1.0
    assert SplitConfig(objective="global", alpha=0.2).weights().alpha == 1.0
