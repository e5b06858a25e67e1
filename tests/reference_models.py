"""Random small models for tests: sets and single labels, off-strategy mass, dead, twin and collapsed latents,
latents that the router never gives, undeclared strategies, router ratios up to 1e5. NumPy only."""

import numpy as np

STRATEGIES, LATENTS, OUTCOMES = 5, 4, 6


def random_models(rng, inputs, sets):
    """Arrays of `inputs` models: router, generator, matches (None for single labels), declared."""
    outcomes = OUTCOMES if sets else STRATEGIES
    generator = np.zeros((inputs, LATENTS, outcomes))
    router = np.zeros((inputs, LATENTS))
    for i in range(inputs):
        generator[i] = _generator(rng, outcomes)
        router[i] = _router(rng)
    declared = rng.random((inputs, STRATEGIES)) < 0.85
    declared[np.arange(inputs), rng.integers(0, STRATEGIES, inputs)] = True
    matches = rng.random((inputs, outcomes, STRATEGIES)) < 0.35 if sets else None
    return router, generator, matches, declared


def _generator(rng, outcomes):
    concentration = rng.choice([0.2, 1.0])
    rows = rng.dirichlet(np.full(outcomes + 1, concentration), size=LATENTS)[:, :outcomes]
    kind = rng.integers(0, 5)
    if kind == 0:
        rows[rng.integers(0, LATENTS)] = 0.0  # dead
    elif kind == 1:
        rows[1] = rows[2]  # twins
    elif kind == 2:
        rows[:] = rows[0]  # collapsed
    elif kind == 3:
        rows[0] = np.eye(outcomes)[rng.integers(0, outcomes)]  # certain
    return rows


def _router(rng):
    kind = rng.integers(0, 4)
    if kind == 0:
        return np.full(LATENTS, 1.0 / LATENTS)
    weights = (
        np.exp(rng.uniform(-np.log(1e5), 0.0, LATENTS)) if kind == 1 else rng.dirichlet(np.ones(LATENTS))
    )
    if kind == 3:
        weights[rng.integers(0, LATENTS)] = 0.0
    return weights / weights.sum()


def atom_lists(generator, matches, declared):
    """For each input the atom lists of its latents, [(probability, match set)] with "nothing" included."""
    models = []
    for i in range(len(generator)):
        sets = [
            frozenset([o]) if matches is None else frozenset(np.flatnonzero(matches[i, o]).tolist())
            for o in range(generator.shape[2])
        ]
        models.append([law(row, sets) for row in generator[i]])
    return models


def law(row, sets):
    """Atom list of one row of outcome probabilities."""
    atoms = {}
    for p, match in zip(row.tolist(), sets, strict=True):
        if p > 0:
            atoms[match] = atoms.get(match, 0.0) + p
    atoms[frozenset()] = atoms.get(frozenset(), 0.0) + max(0.0, 1.0 - float(row.sum()))
    return [(p, match) for match, p in atoms.items()]
