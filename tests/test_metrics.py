"""AUC, gain, time to coverage, against brute force over runs and small cases worked by hand."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
import reference_inference as reference

import coverjax as cj
from coverjax.foundation.checks import InputError
from coverjax.metrics import need


def curves_of(coverage, **changes):
    coverage = np.asarray(coverage, dtype=float)
    inputs, budgets = coverage.shape
    fields = {
        "budgets": np.arange(1, budgets + 1),
        "distinct": coverage,
        "declared": np.ones(inputs, dtype=int),
        "ids": np.arange(inputs).astype(object),
    }
    return cj.Curves(coverage=coverage, **{**fields, **changes})


def iid_curves(probs, budgets, **changes):
    """Coverage of independent draws of single labels, with the strategies' AUC over ALL k up to the last."""
    probs, budgets = np.asarray(probs, dtype=float), np.asarray(budgets)
    declared = (~np.isnan(probs)).sum(axis=1)
    seen = 1 - (1 - probs[:, None, :]) ** np.arange(1, budgets[-1] + 1)[:, None]
    return curves_of(
        np.nansum(seen, axis=2)[:, budgets - 1] / np.maximum(declared, 1)[:, None],
        budgets=budgets,
        declared=declared,
        strategy_auc=seen.mean(axis=1),
        strategy_probability=probs,
        **changes,
    )


def oracle_curves(declared, budget, **changes):
    k = np.arange(1, budget + 1)
    return curves_of(np.minimum(k, declared) / declared, declared=declared[:, 0], **changes)


class TestAuc:
    def test_it_is_the_plain_mean_over_all_budgets(self):
        assert cj.auc(curves_of([[0.5, 0.75, 1.0], [0.0, 0.0, 0.5]])).tolist() == [0.75, 0.5 / 3]

    def test_skipped_budgets_need_the_closed_form_and_give_the_same(self, rng):
        probs = rng.dirichlet(np.ones(5), size=4)
        probs[1, 3:] = np.nan
        every, some = iid_curves(probs, np.arange(1, 65)), iid_curves(probs, [1, 2, 4, 8, 64])
        np.testing.assert_allclose(cj.auc(some), cj.auc(every), rtol=1e-13)
        with pytest.raises(InputError, match="every budget from 1 to 64, or the closed form `strategy_auc`"):
            cj.auc(dataclasses.replace(some, strategy_auc=None))

    def test_short_and_undeclared_inputs_are_nan(self):
        lost = np.array([[0.5, 0.5], [np.nan, np.nan], [np.nan, np.nan]])
        curves = curves_of(lost, declared=np.array([2, 2, 0]), strategy_auc=np.where(lost > 0, 0.5, np.nan))
        for budgets in ([1, 2], [1, 9]):
            found = cj.auc(dataclasses.replace(curves, budgets=np.array(budgets)))
            np.testing.assert_array_equal(found, [0.5, np.nan, np.nan])


