"""How often the intervals of gains and of agreement hold the truth: python -m benchmarks.gain_coverage.

The numbers of docs/comparing.md and docs/labels.md. A population of inputs is known (its gain and agreement
are computed from a very large sample of it); studies of N inputs are drawn from it, nominal level 95 %.
"""

import numpy as np

from coverjax.estimators.agreement import label_agreement
from coverjax.estimators.count_statistics import auc_of_counts
from coverjax.evaluation.against import ratio_of_means

STRATEGIES, OFF = 4, 0.05
MEASURES = ("kappa", "precision", "alpha")


def laws(rng: np.random.Generator, inputs: int) -> tuple[np.ndarray, np.ndarray]:
    """Laws of a baseline, and of a method that is 30 % of the way to the uniform law."""
    base = (1.0 - OFF) * rng.dirichlet(np.full(STRATEGIES, 0.4), inputs)
    return base, 0.7 * base + 0.3 * (1.0 - OFF) / STRATEGIES


def areas(rng: np.random.Generator, probs: np.ndarray, samples: int) -> np.ndarray:
    """Estimated AUC(K), K = samples, of each input from so many samples."""
    everything = np.concatenate([probs, 1.0 - probs.sum(axis=1, keepdims=True)], axis=1)
    counts = rng.multinomial(samples, everything)[:, :STRATEGIES]
    table = auc_of_counts(np.array([samples]), np.arange(samples + 1)[None], samples)[0]
    return table[counts].mean(axis=1)


def gain_coverage(samples: int, inputs: int, studies: int = 2_000, seed: int = 1) -> tuple[float, float]:
    """Return the share of the studies with an interval that holds the true gain, and of those without one."""
    rng = np.random.default_rng([seed, samples, inputs])
    k = np.arange(1, samples + 1)
    best = (np.minimum(k, STRATEGIES) / STRATEGIES).mean()
    base, other = (
        np.mean([1.0 - (1.0 - probs) ** draws for draws in k], axis=(0, 2)) for probs in laws(rng, 200_000)
    )
    truth = (other - base).mean() / (best - base).mean()
    hits = missing = 0
    for _ in range(studies):
        base, other = (areas(rng, probs, samples) for probs in laws(rng, inputs))
        found = ratio_of_means(other - base, best - base, 0.95)
        missing += bool(np.isnan(found.low[0]))
        hits += bool(found.low[0] <= truth <= found.high[0])
    return hits / (studies - missing), missing / studies


def labelled(rng: np.random.Generator, inputs: int, samples: int = 5) -> tuple[list, list, list]:
    """Label sets of people and of a labeler that errs at another rate on each input and strategy."""
    people = rng.random((inputs, samples, 2)) < rng.beta(1, 2, (inputs, 1, 2))
    ours = people ^ (rng.random(people.shape) < rng.beta(2, 18, (inputs, 1, 2)))
    sets = [
        [{name for name, flag in zip("xy", row, strict=True) if flag} for row in flags.reshape(-1, 2)]
        for flags in (ours, people)
    ]
    return sets[0], sets[1], np.repeat(np.arange(inputs), samples).tolist()


def agreement_coverage(
    inputs: int, studies: int = 600, seed: int = 1, population: int = 40_000
) -> dict[str, tuple[float, float]]:
    """Return for each measure the share of intervals that hold the truth, and of studies without one."""
    rng = np.random.default_rng([seed, inputs])
    whole = label_agreement(*labelled(rng, population))
    truth = {name: getattr(whole, name).mean[0] for name in MEASURES}
    hits, there = dict.fromkeys(MEASURES, 0), dict.fromkeys(MEASURES, 0)
    for _ in range(studies):
        found = label_agreement(*labelled(rng, inputs), strategies=["x", "y"])
        for name in MEASURES:
            interval = getattr(found, name)
            there[name] += bool(np.isfinite(interval.low[0]))
            hits[name] += bool(interval.low[0] <= truth[name] <= interval.high[0])
    return {name: (hits[name] / max(1, there[name]), 1.0 - there[name] / studies) for name in MEASURES}


def main() -> None:
    """Print both tables."""
    for samples in (4, 16):
        for inputs in (5, 10, 30, 100):
            share, missing = gain_coverage(samples, inputs)
            print(f"gain, n = {samples}, N = {inputs}: {share:.1%} (no interval: {missing:.1%})", flush=True)
    for inputs in (5, 10, 30):
        told = agreement_coverage(inputs).items()
        words = ", ".join(f"{name} {share:.1%} (none: {missing:.1%})" for name, (share, missing) in told)
        print(f"agreement, N = {inputs}: {words}", flush=True)


if __name__ == "__main__":
    main()
