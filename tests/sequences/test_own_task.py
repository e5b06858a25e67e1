"""A task of one's own, unlike the six: prompts of any length, the longest trace behind the shortest prompt,
frequencies that depend on the input."""

import jax
import numpy as np
import pytest

import coverjax as cj
from coverjax.foundation.checks import InputError
from coverjax.sequences import studies
from coverjax.sequences.corpora import corpora
from coverjax.sequences.roles import role
from coverjax.sequences.settings import FitConfig
from coverjax.sequences.studies import judged
from coverjax.sequences.transformer import Size

LONG, SHORT = 40, 4


class Counting(cj.sequences.Task):
    """A row of marks, of one kind or the other; few of them behind a long prompt."""

    name = "counting"
    frequencies = np.array([0.5, 0.5])

    def __init__(self, largest=60):
        self.largest = largest

    def strategies(self, x=None):
        return ("stars", "dots")

    def frequencies_of(self, x):
        return np.array([0.9, 0.1]) if x % 2 else np.array([0.2, 0.8])

    def vocabulary(self):
        return tuple(sorted("0123456789 *.#"))

    def sample_input(self, rng):
        return int(rng.integers(self.largest))

    def family(self, x):
        return self.name

    def render_x(self, x):
        return f"{x}" + " " * (self._marks(x) == SHORT) * 30

    def parse_x(self, x_text):
        return int(x_text)

    def render(self, x, strategy):
        return "*."[strategy == "dots"] * self._marks(x)

    def validate_y_text(self, x, y_text):
        matches = frozenset(s for s in self.strategies(x) if self.render(x, s) == y_text)
        return cj.sequences.ValidationResult(bool(y_text), bool(matches), bool(matches), matches)

    def _marks(self, x):
        return SHORT if x % 3 else LONG


@pytest.fixture(scope="module")
def fitted():
    size = Size(width=8, layers=1, heads=1, hidden=8)
    settings = {"steps": 2, "every": 2, "batch": 4, "texts": 200, "held_out": 8, "size": size}
    base, _ = cj.sequences.fit_base(jax.random.key(0), Counting(), **settings, progress=False)
    split, _ = cj.sequences.factorize(
        jax.random.key(1), Counting(), base, **settings, latents=2, progress=False
    )
    return base, split


def test_there_is_room_for_the_longest_trace_behind_any_prompt(fitted):
    base, _ = fitted
    task = Counting()
    texts, _, lengths = corpora(jax.random.key(0), task, FitConfig(texts=200, held_out=8))
    asked = max(len(task.render_x(x)) for x in range(task.largest))
    assert lengths == (asked + 3, asked + 3 + LONG + 1)  # <begin>, <separator>, the latent; <end>
    assert texts.tokens.shape[1] < lengths[1]
    assert (base.prompt_length, base.text_length) == lengths


def test_total_variation_is_from_each_inputs_own_frequencies(fitted, monkeypatch):
    base, split = fitted
    given = {}

    def seen(forced, router, reference, **settings):
        given.update(reference=reference, ids=forced.ids)
        return cj.sequences.evaluate(forced, router, reference, **settings)

    monkeypatch.setattr(studies, "evaluate", seen)
    few = {"development": 3, "test": 2, "trials": 1, "samples": 1, "policies": ("no repeat",)}
    found = judged(jax.random.key(3), Counting(), split, base, **few)
    assert set(found.exploration.curves) == {"base iid", "router iid", "no repeat"}
    rows = np.array(given["reference"]["counting"])
    wanted = [Counting().frequencies_of(int(x.strip())) for x in given["ids"]]
    np.testing.assert_array_equal(rows, wanted)
    assert len(np.unique(rows, axis=0)) == 2


@pytest.mark.parametrize(("kept", "which"), [("fit", "that are held out"), ("held", "to fit")])
def test_a_task_without_inputs_of_one_side_is_refused(kept, which):
    one = next(x for x in range(60) if (role(Counting().render_x(x)) == "fit") == (kept == "fit"))

    class Single(Counting):
        def sample_input(self, rng):
            return one

    with pytest.raises(InputError, match=f"texts: counting seems to have no inputs {which}: none of"):
        corpora(jax.random.key(0), Single(), FitConfig(texts=10, held_out=5))
