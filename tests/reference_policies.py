"""Policies run by brute force in plain Python. Imports nothing of coverjax.

A policy is (start, choose, after): `choose(state, seen, k)` gives [(probability, action)] for draw
k = 0, 1, ..., `after(state, action, matched)` the next state. `table[action]` is an atom list
[(probability, match set)] as in `reference_laws`. Runs that agree in state, seen set and used actions are
added up; nothing else is shared with the forms under test.
"""

from itertools import combinations


def run(policy, table, declared, budget):
    """Curves at k = 1..budget, as lists of floats, by following every state that can occur."""
    start, choose, after = policy
    declared = frozenset(declared)
    runs = {(start, frozenset(), frozenset()): 1.0}
    names = ("distinct", "novelty_count", "novelty_any", "full", "used")
    result = {name: [0.0] * budget for name in names}
    result["law"] = [[0.0] * (len(declared) + 1) for _ in range(budget)]
    result["seen"] = [{s: 0.0 for s in declared} for _ in range(budget)]
    for k in range(budget):
        following = {}
        for (state, seen, used), weight in runs.items():
            for chance, action in choose(state, seen, k):
                atoms = [(1.0, frozenset())] if action is None else table[action]
                for p, match in atoms:
                    share = weight * float(chance) * float(p)
                    if share == 0.0:
                        continue
                    matched = match & declared
                    now = seen | matched
                    touched = used if action is None else used | {action}
                    result["novelty_count"][k] += share * (len(now) - len(seen))
                    result["novelty_any"][k] += share * (now != seen)
                    key = (after(state, action, matched), now, touched)
                    following[key] = following.get(key, 0.0) + share
        runs = following
        for (_, seen, used), weight in runs.items():
            result["distinct"][k] += weight * len(seen)
            result["full"][k] += weight * (seen == declared)
            result["used"][k] += weight * len(used)
            result["law"][k][len(seen)] += weight
            for s in seen:
                result["seen"][k][s] += weight
    return result


def memoryless(chances):
    """Every draw from the same distribution over actions."""
    return None, lambda state, seen, k: list(zip(chances, range(len(chances)), strict=True)), _forget


def scheduled(rows):
    """Draw k from the distribution rows[k]."""
    return None, lambda state, seen, k: list(zip(rows[k], range(len(rows[k])), strict=True)), _forget


def no_repeat(weights):
    """Passes over the actions with positive weight, in proportion to the weights of those not used yet."""
    live = [z for z, w in enumerate(weights) if w > 0]

    def choose(used, seen, k):
        left = [z for z in live if z not in used]
        total = sum(weights[z] for z in left)
        return [(weights[z] / total, z) for z in left] or [(1.0, None)]

    def after(used, action, matched):
        now = used if action is None else used | {action}
        return frozenset() if len(now) == len(live) else now

    return frozenset(), choose, after


def by_seen_set(choose):
    """A policy of draw and seen set: choose(seen, k)."""
    return None, lambda state, seen, k: choose(seen, k), _forget


def greedy(table, declared, tie):
    """The action with the largest expected number of new strategies, lowest first among near ties."""

    def choose(seen, k):
        scores = [sum(p * len((m & declared) - seen) for p, m in atoms) for atoms in table]
        return [(1.0, next(z for z, score in enumerate(scores) if score >= max(scores) * (1.0 - tie)))]

    return by_seen_set(choose)


def best_value(table, declared, budget, final):
    """Largest expected AUC (or final coverage) of any adaptive choice, by recursion over everything."""
    known = {}

    def value(k, seen):
        if k == budget:
            return 0.0
        if (k, seen) not in known:
            known[k, seen] = max(
                sum(
                    p * (worth(k, seen | (m & declared)) + value(k + 1, seen | (m & declared)))
                    for p, m in atoms
                )
                for atoms in table
            )
        return known[k, seen]

    def worth(k, seen):
        share = len(seen) / len(declared)
        return share * (k == budget - 1) if final else share / budget

    return value(0, frozenset())


def good_ucb(latents, c, log, sqrt):
    """Good-UCB; the state is (draws, draws by latent, sorted (strategy, times matched, last latent))."""

    def choose(state, seen, k):
        t, draws, counts = state
        index = [
            float("inf")
            if draws[z] == 0
            else sum(times == 1 and by == z for _, times, by in counts) / draws[z]
            + c * sqrt(log(4 * (t + 1)) / draws[z])
            for z in range(latents)
        ]
        return [(1.0, index.index(max(index)))]

    def after(state, action, matched):
        t, draws, counts = state
        table = {s: (times, by) for s, times, by in counts}
        for s in matched:
            table[s] = (table.get(s, (0, 0))[0] + 1, action)
        told = tuple(sorted((s, times, by) for s, (times, by) in table.items()))
        return t + 1, tuple(n + (z == action) for z, n in enumerate(draws)), told

    return (0, (0,) * latents, ()), choose, after


def envelope(sets, budget):
    """Largest union of k match sets, k = 1..budget, by trying all choices."""
    distinct = [frozenset(s) for s in set(map(frozenset, sets))]
    return [
        max(
            (len(frozenset().union(*chosen)) for chosen in combinations(distinct, min(k, len(distinct)))),
            default=0,
        )
        for k in range(1, budget + 1)
    ]


def _forget(state, action, matched):
    return None
