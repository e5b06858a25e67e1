"""Evaluation of latents: every measure by enumeration, in closed cases, and on damaged input."""

import dataclasses
import math

import numpy as np
import pytest
import reference_sequences as reference
from scipy.optimize import linear_sum_assignment

import coverjax as cj
from coverjax.sequences.assignment import one_to_one, twins
from tests.forced_samples import KINDS, only, point, random_case


def evaluated(matches, router, reference=None, **options):
    return only(
        cj.sequences.evaluate(cj.sequences.ForcedSamples.from_arrays(matches, **options), router, reference)
    )


def confusion_counts(eps_counts, strategies=3):
    """Matches in which latent z writes strategy z in `right` of its samples and each other one in `wrong`."""
    right, wrong = eps_counts
    samples = right + wrong * (strategies - 1)
    one = np.zeros((strategies, samples, strategies), bool)
    for z in range(strategies):
        labels = [z] * right + [s for s in range(strategies) if s != z for _ in range(wrong)]
        one[z, np.arange(samples), labels] = True
    return one


class TestByEnumeration:
    @pytest.fixture(params=range(3))
    def case(self, request):
        return random_case(np.random.default_rng([request.param, 17]))

    def test_measures_of_the_mixture(self, case):
        matches, router = case
        base = [0.5, 0.2, 0.1]
        found = evaluated(matches, router, base)
        assert point(found.fidelity) == pytest.approx(reference.fidelity(matches, router), abs=1e-12)
        assert point(found.unique_share) == pytest.approx(reference.unique_share(matches, router), abs=1e-12)
        assert found.frequencies == pytest.approx(reference.frequencies(matches, router), abs=1e-12)
        expected = reference.total_variation(matches, router, base)
        assert point(found.total_variation) == pytest.approx(expected, abs=1e-12)

    @pytest.mark.parametrize("kind", KINDS)
    def test_agreement(self, case, kind):
        matches, router = case
        found = point(evaluated(matches, router).agreement[kind])
        assert found == pytest.approx(reference.agreement(matches, router, kind), abs=1e-12)

    def test_measures_of_the_latents(self, case):
        matches, router = case
        found = evaluated(matches, router)
        assert point(found.local_coverage) == pytest.approx(reference.local_coverage(matches), abs=1e-12)
        assert point(found.reached) == pytest.approx(reference.reached(matches), abs=1e-12)
        table = matches.mean(axis=2).mean(axis=0)
        assert found.table.mean == pytest.approx(table, abs=1e-12)
        assert point(found.alignment) == pytest.approx(reference.alignment(table), abs=1e-6)
        assert found.use == pytest.approx(router.mean(axis=0))

    def test_information(self, case):
        matches, router = case
        found = evaluated(matches, router)
        kl, both, entropy = reference.information(matches, router)
        assert found.kl == pytest.approx(kl, abs=1e-12, nan_ok=True)
        assert math.isnan(found.kl[-1])
        assert point(found.information) == pytest.approx(both, abs=1e-12)
        assert found.told == pytest.approx(both / entropy, abs=1e-12)
        _, both, entropy = reference.information(matches, np.full(router.shape, 1 / router.shape[1]))
        assert found.told_if_uniform == pytest.approx(both / entropy, abs=1e-12)

    def test_the_jackknife_leaves_out_one_input_of_everything(self, case):
        """Standard errors from evaluating again without each input."""
        matches, router = case
        found = evaluated(matches, router, [0.5, 0.2, 0.1])
        rows = [np.delete(np.arange(len(matches)), i) for i in range(len(matches))]
        without = [evaluated(matches[r], router[r], [0.5, 0.2, 0.1]) for r in rows]
        for read in (
            lambda f: f.agreement["intersection"],
            lambda f: f.agreement["unique"],
            lambda f: f.total_variation,
            lambda f: f.unique_share,
            lambda f: f.information,
        ):
            values = np.array([point(read(f)) for f in without])
            spread = math.sqrt((len(values) - 1) * values.var())
            assert read(found).stderr[0] == pytest.approx(spread, rel=1e-9)


