"""Each strategy does what its name says: its steps by another road than the one that writes them."""

import itertools

import pytest
import reference_tasks as reference

import coverjax as cj

INPUTS = 60


def sampled(name, rng, count=INPUTS):
    """Inputs of a family with the steps of each strategy."""
    task = cj.sequences.task(name)
    for x in task.sample_inputs(rng, count):
        yield x, written(task, x)


def written(task, x):
    return {s: task.render(x, s).partition(">")[0].split(";") for s in task.strategies()}


def results(steps):
    return [int(step.partition("=")[2]) for step in steps]


def test_sums_grow_in_the_order_of_the_name(rng):
    for x, steps in sampled("list_summation", rng):
        for name, order in {
            "left_to_right": x,
            "right_to_left": x[::-1],
            "smallest_first": sorted(x),
        }.items():
            assert results(steps[name]) == list(itertools.accumulate(order))[1:]
            assert [int(step.split("+")[1].split("=")[0]) for step in steps[name]] == list(order[1:])
        first, second = x[0] + x[1], x[2] + x[3]
        assert steps["pairs"] == [
            f"{x[0]}+{x[1]}={first}",
            f"{x[2]}+{x[3]}={second}",
            f"{first}+{second}={first + second}",
        ]


def test_the_sums_of_five_numbers_wait_for_a_neighbour():
    task = cj.sequences.task("list_summation")
    assert task.render((1, 2, 3, 4, 5), "pairs") == "1+2=3;3+4=7;3+7=10;10+5=15>15"


def exchanged(states):
    """Places of each exchange, from the lists before and after."""
    return [tuple(i for i in range(len(a)) if a[i] != b[i]) for a, b in itertools.pairwise(states)]


def test_sorting_by_what_is_in_place_after_each_exchange(rng):
    for x, steps in sampled("sorting_algorithms", rng):
        first, final = "".join(map(str, x)), "".join(map(str, sorted(x)))
        states = {name: [first, *own] for name, own in steps.items()}
        inversions = sum(a > b for a, b in itertools.combinations(x, 2))
        for name in ("bubble", "insertion"):
            assert len(steps[name]) == inversions
            assert all(j == i + 1 for i, j in exchanged(states[name]))
        # Insertion: always the leftmost neighbours in the wrong order.
        for state, (i, _) in zip(states["insertion"], exchanged(states["insertion"]), strict=False):
            assert i == next(k for k in range(4) if state[k] > state[k + 1])
        # Bubble: sweep by sweep, each exchange right of the last one, or from the left where there is none.
        place = 0
        for state, (i, _) in zip(states["bubble"], exchanged(states["bubble"]), strict=False):
            wrong = [k for k in range(4) if state[k] > state[k + 1]]
            right = [k for k in wrong if k >= place]
            assert i == (right or wrong)[0]
            place = i + 1
        # Selection: the first digit that is out of place gets its own; largest_last: the last one does.
        for name, end in (("selection", min), ("largest_last", max)):
            for state, pair in zip(states[name], exchanged(states[name]), strict=False):
                wrong = end(k for k in range(5) if state[k] != final[k])
                assert wrong in pair
                assert set(pair) == {wrong, state.index(final[wrong])}


def kinds(walk):
    """Each move: True where it is up or down."""
    return [a[0] == b[0] for a, b in itertools.pairwise(walk)]


def images(x):
    """The grid as it is, and seen in a mirror on either side: those that are drawn go to the right."""
    for columns, rows in itertools.product(("abcde", "edcba"), ("12345", "54321")):
        turned = str.maketrans("abcde12345", columns + rows)
        start, goal, walls = x
        yield (
            start.translate(turned),
            goal.translate(turned),
            tuple(sorted(w.translate(turned) for w in walls)),
        )


