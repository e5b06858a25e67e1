"""A sweep's file: what it may say, and where it is wrong."""

import pytest
from sweep_files import SIMULATED, SMALL, write

from coverjax.foundation.checks import InputError
from coverjax.sweep import read_sweep

HEAD = 'family = "zipf"\npolicies = ["IID"]\n'
VARIED = 'family = "confusion"\npolicies = ["IID"]\ntrials = 2\naxes = {eps=[0.1, 0.2], seed=[0, 1]}\n'
VARIED += "[figures]\nx = 'eps'\n"
HUGE = "9" * 400


def read(folder, text):
    return read_sweep(write(folder, text))


def test_axes_are_crossed_and_ranges_are_even(tmp_path):
    sweep = read(tmp_path, SMALL)
    assert len(sweep.cells) == 10
    assert [cell["eps"] for cell in sweep.cells[::2]] == [0.0, 0.1, 0.2, 0.3, 0.4]
    assert [cell["imbalance"] for cell in sweep.cells[:2]] == [0.0, 1.0]
    assert [len(part.cells) for part in sweep.parts] == [4, 4, 2]
    assert {part.tile for part in sweep.parts} == {4}
    assert sweep.cells[0]["latents"] == 3
    assert sweep.cells[0]["exponent"] is None


def test_zipped_lists_advance_together(tmp_path):
    text = HEAD + "[[zip]]\nstrategies = [2, 3]\nbudget = [4, 9]\n[axes]\nexponent = [0, 1]\n"
    sweep = read(tmp_path, text)
    found = [(cell["exponent"], cell["strategies"], cell["budget"]) for cell in sweep.cells]
    assert found == [(0.0, 2, 4), (0.0, 3, 9), (1.0, 2, 4), (1.0, 3, 9)]
    assert len(sweep.structures) == 2


def test_a_setting_that_a_family_does_not_use_is_none_and_its_cells_stand_once(tmp_path):
    text = 'policies = ["IID"]\n[axes]\nfamily = ["uniform", "zipf"]\nexponent = [1, 2, 3]\n'
    sweep = read(tmp_path, text)
    assert [(cell["family"], cell["exponent"]) for cell in sweep.cells] == [
        ("uniform", None),
        ("zipf", 1.0),
        ("zipf", 2.0),
        ("zipf", 3.0),
    ]


def test_logarithmic_and_whole_ranges(tmp_path):
    text = HEAD + "[axes]\nexponent = {from=0.01, to=1, steps=3, log=true}\n"
    text += "strategies = {from=2, to=6, steps=3}\nbudget = {from=1, to=100, steps=3, log=true}"
    sweep = read(tmp_path, text)
    assert sweep.varied["exponent"] == (0.01, 0.1, 1.0)
    assert sweep.varied["strategies"] == (2, 4, 6)
    assert sweep.varied["budget"] == (1, 10, 100)


def test_what_the_numbers_do_not_depend_on_does_not_change_the_hash(tmp_path):
    plain = read(tmp_path, SMALL)
    told = read(tmp_path, "# a comment\ntitle = 'mine'\n" + SMALL + "[figures]\nx = 'eps'\n")
    other = read(tmp_path, SMALL.replace("0.4", "0.5"))
    assert plain.hash == told.hash != other.hash


