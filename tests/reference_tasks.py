"""Brute force for traces: every body of steps that follows, written out from the input alone.

Nothing here reads a trace. A text is structurally valid exactly when its body is among those that are listed,
and readable when its steps look like some trace's; equations have endlessly many bodies, so theirs are judged
step by step, as functions of x evaluated at two points.
"""

import fractions
import functools


def list_summation(x):
    """Bodies of all ways to add up, whichever two numbers come next."""

    def go(numbers, done):
        if len(numbers) == 1:
            yield ";".join(done)
        for i, a in enumerate(numbers):
            for j, b in enumerate(numbers):
                if i != j:
                    rest = [n for k, n in enumerate(numbers) if k not in (i, j)]
                    yield from go([*rest, a + b], [*done, f"{a}+{b}={a + b}"])

    return frozenset(go(list(x), []))


def sorting_algorithms(x):
    """Bodies of all sequences of exchanges of a larger digit with a smaller one behind it."""

    def go(items, done):
        pairs = [(i, j) for i in range(len(items)) for j in range(i + 1, len(items)) if items[i] > items[j]]
        if not pairs:
            yield ";".join(done)
        for i, j in pairs:
            after = list(items)
            after[i], after[j] = items[j], items[i]
            yield from go(after, [*done, "".join(map(str, after))])

    return frozenset(go(list(x), []))


def grid_pathfinding(x):
    """Bodies of all walks from one end to the other that visit no cell twice."""
    start, goal, walls = x
    grid = [a + b for a in "abcde" for b in "12345" if a + b not in walls]

    def beside(cell):
        return [c for c in grid if abs(ord(c[0]) - ord(cell[0])) + abs(int(c[1]) - int(cell[1])) == 1]

    def go(walk, end):
        if walk[-1] == end:
            yield ";".join(walk)
            return
        for cell in beside(walk[-1]):
            if cell not in walk:
                yield from go([*walk, cell], end)

    return frozenset(go([start], goal)) | frozenset(go([goal], start))


def base_conversion(x):
    """Bodies of all ways to evaluate the digits: they are named by their place, not found by their value."""
    base, digits = x[0], x[1:]
    start = {frozenset([place]): (digit, place) for place, digit in enumerate(digits[::-1])}

    def go(items, done):
        if len(items) == 1 and next(iter(items.values()))[1] == 0:
            yield ";".join(done)
            return
        for name, (value, lacks) in items.items():
            for power in range(1, lacks + 1):
                by, made = base**power, value * base**power
                after = {**items, name: (made, lacks - power)}
                yield from go(after, [*done, f"{value}*{by}={made}"])
                yield from go(after, [*done, f"{by}*{value}={made}"])
            for other, (theirs, lack) in items.items():
                if name != other and lacks == lack:
                    rest = {key: item for key, item in items.items() if key not in (name, other)}
                    after = {**rest, name | other: (value + theirs, lacks)}
                    yield from go(after, [*done, f"{value}+{theirs}={value + theirs}"])

    return frozenset(go(start, []))


def multidigit_addition(x):
    """Bodies of all ways to add up places: places are named, and taken from an addend in any group."""
    places = [
        (which, len(str(n)) - 1 - i, int(d) * 10 ** (len(str(n)) - 1 - i))
        for which, n in enumerate(x)
        for i, d in enumerate(str(n))
    ]

    def groups(free, made):
        for which in (0, 1):
            own = [place for place in free if place[0] == which]
            for mask in range(1, 1 << len(own)):
                yield frozenset(place for i, place in enumerate(own) if mask >> i & 1)
        yield from made

    def go(free, made, done):
        if not free and len(made) == 1:
            yield ";".join(done)
        for a in groups(free, made):
            for b in groups(free, made):
                if not a & b:
                    u, v = (sum(place[2] for place in group) for group in (a, b))
                    left = frozenset(free) - a - b
                    yield from go(left, (made - {a, b}) | {a | b}, [*done, f"{u}+{v}={u + v}"])

    return frozenset(go(frozenset(places), frozenset(), []))


@functools.cache
def bodies(name, x):
    """All structurally valid bodies on an input, of every family but linear_equation_solving."""
    return globals()[name](x)


def _line(side):
    """A side as its values at x = 0 and x = 1, worked out by Python."""
    text = ("1" if side.startswith("x") else "") + side.replace("x", "*V")
    return fractions.Fraction(eval(text, {"V": 0})), fractions.Fraction(eval(text, {"V": 1}))


def _follows_in_one_move(before, after):
    (l1, r1), (l2, r2) = before, after
    added = [(new[0] - old[0], new[1] - old[1]) for old, new in ((l1, l2), (r1, r2))]
    same = added[0] == added[1] and any(added[0])
    monomial = added[0][0] == 0 or added[0][0] == added[0][1]
    first = next((new / old for old, new in zip(l1 + r1, l2 + r2, strict=True) if old), None)
    scaled = first not in (None, 0, 1) and l2 + r2 == tuple(first * old for old in l1 + r1)
    return (same and monomial) or scaled or (before != after and (l2, r2) == (r1, l1))


def equation_follows(x, body):
    """Whether a body follows from ax+b=cx+d: some reading of each ``x=v``, as a move or as a guess, does."""
    a, b, c, d = (fractions.Fraction(n) for n in x)
    lines = [tuple(_line(side) for side in step.split("=")) for step in body.split(";")]
    unknown = (fractions.Fraction(0), fractions.Fraction(1))

    def go(equation, rest):
        if not rest:
            return False
        left, right = rest[0]
        solved = left == unknown and right[0] == right[1]
        if _follows_in_one_move(equation, rest[0]):
            if solved and len(rest) == 1:
                return True
            if not solved and go(rest[0], rest[1:]):
                return True
        if not solved or len(rest) == 1:
            return False
        at = [side[0] + (side[1] - side[0]) * right[0] for side in equation]
        if rest[1] != tuple((value, value) for value in at):
            return False
        return (at[0] == at[1] and len(rest) == 2) or (at[0] != at[1] and go(equation, rest[2:]))

    return go(((b, a + b), (d, c + d)), lines)
