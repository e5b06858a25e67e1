"""Brute force for laws, router-generators and policies, in fractions. Imports nothing of coverjax.

An atom list is a law of one draw: [(probability, match set)], probabilities summing to 1 with the empty set
for draws that match nothing. A policy is a function from the history, a tuple of (action, match set),
to a list of (probability, action); `table[action]` is that action's atom list.
"""

from fractions import Fraction
from itertools import permutations


def atoms(probs, match_sets=None):
    """The atom list of one row of probabilities; outcome s is strategy s unless match sets are given."""
    sets = [frozenset([s]) for s in range(len(probs))] if match_sets is None else map(frozenset, match_sets)
    law: dict = {}
    for p, match in zip(probs, sets, strict=True):
        law[match] = law.get(match, Fraction(0)) + Fraction(p)
    law[frozenset()] = law.get(frozenset(), Fraction(0)) + 1 - sum(law.values())
    return [(p, match) for match, p in law.items() if p != 0]


def mixture(router, laws):
    """The atom list of a latent drawn from the router, then an atom of its law."""
    law: dict = {}
    for weight, parts in zip(router, laws, strict=True):
        for p, match in parts:
            law[match] = law.get(match, Fraction(0)) + Fraction(weight) * p
    law[frozenset()] = law.get(frozenset(), Fraction(0)) + 1 - sum(law.values())
    return [(p, match) for match, p in law.items() if p != 0]


def curves(choose, table, declared, budget):
    """Enumerate every run of a policy and return its curves at k = 1..budget, as lists of fractions."""
    declared = frozenset(declared)
    size = len(declared)
    result = {
        name: [Fraction(0)] * budget
        for name in ("distinct", "coverage", "full_coverage", "novelty_count", "novelty_any")
    }
    result["count_law"] = [[Fraction(0)] * (size + 1) for _ in range(budget)]
    stack = [((), frozenset(), Fraction(1))]
    while stack:
        history, seen, weight = stack.pop()
        k = len(history)
        if k == budget:
            continue
        for chance, action in choose(history):
            for p, match in table[action]:
                now = seen | (match & declared)
                share = weight * Fraction(chance) * p
                if share:
                    _add(result, k, share, len(seen), len(now), size)
                    stack.append(((*history, (action, match)), now, share))
    return result


def _add(result, k, share, before, after, size):
    result["distinct"][k] += share * after
    result["coverage"][k] += share * Fraction(after, size) if size else 0
    result["full_coverage"][k] += share * (after == size)
    result["count_law"][k][after] += share
    result["novelty_count"][k] += share * (after - before)
    result["novelty_any"][k] += share * (after > before)


def independent(law, declared, budget):
    """Curves of independent draws from one atom list."""
    return curves(lambda history: [(1, 0)], [law], declared, budget)


def scheduled(draw_laws, declared):
    """Curves of independent draws, the i-th from its own atom list."""
    return curves(lambda history: [(1, len(history))], draw_laws, declared, len(draw_laws))


def in_orders(orders, laws, declared, budget):
    """Curves of passes over latents without repeats: orders = [(probability, order)], new for every pass."""

    def choose(history):
        width = len(orders[0][1])
        done = tuple(action for action, _ in history[len(history) - len(history) % width :])
        fitting = [(p, order) for p, order in orders if order[: len(done)] == done]
        total = sum(p for p, _ in fitting)
        return [(p / total, order[len(done)]) for p, order in fitting]

    return curves(choose, laws, declared, budget)


def uniform_orders(latents):
    """All orders of the latents, equally likely."""
    orders = list(permutations(latents))
    return [(Fraction(1, len(orders)), order) for order in orders]


def router_orders(router):
    """All orders of the latents that the router can draw, without replacement in proportion to it."""
    positive = [z for z, r in enumerate(router) if r > 0]
    orders = []
    for order in permutations(positive):
        chance, left = Fraction(1), sum(Fraction(router[z]) for z in positive)
        for z in order:
            chance *= Fraction(router[z]) / left
            left -= Fraction(router[z])
        orders.append((chance, order))
    return orders


def strategy_auc(law, strategy, budget):
    """Mean over k = 1..budget of P(strategy among k independent draws)."""
    q = sum(p for p, match in law if strategy in match)
    return sum(1 - (1 - q) ** k for k in range(1, budget + 1)) / budget


def expected_time_full(law, declared):
    """Expected number of independent draws until all declared strategies are seen; None if never."""
    declared = frozenset(declared)
    times: dict = {declared: Fraction(0)}
    subsets = _subsets(sorted(declared))
    for seen in sorted(subsets, key=len, reverse=True):
        if seen == declared:
            continue
        moves: dict = {}
        for p, match in law:
            after = seen | (match & declared)
            moves[after] = moves.get(after, Fraction(0)) + p
        stay = moves.pop(seen, Fraction(0))
        if stay == 1 or any(times[after] is None for after in moves):
            times[seen] = None
        else:
            times[seen] = (1 + sum(p * times[after] for after, p in moves.items())) / (1 - stay)
    return times[frozenset()]


def _subsets(items):
    found = [frozenset()]
    for item in items:
        found += [subset | {item} for subset in found]
    return found
