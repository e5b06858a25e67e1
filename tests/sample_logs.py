"""Small logs of many kinds, for the tests of reports and of the command line."""

import numpy as np

import coverjax as cj

EVIL = [
    "<script>alert(1)</script>",
    "$x^2$ and $\\frac{",
    "العربية و שלום",
    "🦄 emoji 日本",
    "x" * 10_000,
    "a\nb\x1b[31m",
]


def random_log(inputs=6, samples=8, labels=4, seed=0, **columns):
    """A log whose samples match sets; some empty, the last label undeclared."""
    rng = np.random.default_rng(seed)
    declared = np.arange(labels) < max(1, labels - 1)
    return cj.SampleLog.from_arrays(
        rng.random((inputs, samples, labels)) < rng.uniform(0.1, 0.5, (inputs, 1, labels)),
        declared=declared,
        **columns,
    )


def flagged_log(**sizes):
    """The same with valid and correct samples."""
    log = random_log(**sizes)
    rng = np.random.default_rng(1)
    shape = log.matches.shape[:3]
    return random_log(**sizes, valid=rng.random(shape) < 0.8, correct=rng.random(shape) < 0.5)


LOGS = {
    "one method": lambda: {"": random_log()},
    "flags": lambda: {"": flagged_log()},
    "two methods": lambda: {"a": random_log(seed=1), "b": random_log(seed=2)},
    "evil names": lambda: {name: random_log(ids=EVIL, seed=i) for i, name in enumerate(EVIL)},
    "one input": lambda: {"": random_log(inputs=1)},
    "one sample": lambda: {"": random_log(samples=1)},
    "one of each": lambda: {"": random_log(inputs=1, samples=1, labels=1)},
    "nothing matched": lambda: {"": cj.SampleLog.from_arrays(np.zeros((3, 4, 2), bool))},
    "all matched": lambda: {
        "a": cj.SampleLog.from_arrays(np.ones((3, 4, 2), bool)),
        "b": random_log(3, 4, 2),
    },
    "none declared": lambda: {
        "": cj.SampleLog.from_arrays(np.ones((3, 4, 2), bool), declared=[False, False])
    },
    "uneven": lambda: {"": random_log(n=[8, 8, 3, 8, 0, 5])},
    "ordered": lambda: {"": random_log(ordered=True)},
    "counts": lambda: {"": cj.CountTable.from_arrays([[3, 0], [1, 4], [2, 2]], n=4)},
    "pass at k": lambda: {
        "a": cj.CountTable.from_arrays([3, 0, 4], n=4),
        "b": cj.CountTable.from_arrays([1, 1, 4], n=4),
    },
    "no input in common": lambda: {"a": random_log(ids=list("abcdef")), "b": random_log(ids=list("uvwxyz"))},
    "many methods": lambda: {f"method {i}": random_log(samples=4, seed=i) for i in range(9)},
}