class TestGain:
    def test_iid_gains_nothing_the_oracle_all_and_halfway_half(self, rng):
        probs = rng.dirichlet(np.ones(4), size=6)
        iid, oracle = iid_curves(probs, np.arange(1, 9)), oracle_curves(np.full((6, 1), 4), 8)
        half = dataclasses.replace(iid, coverage=(iid.coverage + oracle.coverage) / 2)
        for curves, expected in ((iid, 0.0), (oracle, 1.0), (half, 0.5)):
            np.testing.assert_allclose(cj.gain(curves, iid, oracle), expected, atol=1e-12)
            report = cj.gain_report(curves, iid, oracle)
            assert report.pooled == pytest.approx(expected, abs=1e-12)
            assert report.stderr == pytest.approx(0.0, abs=1e-12)

    def test_inputs_are_paired_by_id(self, rng):
        coverage = rng.random((3, 5, 4)) * np.array([0.5, 0.4, 0.9])[:, None, None]
        names = np.array(list("abcde"), dtype=object)
        curves, iid, oracle = (curves_of(values, ids=names) for values in coverage)
        straight = cj.gain(curves, iid, oracle)
        order, other = rng.permutation(5), rng.permutation(5)
        moved = cj.gain(
            curves,
            curves_of(coverage[1][order], ids=names[order]),
            curves_of(coverage[2][other], ids=names[other]),
        )
        np.testing.assert_array_equal(straight, moved)

    def test_each_undefined_gain_has_its_reason(self):
        nan = np.nan
        ids = np.array(
            ["fine", "no room", "worse oracle", "short", "empty", "absent", "other M"], dtype=object
        )
        short = ids == "short"
        declared = np.array([1, 1, 1, 1, 0, 1, 1])
        curves = curves_of(
            [[0.5], [1], [0.5], [nan], [nan], [0.5], [0.5]], ids=ids, short=short, declared=declared
        )
        iid = curves_of(
            [[0.25], [1], [0.6], [nan], [nan], [0.25]],
            ids=ids[[0, 1, 2, 3, 4, 6]],
            short=short[:6],
            declared=declared[[0, 1, 2, 3, 4, 6]] + (np.arange(6) == 5),
        )
        oracle = curves_of([[0.75], [1], [0.5], [0.5], [nan], [1], [1]], ids=ids, declared=declared)
        report = cj.gain_report(curves, iid, oracle)
        np.testing.assert_allclose(report.values, [0.5, nan, nan, nan, nan, nan, nan])
        assert report.reasons.tolist() == [
            "",
            "the oracle is not better than iid (AUC_oracle <= AUC_iid)",
            "the oracle is not better than iid (AUC_oracle <= AUC_iid)",
            "short in the curves: fewer samples than the largest budget",
            "no declared strategies (M = 0)",
            "no such input in iid",
            "another number of declared strategies in iid",
        ]
        assert (report.inputs, report.left_out) == (3, 4)
        assert report.pooled == pytest.approx((0.25 - 0.1) / (0.5 - 0.1))

    def test_the_pooled_gain_is_a_ratio_of_means_with_a_paired_error(self, rng):
        base, gained, room = rng.random(30) / 4, rng.random(30) / 4, 0.25 + rng.random(30) / 4
        report = cj.gain_report(*(curves_of(c[:, None]) for c in (base + gained, base, base + room)))
        ratio, stderr = reference.ratio_of_means(gained, room)
        assert report.pooled == pytest.approx(ratio, rel=1e-10)
        assert report.stderr == pytest.approx(stderr, rel=1e-10)

    def test_the_pooled_error_is_close_to_the_jackknife(self, rng):
        gained, room = rng.random(400) / 2, 0.25 + rng.random(400) / 2
        zero = np.zeros(400)
        report = cj.gain_report(*(curves_of(c[:, None]) for c in (gained, zero, room)))
        leave_out = (gained.sum() - gained) / (room.sum() - room)
        jackknife = np.sqrt(399 / 400 * ((leave_out - leave_out.mean()) ** 2).sum())
        assert report.stderr == pytest.approx(jackknife, rel=0.02)

    def test_no_room_on_average_and_single_inputs_have_no_pooled_error(self):
        one, flat = curves_of([[0.5]]), curves_of([[0.5]])
        report = cj.gain_report(one, flat, flat)
        assert np.isnan([report.pooled, report.stderr]).all()
        report = cj.gain_report(one, curves_of([[0.25]]), curves_of([[1.0]]))
        assert report.pooled == pytest.approx(1 / 3)
        assert np.isnan(report.stderr)

    def test_gains_at_different_budgets_or_without_common_inputs_are_refused(self):
        one = curves_of([[0.5, 0.75]])
        with pytest.raises(
            InputError, match="iid: AUCs are compared at one largest budget; got 1 and the curves have 2"
        ):
            cj.gain(one, curves_of([[0.5]]), one)
        with pytest.raises(
            InputError, match="oracle: must hold the inputs of the curves, paired by id; none of 0"
        ):
            cj.gain(one, one, curves_of([[0.5, 0.75]], ids=np.array(["z"], dtype=object)))

    def test_log_spaced_curves_have_the_gain_of_all_budgets(self, rng):
        probs, better = rng.dirichlet(np.ones(4), size=5), np.full((5, 4), 0.25)
        full, some = np.arange(1, 33), [1, 4, 32]
        oracle = oracle_curves(np.full((5, 1), 4), 32)
        every = cj.gain(iid_curves(better, full), iid_curves(probs, full), oracle)
        np.testing.assert_allclose(
            cj.gain(iid_curves(better, some), iid_curves(probs, some), oracle), every, rtol=1e-11
        )


