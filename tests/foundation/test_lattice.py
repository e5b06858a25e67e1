"""Transforms over the subset lattice against sums over all pairs of subsets."""

import numpy as np

from coverjax.foundation import lattice
from coverjax.foundation.precision import float64_kernel


def test_transforms_equal_their_definitions(rng):
    elements = 4
    values = rng.random((3, 1 << elements))
    subsets = np.arange(1 << elements)
    inside = (subsets[:, None] & ~subsets[None, :]) == 0
    np.testing.assert_allclose(float64_kernel(lattice.subset_sums)(values), values @ inside, rtol=1e-14)
    np.testing.assert_allclose(float64_kernel(lattice.superset_sums)(values), values @ inside.T, rtol=1e-14)
    back = float64_kernel(lattice.moebius)(values @ inside)
    np.testing.assert_allclose(back, values, atol=1e-14)


def test_masks_and_sizes():
    members = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1]], bool)
    assert lattice.masks(members).tolist() == [5, 0, 7]
    assert lattice.sizes(3).tolist() == [bin(i).count("1") for i in range(8)]
    assert lattice.sizes(0).tolist() == [0]
