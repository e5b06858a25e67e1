"""`coverjax demo`: a log made on the spot, and `estimate` on it."""

import dataclasses
import pathlib
from collections.abc import Sequence

import numpy as np

from coverjax.cli.estimate import EstimateOptions, estimate_command
from coverjax.cli.options import parse
from coverjax.foundation.checks import InputError
from coverjax.foundation.files import whole_folder
from coverjax.logs.log import SampleLog
from coverjax.logs.writing import write_declared, write_log

INPUTS, TRIALS, SAMPLES = 40, 4, 16
STRATEGIES = ("algebra", "casework", "counting", "geometry", "induction", "symmetry")
OUTSIDE = "other"
METHODS = ("iid", "no-repeat")


@dataclasses.dataclass(frozen=True)
class DemoOptions:
    """Make a small labelled log of two methods and run `coverjax estimate` on it.

    40 inputs with 3 to 6 declared strategies each, 4 trials of 16 samples by two methods. `iid` draws each
    sample from the input's own skewed law of strategies. `no-repeat` names a strategy before each sample,
    none twice before all were named, and usually gets it. About one sample in ten matches two strategies,
    one in ten is invalid, and some match none or one that nobody declared. As `no-repeat` looks back at
    what it did, only the order of its samples means anything: the log is read as ordered.
    """

    out: pathlib.Path = pathlib.Path("coverjax-demo")
    """Folder for log.jsonl, declared.csv and everything that `estimate --out` writes."""
    json: bool = False
    """Print one JSON document on stdout and nothing else there."""
    seed: int = 0
    """Seed of the log and of the simultaneous bands."""


def run(argv: Sequence[str]) -> None:
    """Run the verb with these arguments."""
    options = parse(DemoOptions, "demo", argv)
    if options.seed < 0:
        raise InputError(f"--seed: must be a whole number >= 0; got {options.seed}")
    log = demo_log(options.seed)
    with whole_folder(options.out) as part:
        write_log(log, part / "log.jsonl")
        write_declared(log, part / "declared.csv")
    estimate_command(
        EstimateOptions(
            log=(options.out / "log.jsonl",),
            declared=options.out / "declared.csv",
            ordered=True,
            out=options.out,
            json=options.json,
            seed=options.seed,
        )
    )


def demo_log(seed: int = 0) -> SampleLog:
    """Make the log of the demo: the same for the same seed."""
    rng = np.random.default_rng(seed)
    width = len(STRATEGIES) + 1
    shape = (INPUTS * len(METHODS), TRIALS, SAMPLES)
    matches = np.zeros((*shape, width), bool)
    declared = np.zeros((shape[0], width), bool)
    valid, correct = np.ones(shape, bool), np.zeros(shape, bool)
    for number in range(INPUTS):
        known = np.sort(rng.permutation(len(STRATEGIES))[: rng.integers(3, 7)])
        law = rng.permutation(0.55 ** np.arange(len(known)))
        skill = rng.uniform(0.2, 0.95, len(known))
        for place, method in enumerate(METHODS):
            row = number + place * INPUTS
            declared[row, known] = True
            for trial in range(TRIALS):
                drawn = _draw_run(rng, method, law / law.sum())
                cells = matches[row, trial], valid[row, trial], correct[row, trial]
                _label(rng, drawn, known, skill, *cells)
    return SampleLog.from_arrays(
        matches,
        declared=declared,
        valid=valid,
        correct=correct,
        ordered=True,
        ids=[f"problem-{number + 1:02d}" for _ in METHODS for number in range(INPUTS)],
        labels=[(*STRATEGIES, OUTSIDE)] * shape[0],
        method=[method for method in METHODS for _ in range(INPUTS)],
        labeler="ground_truth",
    )


def _draw_run(rng: np.random.Generator, method: str, law: np.ndarray) -> np.ndarray:
    """Return which strategy each sample of one trial follows [samples]."""
    drawn = rng.choice(len(law), SAMPLES, p=law)
    if method == "iid":
        return drawn
    passes = [rng.permutation(len(law)) for _ in range(-(-SAMPLES // len(law)))]
    named = np.concatenate(passes)[:SAMPLES]
    return np.where(rng.random(SAMPLES) < 0.85, named, drawn)


def _label(
    rng: np.random.Generator,
    drawn: np.ndarray,
    known: np.ndarray,
    skill: np.ndarray,
    matches: np.ndarray,
    valid: np.ndarray,
    correct: np.ndarray,
) -> None:
    """Fill in labels [samples, strategies] and flags [samples] of one trial."""
    matches[np.arange(SAMPLES), known[drawn]] = True
    second = rng.random(SAMPLES) < 0.1
    matches[second, known[rng.integers(len(known), size=SAMPLES)][second]] = True
    matches[rng.random(SAMPLES) < 0.03, -1] = True
    matches[rng.random(SAMPLES) < 0.06] = False
    valid[:] = rng.random(SAMPLES) >= 0.1
    correct[:] = valid & (rng.random(SAMPLES) < skill[drawn])