class TestGainSplit:
    def curves(self, rng, inputs=6):
        probs = rng.dirichlet(np.full(5, 0.5), size=inputs)
        probs[1] = [0.5, 0.3, 0.2, np.nan, np.nan]
        declared = (~np.isnan(probs)).sum(axis=1)
        flat = np.where(np.isnan(probs), np.nan, 1 / declared[:, None])
        budgets = np.arange(1, 11)
        return iid_curves(flat, budgets), iid_curves(probs, budgets), oracle_curves(declared[:, None], 10)

    def test_the_parts_sum_to_the_gain(self, rng):
        better, iid, oracle = self.curves(rng)
        for rare_below in (0.2, 1.0, 3.0):
            common, rare = cj.gain_split(better, iid, oracle, rare_below)
            np.testing.assert_allclose(common + rare, cj.gain(better, iid, oracle), rtol=1e-11)

    def test_each_strategy_falls_on_the_side_of_its_expected_number(self, rng):
        better, iid, oracle = self.curves(rng)
        common, rare = cj.gain_split(better, iid, oracle)
        room = cj.auc(oracle) - cj.auc(iid)
        for row in range(iid.inputs):
            parts = {True: 0.0, False: 0.0}
            for s in range(iid.declared[row]):
                change = better.strategy_auc[row, s] - iid.strategy_auc[row, s]
                parts[bool(iid.strategy_probability[row, s] * 10 < 1.0)] += change
            assert rare[row] == pytest.approx(parts[True] / iid.declared[row] / room[row], abs=1e-12)
            assert common[row] == pytest.approx(parts[False] / iid.declared[row] / room[row], abs=1e-12)

    def test_all_common_or_all_rare_leave_the_other_part_zero(self, rng):
        better, iid, oracle = self.curves(rng)
        assert (cj.gain_split(better, iid, oracle, 1e-300)[1] == 0).all()
        assert (cj.gain_split(better, iid, oracle, np.inf)[0] == 0).all()

    def test_both_parts_are_nan_where_the_gain_is(self, rng):
        better, iid, oracle = self.curves(rng)
        coverage = oracle.coverage.copy()
        coverage[2] = iid.coverage[2]
        common, rare = cj.gain_split(better, iid, dataclasses.replace(oracle, coverage=coverage))
        assert np.flatnonzero(np.isnan(common)).tolist() == np.flatnonzero(np.isnan(rare)).tolist() == [2]

    def test_order_of_inputs_and_padding_do_not_matter(self, rng):
        better, iid, oracle = self.curves(rng)
        order = rng.permutation(6)
        pad = np.full((6, 3), np.nan)
        moved = dataclasses.replace(
            iid,
            ids=iid.ids[order],
            coverage=iid.coverage[order],
            declared=iid.declared[order],
            strategy_auc=np.hstack([iid.strategy_auc, pad])[order],
            strategy_probability=np.hstack([iid.strategy_probability, pad])[order],
        )
        for one, other in zip(
            cj.gain_split(better, iid, oracle), cj.gain_split(better, moved, oracle), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-12)

    def test_wrong_uses_are_refused(self, rng):
        better, iid, oracle = self.curves(rng)
        with pytest.raises(InputError, match="strategy_probability"):
            cj.gain_split(better, dataclasses.replace(iid, strategy_probability=None), oracle)
        with pytest.raises(InputError, match="strategy_auc"):
            cj.gain_split(dataclasses.replace(better, strategy_auc=None), iid, oracle)
        with pytest.raises(InputError, match="rare_below: must be a positive number"):
            cj.gain_split(better, iid, oracle, rare_below=0.0)
        with pytest.raises(InputError, match="those of input 1 differ"):
            cj.gain_split(
                dataclasses.replace(better, strategy_auc=np.roll(better.strategy_auc, 1, axis=1)), iid, oracle
            )