class TestCalibration:
    """Symmetric confusion of 3 latents and 3 strategies (math.md, section 2)."""

    @pytest.mark.parametrize(
        ("counts", "agreement", "covered"), [((9534, 233), 0.91, 0.9555), ((9054, 473), 0.824, 0.9141)]
    )
    def test_known_values(self, counts, agreement, covered):
        eps = 2 * counts[1] / 10_000
        matches = np.broadcast_to(confusion_counts(counts), (4, 3, 10_000, 3))
        found = evaluated(matches, np.full((4, 3), 1 / 3), [1 / 3] * 3)
        assert point(found.agreement["intersection"]) == pytest.approx((1 - eps) ** 2 + eps**2 / 2, abs=1e-12)
        assert point(found.agreement["unique"]) == pytest.approx(agreement, abs=5e-4)
        assert point(found.local_coverage) == pytest.approx(covered, abs=5e-5)
        assert point(found.alignment) == pytest.approx(1 - eps, abs=1e-9)
        assert point(found.total_variation) == pytest.approx(0, abs=1e-12)
        assert (found.aligned, found.main) == ((0, 1, 2), ("0", "1", "2"))
        assert not found.collapsed

    def test_agrees_with_the_exact_law_of_its_own_table(self):
        """What one sample of every latent covers is C(L) of no-repeat latents in the model that W gives."""
        samples = cj.sequences.ForcedSamples.from_arrays(random_case(np.random.default_rng(5))[0])
        model = samples.model(np.full((5, 3), 1 / 3))
        exact = cj.exact(cj.LatentNoRepeat(), model, 3).coverage[:, -1].mean()
        found = only(cj.sequences.evaluate(samples, model.router))
        assert point(found.local_coverage) == pytest.approx(exact, abs=1e-12)
        assert point(found.fidelity) == pytest.approx(
            (model.router[:, :, None] * model.generator * samples.sets()[0].any(axis=1)).sum() / 5, abs=1e-12
        )

    @pytest.mark.statistical
    def test_agreement_is_unbiased(self, rng):
        """1,000 logs of a known model; |z| < 5: false alarm 6e-7."""
        inputs, latents, strategies = 3, 2, 2
        generator = rng.dirichlet(np.ones(strategies + 1), size=(inputs, latents))
        router = rng.dirichlet(np.ones(latents), size=inputs)
        pairs = [(i, j) for i in range(inputs) for j in range(inputs) if i != j]
        exact = np.mean([
            sum(router[i, z] * (generator[i, z, :2] * generator[j, z, :2]).sum() for z in range(latents))
            for i, j in pairs
        ])  # fmt: skip
        values = []
        for _ in range(1000):
            labels = (rng.random((inputs, latents, 2, 1)) > generator.cumsum(axis=2)[:, :, None, :2]).sum(
                axis=3
            )
            values.append(reference.agreement(np.eye(3, 2, dtype=bool)[labels], router, "intersection"))
        assert abs(np.mean(values) - exact) < 5 * np.std(values) / math.sqrt(1000)