def test_goals_that_are_drawn_lie_two_cells_to_the_right_or_more_and_as_far_above_or_below(rng):
    seen = set()
    for start, goal, _ in cj.sequences.task("grid_pathfinding").sample_inputs(rng, 600):
        seen.add(("abcde".index(goal[0]) - "abcde".index(start[0]), int(goal[1]) - int(start[1])))
    assert seen == set(itertools.product((2, 3, 4), (-4, -3, -2, 2, 3, 4)))


def test_walks_are_the_first_of_all_shortest_ones_by_their_rule(rng):
    task = cj.sequences.task("grid_pathfinding")
    asked = [image for drawn in task.sample_inputs(rng, 5) for image in images(drawn)]
    for x in asked:
        steps = written(task, x)
        start, goal, _ = x
        walks = [body.split(";") for body in reference.bodies("grid_pathfinding", x)]
        least = min(map(len, walks))
        assert {len(own) for own in steps.values()} == {least}
        there = [walk for walk in walks if len(walk) == least and walk[0] == start]
        back = [walk for walk in walks if len(walk) == least and walk[0] == goal]

        def turns(walk):
            """Whether each move keeps the axis of the one before; the first wants to be up or down."""
            return [a == b for a, b in itertools.pairwise([False, *kinds(walk)])]

        best = {
            "vertical_first": min(there, key=lambda walk: [not v for v in kinds(walk)]),
            "horizontal_first": min(there, key=kinds),
            "staircase": min(there, key=turns),
            "from_goal": min(back, key=lambda walk: [not v for v in kinds(walk)]),
        }
        assert steps == best


def test_moves_on_equations_come_in_the_order_of_the_name(rng):
    for (a, b, c, d), steps in sampled("linear_equation_solving", rng):
        root = (d - b) // (a - c)
        assert steps["variables_first"][:2] == [f"{a - c}x+{b}={d}", f"{a - c}x={d - b}"]
        assert steps["constants_first"][1:] == [f"{a - c}x={d - b}", f"x={root}"]
        assert "x" in steps["constants_first"][0].split("=")[1]
        assert steps["divide_first"][0].count("x") == 2
        assert all(step.count("x") < 2 for step in steps["divide_first"][1:])
        guesses, sides = steps["trial"][::2], [step.split("=") for step in steps["trial"][1::2]]
        assert guesses == [f"x={v}" for v in range(1, root + 1)]
        assert [left == right for left, right in sides] == [False] * (root - 1) + [True]


def test_values_of_digits_by_pythons_int(rng):
    for (base, *digits), steps in sampled("base_conversion", rng):
        value = int("".join(map(str, digits)), base)
        assert {results(own)[-1] for own in steps.values()} == {value}
        prefixes = [int("".join(map(str, digits[: n + 1])), base) for n in (1, 2)]
        assert results(steps["horner"])[1::2] == prefixes
        places = [digit * base**power for digit, power in zip(digits, (2, 1, 0), strict=True)]
        products = {name: [int(s.split("=")[1]) for s in own if "*" in s] for name, own in steps.items()}
        sums = {name: [int(s.split("=")[1]) for s in own if "+" in s] for name, own in steps.items()}
        assert (products["places_down"], products["places_up"]) == (places[:2], places[1::-1])
        assert sums["places_down"] == list(itertools.accumulate(places))[1:]
        assert sums["places_up"] == list(itertools.accumulate(places[::-1]))[1:]


@pytest.mark.parametrize("end", ["high", "low"])
def test_parts_are_added_from_the_end_of_the_name(end, rng):
    for (first, second), steps in sampled("multidigit_addition", rng):
        ones, tens = second % 10, second // 10 * 10
        order = [tens, ones] if end == "high" else [ones, tens]
        assert results(steps[f"jump_{end}_first"]) == [first + order[0], first + second]
        places = [first % 10 + ones, first // 10 * 10 + tens]
        split = places[::-1] if end == "high" else places
        assert results(steps[f"split_{end}_first"]) == [*split, first + second]
        assert steps[f"split_{end}_first"][2].startswith(f"{split[0]}+{split[1]}=")
