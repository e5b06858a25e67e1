"""The demonstration, for real: the base model of the package is factorized, judged and explored."""

import pathlib
import re

import numpy as np
import pytest

from coverjax.report.sequence_tables import gain_interval, study_document, study_text, write_study
from coverjax.sequences.exploration import BASE, ROUTER
from coverjax.sequences.studies import quick_study


@pytest.fixture(scope="module")
def study():
    return quick_study(0)


@pytest.mark.slow
def test_latents_found_without_labels_gain(study, tmp_path):
    """What must hold on any machine, not what was measured on one (benchmarks/STUDY.md): choosing latents on
    purpose beats independent sampling from the base model beyond doubt."""
    found = study.evaluation.families["list_summation"]
    assert found.fidelity.mean[0] > 0.8
    assert not found.collapsed
    explored = study.exploration
    best = explored.gains[explored.chosen_unseeing]
    low, _ = gain_interval(best, 0.95)
    assert low > 0
    assert explored.curves[explored.chosen_unseeing].coverage[:, -1].mean() > 0.55
    assert set(study.traces) == set(range(study.model.latents))
    text = study_text(study, 0.95)
    assert max(map(len, text.splitlines())) <= 80
    for name in (BASE, ROUTER, explored.chosen):
        assert name in text
    names = write_study(study, "{}", tmp_path, 0.95)
    assert {path.name for path in tmp_path.iterdir()} == set(names)
    document = study_document(study, level=0.95)
    measured = explored.curves[BASE].coverage.mean(axis=0)
    np.testing.assert_allclose(document["methods"][BASE]["coverage"], measured, rtol=1e-12)
    assert np.isclose(sum(document["families"]["list_summation"]["use"]), 1.0)


@pytest.mark.slow
def test_the_readme_shows_about_what_comes_out(study):
    """Training differs between processors: some points, not the story."""
    text = (pathlib.Path(__file__).parents[2] / "README.md").read_text()
    found = re.search(r"samples cover (\d+) % .* choosing latents (\d+) % ", text)
    curves = study.exploration.curves
    ends = [100 * curves[name].coverage[:, -1].mean() for name in (BASE, study.exploration.chosen)]
    assert abs(ends[0] - float(found[1])) < 3
    assert abs(ends[1] - float(found[2])) < 8
