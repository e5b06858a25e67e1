"""The log that rows of samples are, in plain Python, row by row. Imports nothing of coverjax."""

import numpy as np


def first_appearances(values):
    return list(dict.fromkeys(values))


def trial_order(names):
    """Whole numbers by value, then other names."""
    return sorted(
        names, key=lambda name: (0, int(name), name) if name.lstrip("-").isdigit() else (1, 0, name)
    )


def plain_log(rows, declared=None):
    """Return the arrays of a log as a dict.

    Args:
        rows: dicts with input, sample, strategies (a list), and optionally method, trial, valid, correct,
            score, latent; the same fields in all rows.
        declared: None, a list for all inputs, or a dict from input to list.
    """
    methods = first_appearances(row.get("method") for row in rows)
    inputs = first_appearances(str(row["input"]) for row in rows)
    held = {(row.get("method"), str(row["input"])) for row in rows}
    pairs = [(method, name) for method in methods for name in inputs if (method, name) in held]
    labels = {name: columns_of(rows, name, declared) for name in inputs}
    runs = {pair: runs_of(rows, pair) for pair in pairs}
    shape = (
        len(pairs),
        max(len(run) for run in runs.values()),
        max(len(trial) for run in runs.values() for trial in run),
    )
    width = max(1, max(len(names) for names, _ in labels.values()))
    out = {
        "matches": np.zeros((*shape, width), bool),
        "n": np.zeros(shape[:2], np.int64),
        "declared": np.zeros((len(pairs), width), bool),
        "labels": tuple(tuple(labels[name][0]) for _, name in pairs),
        "ids": [name for _, name in pairs],
        "method": None if methods == [None] else [method for method, _ in pairs],
    }
    latents = trial_order({str(row["latent"]) for row in rows if row.get("latent") is not None})
    for field, padding in (("valid", False), ("correct", False), ("score", np.nan), ("latent", -1)):
        if any(row.get(field) is not None for row in rows):
            out[field] = np.full(shape, padding)
    for at, pair in enumerate(pairs):
        names, known = labels[pair[1]]
        out["declared"][at, : len(names)] = known
        for trial, run in enumerate(runs[pair]):
            out["n"][at, trial] = len(run)
            for place, row in enumerate(run):
                for label in row["strategies"]:
                    out["matches"][at, trial, place, names.index(label)] = True
                for field in ("valid", "correct", "score"):
                    if field in out:
                        out[field][at, trial, place] = row[field]
                if row.get("latent") is not None:
                    out["latent"][at, trial, place] = latents.index(str(row["latent"]))
    return out


def columns_of(rows, name, declared):
    """Return the labels of an input in column order, and which are declared."""
    seen = sorted({label for row in rows if str(row["input"]) == name for label in row["strategies"]})
    if declared is None:
        return seen, [True] * len(seen)
    own = list(declared.get(name, []) if isinstance(declared, dict) else declared)
    rest = [label for label in seen if label not in own]
    return own + rest, [True] * len(own) + [False] * len(rest)


def runs_of(rows, pair):
    """Return the trials of a method and input, each a list of rows by sample number."""
    own = [row for row in rows if (row.get("method"), str(row["input"])) == pair]
    trials = trial_order({str(row.get("trial", 0)) for row in own})
    return [
        sorted((row for row in own if str(row.get("trial", 0)) == trial), key=lambda row: row["sample"])
        for trial in trials
    ]