class TestKindsOfLatents:
    def test_a_collapsed_model_is_told(self):
        """All latents write the same mixture: nothing is told, though fidelity is perfect."""
        matches = np.broadcast_to(confusion_counts((10, 5))[:1], (6, 4, 20, 3))
        found = evaluated(matches, np.full((6, 4), 0.25), [0.5, 0.25, 0.25])
        assert found.collapsed
        assert found.told_if_uniform == pytest.approx(0, abs=1e-9)
        assert point(found.fidelity) == 1.0
        assert point(found.agreement["intersection"]) == pytest.approx(0.5**2 + 2 * 0.25**2)
        assert found.twins == ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
        assert any(line.startswith("collapsed") for line in found.warnings)

    def test_one_strategy_only_is_a_collapse(self):
        """Agreement 1 by dropping strategies: total variation and coverage say so."""
        matches = np.zeros((6, 3, 4, 3), bool)
        matches[..., 0] = True
        found = evaluated(matches, np.full((6, 3), 1 / 3), [0.6, 0.3, 0.1])
        assert point(found.agreement["unique"]) == pytest.approx(1.0, abs=1e-12)
        assert point(found.total_variation) == pytest.approx(0.4)
        assert point(found.local_coverage) == pytest.approx(1 / 3)
        assert found.collapsed
        assert math.isnan(found.told)

    def test_dead_latents_and_twins(self):
        matches = np.zeros((5, 4, 6, 2), bool)
        matches[:, [0, 1, 3], :, 0] = True
        matches[:, 2, :, 1] = True
        router = np.tile([0.3, 0.3, 0.395, 0.005], (5, 1))
        found = evaluated(matches, router)
        assert found.dead == (3,)
        assert found.twins == ((0, 1),)
        assert found.main == ("0", "0", "1", "0")
        assert found.purity.tolist() == [1, 1, 1, 1]
        assert found.aligned in ((0, 2), (1, 2), (3, 2))
        assert found.effective_latents == pytest.approx(
            math.exp(-sum(r * math.log(r) for r in (0.3, 0.3, 0.395, 0.005)))
        )

    def test_a_latent_that_means_another_strategy_on_each_input_does_not_agree(self):
        """Alignment and coverage differ: each input is covered, no latent keeps its meaning."""
        matches = np.zeros((6, 3, 4, 3), bool)
        for x in range(6):
            for z in range(3):
                matches[x, z, :, (z + x) % 3] = True
        found = evaluated(matches, np.full((6, 3), 1 / 3))
        assert point(found.local_coverage) == 1.0
        assert point(found.alignment) == pytest.approx(1 / 3)
        assert point(found.agreement["intersection"]) == pytest.approx(6 / 30)

    def test_fewer_latents_than_strategies(self):
        matches = np.zeros((4, 2, 3, 3), bool)
        matches[:, 0, :, 2] = matches[:, 1, :, 0] = True
        found = evaluated(matches, np.full((4, 2), 0.5))
        assert found.aligned == (1, None, 0)
        assert point(found.alignment) == pytest.approx(2 / 3)
        assert any("2 latents for 3 strategies" in line for line in found.warnings)

    def test_one_input_can_not_agree(self):
        found = evaluated(np.ones((1, 2, 3, 1), bool), [[0.5, 0.5]])
        assert math.isnan(point(found.agreement["intersection"]))
        assert any("1 input" in line for line in found.warnings)

    def test_nothing_matches(self):
        found = evaluated(np.zeros((4, 2, 3, 2), bool), np.full((4, 2), 0.5), [0.5, 0.5])
        assert (point(found.fidelity), point(found.agreement["intersection"])) == (0.0, 0.0)
        assert math.isnan(point(found.unique_share))
        assert point(found.total_variation) == 1.0
        assert found.collapsed
        assert (found.main, found.purity.tolist()) == (("off-strategy",) * 2, [0.0, 0.0])
        assert found.warnings == (
            "no forced sample matches a strategy: there is nothing to tell the latents apart by",
        )

    def test_a_latent_that_mostly_writes_nothing(self):
        matches = np.zeros((4, 2, 5, 2), bool)
        matches[:, 0, :2, 1] = True
        matches[:, 1, :3, 0] = True
        found = evaluated(matches, np.full((4, 2), 0.5))
        assert found.main == ("off-strategy", "0")
        assert found.purity == pytest.approx([0.4, 0.6])


