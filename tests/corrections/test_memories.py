"""The built-in systems: what they recall, and the noisy one against its closed form."""

from fractions import Fraction

import numpy as np
import pytest

from coverjax import corrections
from coverjax.corrections.memories import AssociativeMemory, NoisyMemory, expected_hits
from coverjax.foundation.checks import InputError
from tests import reference_corrections as reference


def taught(system, *texts):
    for text in texts:
        assert system.teach(text) == (True, "")
    return system


def test_what_is_recalled_directly_and_by_way_of_it():
    memory = taught(
        AssociativeMemory(), "Tides rise.", "The moon pulls tides.", "A moon is rock.", "Cats sleep."
    )
    answer = memory.probe("What are tides?")
    assert answer["surface"] == "Tides rise. The moon pulls tides."
    assert answer["walk_surface"] == "A moon is rock."
    assert answer["vault_hits"] == 3
    assert memory.probe("What are cats?")["trace_hash"] != answer["trace_hash"]
    assert memory.probe("What is it?")["surface"] == ""


@pytest.mark.parametrize(
    "options", [{}, {"distractors": 2}, {"loss": 0.25, "slip": 0.5}, {"forgetting": 0.0}]
)
def test_the_closed_form_is_the_sum_over_all_histories(options):
    given = {"forgetting": 0.25, "loss": 0.0, "slip": 0.0, "distractors": 0, **options}
    mean, variance = expected_hits(4, **given)
    exact = {name: Fraction(value) for name, value in given.items() if name != "distractors"}
    means, variances = reference.expected_hits(4, distractors=given["distractors"], **exact)
    np.testing.assert_allclose(mean, [float(x) for x in means], rtol=1e-14, atol=0)
    np.testing.assert_allclose(variance, [float(x) for x in variances], rtol=1e-12, atol=1e-15)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("settings", "distractors"),
    [
        ({"forgetting": 0.15}, 0),
        ({"forgetting": 0.1, "loss": 0.2, "slip": 0.15}, 0),
        ({"forgetting": 0.1}, 2),
    ],
)
def test_measured_hits_lie_within_the_closed_form(make_cases, settings, distractors):
    """|z| < 5 for mean and variance at 8 budgets (false alarms 1e-5); chance hashes texts: independent."""
    found = corrections.run(
        make_cases(200, 8, own=True),
        "noisy-memory",
        settings=settings,
        sweep=corrections.Sweep(distractors=distractors),
        workers=0,
    )
    mean, variance = expected_hits(8, distractors=distractors, **settings)
    np.testing.assert_array_equal(found.hits[:, 0], 0.0)
    certain = variance == 0.0
    np.testing.assert_array_equal(
        found.hits[:, certain], np.broadcast_to(mean[certain], (200, certain.sum()))
    )
    z = (found.hits.mean(axis=0) - mean)[~certain] / np.sqrt(variance[~certain] / 200)
    assert np.abs(z).max() < 5, z
    # Not only the mean: the spread over concepts is the sum of independent traces.
    chance = np.diff(mean)
    cumulant = np.concatenate([[0.0], np.cumsum(chance * (1 - chance) * (1 - 6 * chance * (1 - chance)))])
    error = np.sqrt((cumulant / 200 + 2 * variance**2 / 199)[~certain])
    z = (found.hits.var(axis=0, ddof=1) - variance)[~certain] / error
    assert np.abs(z).max() < 5, z
    assert found.replay_determinism == 1.0


def test_another_seed_is_another_history_and_none_is_fresh_each_time():
    def answers(**settings):
        texts = [f"Tides need {i}." for i in range(30)]
        return taught(NoisyMemory(forgetting=0.1, **settings), *texts).probe("Tides?")

    assert answers(seed=1) == answers(seed=1)
    assert answers(seed=1)["surface"] != answers(seed=2)["surface"]
    assert answers(seed=None)["trace_hash"] != answers(seed=None)["trace_hash"]


def test_rates_of_one_and_zero():
    said = [NoisyMemory(0.0), NoisyMemory(1.0), NoisyMemory(0.0, loss=1.0), NoisyMemory(0.0, slip=1.0)]
    found = [taught(memory, "Tides rise.", "Tides fall.").probe("Tides?")["surface"] for memory in said]
    assert found == ["Tides rise. Tides fall.", "Tides fall.", "", ""]


def test_a_rate_that_is_none_is_refused():
    with pytest.raises(InputError, match=r"forgetting: must be a probability, 0 to 1; got 1\.5"):
        NoisyMemory(forgetting=1.5)