@pytest.mark.parametrize("declared", [*range(1, 41), 365, 1000])
def test_need_is_the_exact_ceiling_for_decimal_fractions(declared):
    for hundredths in range(1, 101):
        exact = Fraction(hundredths, 100) * declared
        assert need(hundredths / 100, declared) == -(-exact.numerator // exact.denominator)


def test_need_has_edges():
    assert need(0.7, 10) == 7
    assert need(1e-12, 5) == 1
    assert need(1 / 3, 3) == 1
    assert need(1.0, 0) == 0


class TestTimeToCoverage:
    def cases(self, rng, inputs=8, trials=7, draws=9):
        """Runs of set-valued samples, a few of which never finish, and the curves of their count law."""
        cases = []
        for _ in range(inputs):
            size = int(rng.integers(1, 6))
            sets = rng.random((trials, draws, size)) < rng.uniform(0.05, 0.5)
            cases.append(([[set(np.flatnonzero(s).tolist()) for s in run] for run in sets], set(range(size))))
        law = np.zeros((inputs, draws, 6))
        for row, (runs, declared) in enumerate(cases):
            for k in range(1, draws + 1):
                law[row, k - 1, : len(declared) + 1] = reference.count_law(runs, declared, k)
        sizes = np.array([len(declared) for _, declared in cases])
        coverage = law @ np.arange(6.0) / sizes[:, None]
        full = law[np.arange(inputs)[:, None], np.arange(draws), sizes[:, None]]
        return cases, curves_of(coverage, declared=sizes, count_law=law, full_coverage=full)

    @pytest.mark.parametrize("tau", [0.2, 0.5, 0.8, 1.0])
    def test_mean_median_and_censoring_equal_brute_force_over_runs(self, rng, tau):
        cases, curves = self.cases(rng)
        found = cj.time_to_coverage(curves, tau)
        for row, (runs, declared) in enumerate(cases):
            mean, median, censored = reference.time_summary(runs, declared, int(found.need[row]), 9)
            assert found.mean[row] == found.mean_low[row] == pytest.approx(float(mean), rel=1e-12)
            assert found.censored[row] == pytest.approx(float(censored), abs=1e-12)
            np.testing.assert_array_equal(found.median[row], np.nan if median is None else median)
            np.testing.assert_array_equal(found.median_low[row], np.nan if median is None else median - 1)
        assert found.need.tolist() == [need(tau, len(declared)) for _, declared in cases]

    def test_the_pooled_time_is_that_of_an_input_drawn_at_random(self, rng):
        cases, curves = self.cases(rng)
        found = cj.time_to_coverage(curves, 0.8)
        times = [
            (reference.first_time(run, declared, int(found.need[row])) or np.inf)
            for row, (runs, declared) in enumerate(cases)
            for run in runs
        ]
        assert found.pooled.mean == pytest.approx(np.minimum(times, 9).mean(), rel=1e-12)
        assert found.pooled.censored == pytest.approx(np.isinf(times).mean(), abs=1e-12)
        reached = [k for k in range(1, 10) if 2 * sum(t <= k for t in times) >= len(times)]
        np.testing.assert_array_equal(found.pooled.median, reached[0] if reached else np.nan)
        assert found.pooled.survival.shape == (9,)
        assert found.pooled.need is None
        assert found.pooled.pooled is None

    def test_full_coverage_is_enough_where_all_strategies_are_needed(self, rng):
        _, curves = self.cases(rng)
        light = dataclasses.replace(curves, count_law=None)
        whole, found = cj.time_to_coverage(curves, 1.0), cj.time_to_coverage(light, 1.0)
        np.testing.assert_allclose(found.survival, whole.survival, atol=1e-14)
        with pytest.raises(InputError, match=r"ask for it with include=.*'count_law'"):
            cj.time_to_coverage(light, 0.5)
        with pytest.raises(InputError, match=r"ask for it with include=.*'full_coverage'"):
            cj.time_to_coverage(dataclasses.replace(light, full_coverage=None), 1.0)
        ones = dataclasses.replace(light, declared=np.ones(8, dtype=int))
        np.testing.assert_allclose(cj.time_to_coverage(ones, 0.5).survival, 1 - light.full_coverage)

    def test_two_equal_strategies_take_three_draws_and_half_of_the_runs_two(self):
        """F(k) = 1 - 2^(1-k); F(2) = 1/2 counts as reached though it is computed a rounding below."""
        k = np.arange(1, 61)
        full = 1 - 2.0 ** (1 - k)
        full[1] -= 1e-16
        found = cj.time_to_coverage(
            curves_of(full[None], full_coverage=full[None], declared=np.array([2])), 1
        )
        assert found.mean[0] == pytest.approx(3.0, rel=1e-14)
        assert (found.median[0], found.median_low[0]) == (2.0, 1.0)

    def test_log_spaced_budgets_bound_what_all_budgets_give(self, rng):
        _, curves = self.cases(rng)
        whole = cj.time_to_coverage(curves, 0.5)
        for chosen in ([1, 2, 4, 9], [3, 9], [9]):
            at = np.array(chosen) - 1
            some = dataclasses.replace(
                curves,
                budgets=curves.budgets[at],
                coverage=curves.coverage[:, at],
                count_law=curves.count_law[:, at],
            )
            found = cj.time_to_coverage(some, 0.5)
            assert (found.mean_low <= whole.mean + 1e-12).all()
            assert (whole.mean <= found.mean + 1e-12).all()
            np.testing.assert_array_equal(np.isnan(found.median), np.isnan(whole.median))
            there = ~np.isnan(whole.median)
            assert (found.median_low < whole.median)[there].all()
            assert (whole.median <= found.median)[there].all()
            np.testing.assert_allclose(found.censored, whole.censored)
            assert found.pooled.mean_low <= whole.pooled.mean <= found.pooled.mean

    def test_short_and_undeclared_inputs_are_nan_and_not_pooled(self, rng):
        _, curves = self.cases(rng)
        law = curves.count_law.copy()
        law[2] = np.nan
        declared = np.where(np.arange(8) == 5, 0, curves.declared)
        law[5] = np.arange(6) == 0
        lost = dataclasses.replace(curves, count_law=law, declared=declared, short=np.arange(8) == 2)
        found = cj.time_to_coverage(lost, 0.5)
        for values in (found.mean, found.mean_low, found.median, found.median_low, found.censored):
            assert np.isnan(values[[2, 5]]).all()
        assert found.need[5] == 0
        keep = np.array([0, 1, 3, 4, 6, 7])
        np.testing.assert_allclose(found.pooled.survival, found.survival[keep].mean(axis=0), rtol=1e-14)
        nobody = dataclasses.replace(curves, declared=np.zeros(8, dtype=int))
        assert np.isnan(cj.time_to_coverage(nobody, 0.5).pooled.mean)

    def test_means_over_inputs_and_fractions_out_of_range_are_refused(self, rng):
        _, curves = self.cases(rng)
        with pytest.raises(InputError, match="these are their mean: pass the curves it was made from"):
            cj.time_to_coverage(curves.mean(), 0.5)
        for tau in (0.0, -0.5, 1.01, np.nan):
            with pytest.raises(InputError, match="tau: must be a fraction above 0 and at most 1"):
                cj.time_to_coverage(curves, tau)

    def test_small_survival_keeps_its_digits(self):
        """The lower tail is summed: 1 - P(T <= k) would give 0 or noise."""
        law = np.array([[[1e-20, 1e-19, 1.0]]])
        found = cj.time_to_coverage(curves_of([[1.0]], declared=np.array([2]), count_law=law), 1.0)
        assert found.censored[0] == pytest.approx(1.1e-19, rel=1e-12)
