import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from coverjax.foundation.checks import InputError
from coverjax.inference.paired_signs import sign_test, ternary_bootstrap_interval, ternary_sum_law
from tests import reference_routing as reference


def test_published_intervals():
    assert ternary_bootstrap_interval(68, 7, 225) == (46, 77)
    assert ternary_bootstrap_interval(5, 2, 293) == (-2, 8)
    assert ternary_bootstrap_interval(63, 6, 231) == (42, 72)


@pytest.mark.parametrize("counts", [(1, 0, 0), (3, 2, 4), (0, 0, 5), (10, 0, 3), (7, 9, 0), (4, 1, 20)])
def test_the_law_is_the_convolution_in_exact_fractions(counts):
    law, start = ternary_sum_law(*counts)
    wanted = reference.ternary_law(*counts)
    for value, chance in wanted.items():
        inside = start <= value < start + len(law)
        assert (law[value - start] if inside else 0.0) == pytest.approx(float(chance), abs=1e-15)
    assert law.sum() == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("counts", [(3, 2, 4), (0, 0, 5), (10, 0, 3), (7, 9, 0), (4, 1, 20), (1, 1, 0)])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_ends_are_exact_quantiles(counts, level):
    law = reference.ternary_law(*counts)
    tail = (1 - Fraction(str(level))) / 2
    below, ends = Fraction(0), {}
    for value in sorted(law):
        below += law[value]
        for name, q in (("low", tail), ("high", 1 - tail)):
            if below >= q and name not in ends:
                ends[name] = value
    assert ternary_bootstrap_interval(*counts, level) == (ends["low"], ends["high"])


def test_swapping_wins_and_losses_mirrors_the_interval():
    """The upper quantile is the least sum that reaches it, so a mirror may differ by a tie at the quantile
    only."""
    low, high = ternary_bootstrap_interval(30, 11, 100)
    assert ternary_bootstrap_interval(11, 30, 100) == (-high, -low)


@pytest.mark.statistical
def test_drawn_replicates_agree_with_the_law():
    """100,000 replicates of +1 x68, -1 x7, 0 x225: shares below each end within 5 standard errors."""
    from coverjax.inference.resampling import resampled_sums

    values = np.repeat([1.0, -1.0, 0.0], [68, 7, 225])[:, None]
    drawn = resampled_sums(values, 100_000, 7)[:, 0]
    law, start = ternary_sum_law(68, 7, 225)
    for value in (46, 61, 77):
        share = law[: value - start + 1].sum()
        assert abs((drawn <= value).mean() - share) < 5 * math.sqrt(share * (1 - share) / 100_000)


def test_many_pairs_agree_with_the_normal_law():
    low, high = ternary_bootstrap_interval(300_000, 200_000, 500_000)
    spread = math.sqrt(1e6 * (0.5 - 0.01)) * 1.959963984540054
    assert low == pytest.approx(100_000 - spread, abs=1.0)
    assert high == pytest.approx(100_000 + spread, abs=1.0)


def test_published_sign_test():
    found = sign_test(168, 21)
    assert f"{found.p_value:.4e}" == "1.1478e-29"
    assert sign_test(21, 168) == found


@pytest.mark.parametrize("counts", [(1, 0), (5, 5), (6, 5), (10, 3), (60, 41), (0, 0), (0, 12), (500, 400)])
def test_sign_test_equals_the_binomial_test(counts):
    wins, losses = counts
    found = sign_test(wins, losses)
    wanted = scipy.stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert found.p_value == pytest.approx(wanted, rel=1e-10)
    assert math.exp(found.log_p_value) == pytest.approx(wanted, rel=1e-10)


def test_logarithms_keep_what_doubles_lose():
    """p underflows; log10 p against exact whole numbers."""
    wins, losses = 4_000, 200
    total = wins + losses
    tail = sum(math.comb(total, i) for i in range(wins, total + 1))
    exact = (math.log2(tail) + 1 - total) * math.log(2)
    found = sign_test(wins, losses)
    assert found.p_value == 0.0
    assert found.log_p_value == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ternary_bootstrap_interval(0, 0, 0), "must count at least one pair"),
        (
            lambda: ternary_bootstrap_interval(-1, 0, 0),
            "wins: must be a whole number >= 0; got -1",
        ),
        (lambda: ternary_bootstrap_interval(1, 0.5, 0), "losses: must be a whole number"),
        (lambda: sign_test(True, 0), "wins: must be a whole number"),
        (lambda: ternary_bootstrap_interval(1, 1, 1, level=1.0), "level: must lie strictly between 0 and 1"),
    ],
)
def test_wrong_counts_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