def test_seeds_matter_where_something_is_random(tmp_path):
    assert len(read(tmp_path, SIMULATED).cells) == 3
    with pytest.raises(InputError, match=r"sweep.toml:5: axes.seed: would change nothing: exact curves"):
        read(tmp_path, HEAD + "\n[axes]\nseed = [0, 1]\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"sweep.toml: family: must be given"),
        ('famly = "zipf"', r"sweep.toml:1: famly: unknown; a sweep has"),
        ('family = "zopf"', r":1: family: must be one of uniform, zipf"),
        (HEAD + "strategies = 2.5", r":3: strategies: must be a whole number; got 2.5"),
        (HEAD + "strategies = true", r":3: strategies: must be a whole number; got True"),
        (HEAD + "strategies = [2, 3]", r":3: strategies: .* lists belong into \[axes\]"),
        (HEAD + "strategies = 0", r":3: strategies: must be from 1 to 2\^31 - 1; got 0"),
        (HEAD + "exponent = nan", r":3: exponent: must be a number; got nan"),
        (HEAD + "[axes]\nexponent = 3", r":4: axes.exponent: must be a list of values or a range; got 3"),
        (HEAD + "[axes]\nexponent = []", r":4: axes.exponent: must be a list"),
        (HEAD + "[axes]\nexponent = [1, 1.0]", r":4: axes.exponent: values must be distinct; 1.0 stands"),
        (HEAD + "[axes]\nponent = [1]", r":4: axes.ponent: unknown; an axis is one of"),
        (HEAD + "[axes]\nexponent = {from=1, to=2}", r":4: axes.exponent: a range is"),
        (HEAD + "[axes]\nexponent = {from=1, to='a', steps=3}", r":4: axes.exponent: a range is"),
        (HEAD + "[axes]\nexponent = {from=0, to=1, steps=3, log=true}", r"must lie above 0; got 0 to 1"),
        (HEAD + "[axes]\nstrategies = {from=2, to=3, steps=3}", r":4: axes.strategies: must be a whole"),
        (HEAD + "[[zip]]\nexponent=[1]\nbudget=[1, 2]", r":4: zip.exponent: lists must have one length"),
        (HEAD + "zip = 3", r":3: zip: must be tables \[\[zip\]\] of lists"),
        (HEAD + "axes = 3", r":3: axes: must be a table"),
        (HEAD + "exponent = 1\n[axes]\nexponent = [1, 2]", r":3: exponent: must stand once"),
        (HEAD + "[axes]\nratio = [0.1, 0.2]", r":4: axes.ratio: would change nothing: not a setting of zipf"),
        (HEAD + "trials = 0", r":3: trials: must be a whole number >= 1; got 0"),
        (HEAD + "part = 'x'", r":3: part: must be a whole number"),
        (HEAD + "title = 3", r":3: title: must be text"),
        (HEAD + "metrics = ['aoc']", r":3: metrics: must be among auc, gain"),
        (HEAD + "metrics = ['time:2']", r":3: metrics: time: must be time:TAU with 0 < TAU <= 1"),
        (HEAD + "metrics = [3]", r":3: metrics: must be a list of words"),
        (HEAD + "[figures]\nz = 'eps'", r":4: figures.z: must be x, y, panel = the name of a setting"),
        ("family = 'zipf'", r"policies: must be a list of words, at least one; got \[\]"),
        ("family = 'zipf'\npolicies = ['Nope']", r":2: policies: must be one of IID"),
        (
            "family = 'zipf'\npolicies = ['IID', 'IID()']",
            r":2: policies: must be distinct; 'IID' stands twice",
        ),
        ("family = 'zipf'\npolicies = ['LatentIID']", r":2: policies: LatentIID: needs latents"),
        ("family = 'confusion'\npolicies = ['GoodUCB']", r":2: policies: GoodUCB: has no exact form"),
        (
            "family = 'confusion'\nstrategies = 17\npolicies = ['GreedyLatent']",
            r":3: policies: GreedyLatent: has an exact form for at most 16 strategies, some cell has 17",
        ),
        (
            "family = 'zipf'\ntrials = 2\npolicies = ['EnvelopeOracle']",
            r":3: policies: EnvelopeOracle: .*take out trials",
        ),
        (
            "family = 'two_tier'\npolicies = ['IID']\n[axes]\ncommon = [1, 2]\nstrategies = [2, 3]",
            r"cell 2 \(family = two_tier.*common: must be at least 1 and below strategies, 2; got 2",
        ),
        (
            HEAD + "[axes]\nexponent = {from=0, to=1, steps=5000}\nbudget={from=1, to=5000, steps=5000}",
            "at most",
        ),
        ("family = ", r"sweep.toml:\d+: must be TOML"),
        ("family = ['zipf']", r":1: family: must be one of uniform, .*got \['zipf'\]"),
        ("[axes]\nfamily = [{a = 1}]", r":2: axes.family: must be one of uniform, .*got \{'a': 1\}"),
        (HEAD + "[figures]\nx = ['eps']", r":4: figures.x: must be x, y, panel = the name of a setting"),
        (HEAD + "[figures]\nx = {a = 1}", r":4: figures.x: must be x, y, panel = the name of a setting"),
        (HEAD + "[axes]\nexponent = {from=0, to=1, steps=3.0}", r":4: axes.exponent: steps must be a whole"),
        (
            HEAD + "[axes]\nexponent = {from=-1e308, to=1e308, steps=3}",
            r":4: axes.exponent: must be a number",
        ),
        (HEAD + f"[axes]\nexponent = {{from=0, to={HUGE}, steps=3}}", r":4: axes.exponent: a range is"),
        (HEAD + f"exponent = {HUGE}", r":3: exponent: must be a number; got 999"),
        (HEAD + f"strategies = {HUGE}", r":3: strategies: must be from 1 to 2\^31 - 1; got 999"),
        (HEAD + f"strategies = 0x{'f' * 5000}", r":3: strategies: must be .*got a number of thousands"),
        (HEAD + f"trials = {HUGE}", r":3: trials: must be at most 2\^31 - 1; got 999"),
        (HEAD + f"part = {HUGE}", r":3: part: must be at most 2\^31 - 1; got 999"),
        (HEAD + "trials = 3.0", r":3: trials: must be a whole number >= 1; got 3.0"),
        (HEAD + f"\nstrategies = {'9' * 5000}", r"sweep.toml:4: must be TOML: a number has too many digits"),
        ("a = " + "[" * 5000, r"sweep.toml: must be TOML: lists or tables are nested too deeply"),
        (HEAD + "strategies = 2_000_000_000", r"cell 0 \(.*must be at most 1,073,741,824 numbers large"),
        (HEAD + "budget = 2_000_000_000", r"cell 0 \(.*it is 16,000,000,010: take fewer"),
        (VARIED + "y = 'eps'", r":6: figures.x: must be distinct settings; eps stands twice"),
        (VARIED.replace("x = 'eps'", "x = 'seed'"), r":6: figures.x: seed is averaged over; varied: eps"),
        *(
            (f'family = "confusion"\npolicies = ["{text}"]', f":2: policies: {message}")
            for text, message in (
                ("GoodUCB(c=1) + f(2)", ".*settings must be name=value"),
                ("GoodUCB(c=1)(c=2)", ".*settings must be name=value"),
                ("GoodUCB(c=1, c=2)", ".*each name once"),
                ("GoodUCB(c={[]:1})", ".*settings must be name=value"),
                ("GoodUCB(c=1)#)", ".*settings must be name=value"),
                (f"GoodUCB(c={'(' * 9000})", ".*settings must be name=value"),
                (f"GoodUCB(c={HUGE})", ".*GoodUCB can't be made of it; OverflowError"),
                ("LatentSchedule(logits=[[0.0], [0.0, 1.0]])", ".*LatentSchedule can't be made of it"),
                (
                    f"LatentSchedule(logits=[[{', '.join(['0.0'] * 10)}]])",
                    ".*a sweep can't write arrays down",
                ),
                ("LearnedLatent(3)", "LearnedLatent: its init or choose raised TypeError"),
                ("GoodUCB(c=None)", "GoodUCB: its init or choose raised TypeError"),
            )
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, text, message):
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"none.toml: can't be read: No such file"):
        read_sweep(tmp_path / "none.toml")
