"""Uncertainty over units, on arrays [units, points]: intervals, simultaneous bands, paired comparisons."""
