"""What the covered strategies are worth."""

import numpy as np
from jaxtyping import Float

from coverjax.estimators.sample_orders import first_appearances
from coverjax.foundation.checks import InputError, fraction
from coverjax.logs.log import SampleLog


def patience_utility(log: SampleLog, patience: float = 0.8) -> Float[np.ndarray, "inputs"]:
    """Compute the utility of a sequence of samples to a user who loses patience.

    The user looks at sample i + 1 with probability `patience` after sample i, and gains a sample's score
    when it brings a label not seen before:

        (1 - p) / (1 - p^n) x sum_i p^(i-1) [sample i brings a new label] score_i,

    in the observed order, averaged over trials; a score in the units of `score`. Labels outside the
    declared set count too: they are new to the user.

    Args:
        log: samples with a `score`.
        patience: p, a fraction.

    Returns:
        One utility an input, NaN where it has no samples.

    Raises:
        InputError: the log has no score, or has several methods.

    References:
        Zhang et al. 2025, NoveltyBench, section 3 (arXiv 2504.05228).
    """
    p = fraction("patience", patience)
    if log.score is None:
        raise InputError("score: patience utility needs a `score` column; this log has none")
    if log.method is not None:
        raise InputError("method: give one method at a time; split the log with by_method()")
    samples = log.matches.shape[2]
    first = first_appearances(log.matches)
    new = (first[..., None, :] == np.arange(1, samples + 1)[:, None]).any(axis=-1)
    gains = (np.where(new, np.nan_to_num(log.score), 0.0) * p ** np.arange(samples)).sum(axis=-1)
    present = log.n > 0
    scale = (1.0 - p) / (1.0 - p ** np.where(present, log.n, 1))
    trials = present.sum(axis=1)
    total = np.where(present, gains * scale, 0.0).sum(axis=1)
    return np.where(trials > 0, total / np.maximum(trials, 1), np.nan)