class TestInvariance:
    def test_order_of_latents_strategies_and_inputs_does_not_matter(self, rng):
        matches, router = random_case(rng, inputs=6)
        base = np.array([0.5, 0.2, 0.1])
        one = evaluated(matches, router, base)
        x, z, s = rng.permutation(6), rng.permutation(3), rng.permutation(3)
        other = evaluated(matches[x][:, z][..., s], router[x][:, z], base[s])
        for read in (
            *(lambda f, kind=kind: f.agreement[kind] for kind in KINDS),
            lambda f: f.fidelity,
            lambda f: f.total_variation,
            lambda f: f.alignment,
            lambda f: f.local_coverage,
            lambda f: f.information,
        ):
            assert point(read(other)) == pytest.approx(point(read(one)), abs=1e-9)
            assert read(other).stderr == pytest.approx(read(one).stderr, abs=1e-9)

    def test_more_unused_latents_change_nothing_under_the_router(self, rng):
        matches, router = random_case(rng)
        more = np.concatenate([matches, ~matches[:, :1]], axis=1)
        wide = np.concatenate([router, np.zeros((5, 1))], axis=1)
        one, other = evaluated(matches, router), evaluated(more, wide)
        assert point(other.fidelity) == pytest.approx(point(one.fidelity), abs=1e-12)
        assert point(other.agreement["intersection"]) == pytest.approx(
            point(one.agreement["intersection"]), abs=1e-12
        )
        assert point(other.information) == pytest.approx(point(one.information), abs=1e-12)


class TestFamilies:
    def mixed(self, rng):
        """Two families with 2 and 3 strategies, padded."""
        matches = rng.random((9, 2, 4, 3)) < 0.4
        matches[:4, ..., 2] = False
        names = [("a/1", "a/2")] * 4 + [("b/1", "b/2", "b/3")] * 5
        return matches, names, rng.dirichlet(np.ones(2), size=9)

    def test_each_is_evaluated_alone(self, rng):
        matches, names, router = self.mixed(rng)
        samples = cj.sequences.ForcedSamples.from_arrays(matches, names=names)
        assert samples.families == ("a",) * 4 + ("b",) * 5
        shares = {"a": [0.7, 0.3], "b": [0.5, 0.3, 0.2]}
        found = cj.sequences.evaluate(samples, router, shares)
        parts = {"a": (slice(0, 4), 2), "b": (slice(4, 9), 3)}
        for name, (rows, width) in parts.items():
            alone = evaluated(matches[rows][..., :width], router[rows], shares[name])
            both = found.families[name]
            assert both.strategies == names[rows.start]
            assert point(both.agreement["equality"]) == point(alone.agreement["equality"])
            assert point(both.local_coverage) == point(alone.local_coverage)
            assert point(both.total_variation) == pytest.approx(point(alone.total_variation), abs=1e-12)
        rows = np.array([[0.7, 0.3, 0.0]] * 4 + [[0.5, 0.3, 0.2]] * 5)
        by_input = cj.sequences.evaluate(samples, router, rows)
        by_strategy = cj.sequences.evaluate(
            samples, router, {"a/1": 0.7, "a/2": 0.3, "b/2": 0.3, "b/1": 0.5, "b/3": 0.2}
        )
        assert by_input.overall == pytest.approx(found.overall)
        assert by_strategy.overall == pytest.approx(found.overall)
        for measure in ("fidelity", "local_coverage"):
            values = [point(getattr(family, measure)) for family in found.families.values()]
            assert found.overall[measure] == pytest.approx(np.mean(values))

    def test_a_reference_by_input(self, rng):
        matches, router = random_case(rng)
        shares = rng.dirichlet(np.ones(3), size=5)
        found = evaluated(matches, router, shares)
        expected = reference.total_variation(matches, router, shares.mean(axis=0))
        assert point(found.total_variation) == pytest.approx(expected, abs=1e-12)
        assert evaluated(matches, router).total_variation is None


