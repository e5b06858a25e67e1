"""Paired wins and losses of two routers, offered here because their names are looked for here."""

from coverjax.inference.multiplicity import holm_p_values, sign_flip_p_values
from coverjax.inference.paired_signs import SignTest, sign_test, ternary_bootstrap_interval
from coverjax.inference.resampling import resampled_interval

__all__ = [
    "SignTest",
    "holm_p_values",
    "resampled_interval",
    "sign_flip_p_values",
    "sign_test",
    "ternary_bootstrap_interval",
]
