"""A rung from samples alone: a log written, read back, and estimated as anybody's log would be."""

from collections.abc import Mapping, Sequence

import numpy as np

from coverjax.curves import Curves
from coverjax.demo.rungs import Preset, Rung, Shelf, Step
from coverjax.estimators.utility import utility_curves
from coverjax.inference.of_curves import curve_interval
from coverjax.logs.log import SampleLog
from coverjax.logs.reading import read_log
from coverjax.logs.writing import write_declared, write_log
from coverjax.report.estimate_page import estimate_page
from coverjax.report.figures import write_figures
from coverjax.report.html import Table
from coverjax.report.study import study_log
from coverjax.report.summary import summary, write_curves
from coverjax.report.tables import few_budgets

TRIALS, SAMPLES = 4, 16
STRATEGIES = ("algebra", "casework", "counting", "geometry", "induction", "symmetry")
OUTSIDE = "other"
METHODS = ("iid", "no-repeat")

WORTH = {
    "pass_at_k": "pass@k: at least one of k is correct",
    "pass_all_k": "pass^k: all k are correct",
    "best_of_k": "best of k: expected highest score",
    "majority_at_k": "majority of k is correct",
}


def own_log(shelf: Shelf, preset: Preset, seed: int, step: Step, found: Mapping[str, Rung]) -> Rung:
    """Climb the rung: write a log of two methods, read it back, study it, and what its samples are worth."""
    step("writing a log and reading it back")
    log = demo_log(seed, preset.log_inputs)
    write_log(log, shelf.path("log.jsonl"))
    write_declared(log, shelf.path("declared.csv"))
    paths, declared = [str(shelf.path("log.jsonl"))], str(shelf.path("declared.csv"))
    step("estimating")
    # `no-repeat` looks back at what it did: only the order of its samples means anything.
    study = study_log(dict(read_log(paths, declared=declared, ordered=True).by_method()), seed=seed)
    again = f"coverjax estimate {shelf.name('log.jsonl')} --declared {shelf.name('declared.csv')} --ordered"
    told = summary(study, verb="demo", command=again, options={"seed": seed})
    step("what k samples are worth")
    exchangeable = read_log(paths, declared=declared).by_method()["iid"]
    assert isinstance(exchangeable, SampleLog)
    worth = worth_table(exchangeable)
    step("drawing")
    with shelf.apart() as place:
        write_curves(study, place / "curves.csv")
        files = ["curves.csv", *write_figures(study, place)]
    page = estimate_page(study, told, files)
    return Rung(
        title="A log of samples: honest curves, intervals, and what to beware of",
        answer=page.answer,
        again=(again,),
        parts=[*shelf.moved(page), worth],
        cautions=page.cautions,
        told={"summary": told, "worth": [list(row) for row in worth.rows]},
        files=[shelf.name(name) for name in ("log.jsonl", "declared.csv", *files)],
    )


def worth_table(log: SampleLog, names: Sequence[str] = tuple(WORTH)) -> Table:
    """Return what k independent samples are worth, with intervals over inputs: a row a utility of `WORTH`."""
    curves = utility_curves(log, names=names)
    assert isinstance(curves, Curves)
    budgets = few_budgets(curves.budgets, 5)
    places = [int(curves.budgets.searchsorted(k)) for k in budgets]
    rows = []
    for name in names:
        found = curve_interval(curves, name)
        ends = [(float(found.mean[at]), float(found.low[at]), float(found.high[at])) for at in places]
        rows.append([WORTH[name], *(f"{mean:.3f} [{low:.3f}, {high:.3f}]" for mean, low, high in ends)])
    note = "Of independent samples, which are exchangeable; mean over inputs [95 % t-interval]."
    return Table("What k independent samples are worth", ("", *(f"k = {k}" for k in budgets)), rows, note)


def demo_log(seed: int = 0, inputs: int = 40) -> SampleLog:
    """Make a log of two methods: the same for the same seed.

    Inputs have 3 to 6 declared strategies, each method 4 trials of 16 samples on each. `iid` draws each
    sample from the input's own skewed law of strategies. `no-repeat` names a strategy before each sample,
    none twice before all were named, and usually gets it. About one sample in ten matches two strategies,
    one in ten is invalid, and some match none or one that nobody declared.
    """
    rng = np.random.default_rng(seed)
    width = len(STRATEGIES) + 1
    shape = (inputs * len(METHODS), TRIALS, SAMPLES)
    matches = np.zeros((*shape, width), bool)
    declared = np.zeros((shape[0], width), bool)
    valid, correct = np.ones(shape, bool), np.zeros(shape, bool)
    for number in range(inputs):
        known = np.sort(rng.permutation(len(STRATEGIES))[: rng.integers(3, 7)])
        law = rng.permutation(0.55 ** np.arange(len(known)))
        skill = rng.uniform(0.2, 0.95, len(known))
        for place, method in enumerate(METHODS):
            row = number + place * inputs
            declared[row, known] = True
            for trial in range(TRIALS):
                drawn = _draw_run(rng, method, law / law.sum())
                cells = matches[row, trial], valid[row, trial], correct[row, trial]
                _label(rng, drawn, known, skill, *cells)
    # A judge's score: mostly, not always, higher where the answer is correct.
    score = np.round(0.35 * correct + 0.65 * rng.random(shape), 3)
    return SampleLog.from_arrays(
        matches,
        declared=declared,
        valid=valid,
        correct=correct,
        score=score,
        ordered=True,
        ids=[f"problem-{number + 1:02d}" for _ in METHODS for number in range(inputs)],
        labels=[(*STRATEGIES, OUTSIDE)] * shape[0],
        method=[method for method in METHODS for _ in range(inputs)],
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