@pytest.mark.parametrize("shape", [(5, 3), (3, 3), (2, 4), (7, 4)])
def test_one_to_one_is_the_best_assignment(shape, rng):
    for _ in range(20):
        table = rng.random(shape).round(1)
        chosen = one_to_one(table)
        latents = [z for z in chosen if z is not None]
        assert len(set(latents)) == len(latents) == min(shape)
        best = table[linear_sum_assignment(table, maximize=True)].sum()
        assert sum(table[z, s] for s, z in enumerate(chosen) if z is not None) == pytest.approx(
            best, abs=1e-6
        )


def test_twins_are_pairs_in_use():
    laws = np.array([[1.0, 0.0], [0.95, 0.05], [0.0, 1.0], [1.0, 0.0]])
    assert twins(laws, np.array([0.5, 0.3, 0.2, 0.0]), 0.1, 0.01) == ((0, 1),)


FORCED = cj.sequences.ForcedSamples.from_arrays
YES = np.ones((2, 1, 1, 1), bool)
ONE, LABELS = YES[:1], {"names": [("a",), ("b",)]}


def from_log(latent, **more):
    return cj.sequences.ForcedSamples.from_log(
        cj.SampleLog.from_arrays(np.ones((len(latent or [0]), 3, 1), bool), latent=latent, **more)
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FORCED(YES[0]), r"matches: must be \[inputs, latents, samples"),
        (lambda: FORCED(np.ones((2, 3, 1, 1))), "matches: must be bool; got float64"),
        (lambda: FORCED(YES[:0]), "at least one of each"),
        (lambda: FORCED(ONE, names=[("a", "b")]), "names: must list 1 to 1"),
        (lambda: FORCED(np.ones((1, 1, 1, 2), bool), names=[("a",)]), "False beyond the strategies"),
        (lambda: FORCED(ONE, valid=np.array([True])), r"valid: must be bool \[1, 1, 1\]"),
        (lambda: FORCED(YES, families=["a"]), "families: must name that of"),
        (lambda: FORCED(YES, **LABELS), "families: must have one list of strategies each; 'all' has a and b"),
        (lambda: FORCED(YES).family_table("b"), "family: must be one of all"),
        (
            lambda: cj.sequences.ForcedSamples.from_results(np.empty((1, 1), object), None, [1]),
            r"results: must be \[inputs, latents",
        ),
        (lambda: from_log(None), "log: must have the latent of each sample"),
        (
            lambda: cj.sequences.evaluate(
                dataclasses.replace(
                    cj.SampleLog.from_arrays(np.ones((2, 1, 1), bool), latent=[[0], [0]]),
                    declared_given=False,
                ),
                [[1.0]] * 2,
            ),
            "log: must come with its declared strategies",
        ),
        (lambda: from_log([(0, 1, 0)]), "log: must hold equally many samples of every latent"),
        (
            lambda: from_log([(0, 0, 0)] * 2, method=["a", "b"], ids=["x", "y"]),
            "log: must hold one method; got a, b",
        ),
        (lambda: evaluated(YES, [[1.0]]), "router|generator"),
        (lambda: evaluated(np.ones((1, 2, 1, 1), bool), [[0.5, 0.2]]), "router"),
        (lambda: evaluated(ONE, [[1.0]], [0.5, 0.5]), r"reference: must be \[1\] or"),
        (lambda: evaluated(ONE, [[1.0]], [[1.0]] * 3), "reference: must have a row for each of the 1 inputs"),
        (lambda: evaluated(ONE, [[1.0]], [1.5]), "reference: must be shares that sum"),
        (lambda: evaluated(ONE, [[1.0]], {"b": [1.0]}), "there is no b"),
        (
            lambda: evaluated(ONE, [[1.0]], {"b": 1.0}),
            "reference: must give a share for each strategy; missing: 0; unknown: b",
        ),
        (
            lambda: cj.sequences.evaluate(FORCED(YES, families=["a", "b"]), [[1.0]] * 2, [1.0]),
            "reference: must be one a family by name: there are a, b",
        ),
    ],
)
def test_wrong_input_is_one_line(call, message):
    with pytest.raises(cj.InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
