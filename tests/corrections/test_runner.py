"""Whole runs on systems whose curves are known by hand."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import teachable

import coverjax as cj
from coverjax.corrections import Scan, Sweep, run
from coverjax.foundation.checks import InputError

NAN = float("nan")


def same(found, wanted):
    np.testing.assert_array_equal(found, np.asarray(wanted, dtype=float))


class TestGoldens:
    def test_a_faithful_memory(self, make_cases):
        found = cj.corrections.run(make_cases(3), teachable.Faithful, workers=0)
        same(found.hits, [[0, 1, 2, 3, 4]] * 3)
        same(found.first_hit, [1, 1, 1])
        same(found.saturation, [4, 4, 4])
        same(found.saturation_sustained, [4, 4, 4])
        same(found.saturation_score, [1, 1, 1])
        same(found.area, [10 / 16] * 3)
        assert found.replay_determinism == 1.0
        assert found.replay_gate
        summary = cj.corrections.summaries(found)["public"]
        assert summary.first_hit.rate.mean[0] == summary.saturation.rate.mean[0] == 1.0
        assert summary.saturation.restricted_mean.mean[0] == 4.0

    def test_the_first_turn_ignored_shows_the_effect_of_the_seed_turn(self, make_cases):
        cases = make_cases(2, seed="Let us begin.")
        with_seed = run(cases, teachable.IgnoresFirst, workers=0)
        without = run(cases, teachable.IgnoresFirst, workers=0, sweep=Sweep(seed_turn=False))
        same(with_seed.hits, [[0, 1, 2, 3, 4]] * 2)
        same(without.hits, [[0, 0, 1, 2, 3]] * 2)
        same(without.saturation, [NAN, NAN])
        assert with_seed.records[0]["seed_turn"] == {"accepted": True, "reason": ""}
        assert without.records[0]["seed_turn"] is None

    def test_a_curve_that_falls_has_a_first_and_a_sustained_crossing(self, make_cases):
        found = run(make_cases(1, 6), teachable.Windowed, workers=0)
        same(found.hits, [[0, 1, 2, 3, 2, 2, 6]])
        same(found.saturation, [6])
        found = run(make_cases(1, 3), teachable.Windowed, workers=0)
        same(found.hits, [[0, 1, 2, 3]])
        fallen = run(make_cases(1, 5), teachable.Windowed, workers=0)
        same(fallen.hits, [[0, 1, 2, 3, 2, 2]])
        same(fallen.saturation, [NAN])
        same(fallen.peak_score, [3 / 5])
        same(fallen.saturation_score, [2 / 5])
        same(fallen.largest_drop, [1])
        assert fallen.records[0]["drops"] == [{"k": 4, "tokens": 1}]

    def test_tokens_come_and_go_with_the_corrections_that_hold_them(self, make_cases):
        record = run(make_cases(1, 5), teachable.Windowed, workers=0).records[0]
        told = {
            row["token"]: (row["correction"], row["first_k"], row["came"], row["went"])
            for row in record["tokens"]
        }
        assert told == {
            "red": (1, 1, [1], [4]),
            "blue": (2, 2, [2], [4]),
            "green": (3, 3, [3], [5]),
            "white": (4, 4, [4], []),
            "black": (5, 5, [5], []),
        }

    def test_first_and_sustained_saturation_apart(self):
        case = {
            "concept": "x",
            "curriculum": [f"An x {word}." for word in ("one", "two", "three")],
            "probe": "What?",
            "expected_tokens": ["one", "two", "three"],
        }

        class Script(teachable.Faithful):
            def said(self):
                return ["one two three"] if len(self.taught) in (1, 3) else ["one"]

        found = run([case], Script)
        same(found.hits, [[1, 3, 1, 3]])
        same(found.first_hit, [0])
        same(found.prior_knowledge, [1])
        same(found.saturation, [1])
        same(found.saturation_sustained, [3])
        assert found.provenance["ran"].startswith("this process: the factory can't be pickled")

    def test_those_who_never_hit_do_not_shorten_the_mean_silently(self, make_cases):
        class Half(teachable.Faithful):
            def said(self):
                return [text for text in self.taught if "c0 " in text or "c1 " in text]

        found = run(make_cases(4), Half)
        same(found.first_hit, [1, 1, NAN, NAN])
        same(found.saturation, [4, 4, NAN, NAN])
        summary = cj.corrections.summaries(found)["public"]
        assert (summary.first_hit.mean.mean[0], summary.first_hit.reached) == (1.0, 2)
        assert summary.first_hit.rate.mean[0] == 0.5
        assert summary.first_hit.restricted_mean.mean[0] == (1 + 1 + 5 + 5) / 4
        assert summary.first_hit.survival.survival.tolist() == [1.0, 0.5, 0.5, 0.5, 0.5]

    def test_prior_knowledge_counts_at_zero_and_is_shown_apart(self, make_cases):
        found = run(make_cases(2), teachable.Knows, workers=0)
        same(found.first_hit, [0, 0])
        same(found.prior_knowledge, [1, 1])
        assert cj.corrections.summaries(found)["public"].prior_knowledge_rate.mean[0] == 1.0


class TestWhatGoesWrong:
    def test_a_rejected_correction_makes_its_case_not_graded(self, make_cases):
        found = run(make_cases(1), teachable.Picky, workers=0)
        assert found.records[0]["status"] == "not_graded"
        assert found.records[0]["rejected"] == [{"correction": 2, "reason": "no blue here"}]
        assert [point["k"] for point in found.records[0]["curve"]] == [0, 1, 1, 2, 3]
        assert [point["cumulative_token_hit_count"] for point in found.records[0]["curve"]] == [0, 1, 1, 2, 3]
        assert np.isnan(found.hits).all()
        assert np.isnan(found.saturation_score).all()
        summary = cj.corrections.summaries(found)["public"]
        assert (summary.concepts, summary.not_graded) == (0, 1)
        assert "1 not graded" in summary.warnings[0]

    def test_a_nondeterministic_system_fails_the_gate_and_says_where(self, make_cases):
        found = run(make_cases(2), teachable.Restless, workers=0)
        assert found.replay_determinism == 4 / 10
        assert not found.replay_gate
        assert found.replay_differs == [(concept, k) for concept in ("c0", "c1") for k in (2, 3, 4)]
        assert found.records[0]["curve"][2]["replay"] == "differs"
        assert "replays differ at k = 2, 3, 4" in cj.corrections.summaries(found)["public"].warnings[0]

    def test_the_whole_answer_is_compared_and_not_its_hash_alone(self, make_cases):
        class Wavers(teachable.Faithful):
            built = 0

            def __init__(self):
                super().__init__()
                Wavers.built += 1
                self.number = Wavers.built

            def probe(self, text):
                return {**super().probe(text), "trace_hash": "same", "note": self.number}

        found = run(make_cases(1), Wavers)
        assert found.replay_determinism == 0.0
        assert Wavers.built == 10  # five snapshots and their replays, each of a system of its own

    def test_an_empty_hash_is_a_failed_probe_and_no_match(self, make_cases):
        found = run(make_cases(1), teachable.Hashless, workers=0)
        assert found.failed.tolist() == [[False, True, False, False, False]]
        assert found.replay_determinism == 4 / 5
        same(found.hits, [[0, 1, 2, 3, 4]])
        assert "trace_hash" in found.records[0]["curve"][1]["error"]

    def test_a_crash_is_the_failure_of_that_snapshot(self, make_cases):
        found = run(make_cases(4), teachable.Raises, workers=0)
        same(found.hits[2], [0, 1, 2, 0, 0])
        same(found.hits[3], [0, 1, 2, 3, 4])
        assert found.records[2]["curve"][3]["error"] == "RuntimeError: no room"
        assert found.records[2]["curve"][3]["k"] == 3
        assert found.records[2]["failed"] == [3, 4]
        assert found.replay_differs == [("c2", 3), ("c2", 4)]

    @pytest.mark.parametrize(
        ("answer", "says"),
        [
            ("text", "probe must return a mapping"),
            (
                {"vault_hits": 1, "trace_hash": "x"},
                "text in surface or walk_surface; got the fields vault_hits",
            ),
            ({"surface": 3, "trace_hash": "x"}, "surface must be text; got 3"),
            ({"surface": "", "vault_hits": "x", "trace_hash": "x"}, "vault_hits must be a whole number"),
            ({"surface": "", "other": object, "trace_hash": "x"}, "values that JSON can hold"),
        ],
    )
    def test_an_answer_that_is_none_fails(self, make_cases, answer, says):
        class Odd(teachable.Faithful):
            def probe(self, text):
                return answer

        found = run(make_cases(1, 1), Odd)
        assert says in found.records[0]["curve"][0]["error"]
        assert found.failed.all()

    @pytest.mark.parametrize("outcome", [None, "yes", (True,), 1])
    def test_teach_must_say_whether_it_accepted(self, make_cases, outcome):
        class Odd(teachable.Faithful):
            def teach(self, text):
                return outcome

        curve = run(make_cases(1, 1), Odd).records[0]["curve"]
        assert curve[0]["error"] is None
        assert "teach must return True, False or (accepted, reason)" in curve[1]["error"]

    @pytest.mark.parametrize(
        ("factory", "options", "says"),
        [
            ("memroy", {}, "must be memory, noisy-memory, chat or module:name; got 'memroy'"),
            ("no_such_module:X", {}, "'no_such_module:X' can't be imported; ModuleNotFoundError"),
            ("teachable:Nothing", {}, "teachable has no Nothing"),
            ("memory", {"settings": {"depth": 3}}, "must take the settings depth"),
            ("memory", {"sweep": Sweep(seeds=(1,))}, "must take the settings seed"),
            ("noisy-memory", {"settings": {"forgetting": {1, 2}}}, "values that JSON can hold"),
            ("memory", {"workers": -1}, "workers: must be a whole number >= 0; got -1"),
            (3, {}, "factory: must be a callable or module:name; got 3"),
        ],
    )
    def test_a_wrong_request_is_refused_before_anything_runs(self, make_cases, factory, options, says):
        with pytest.raises(InputError) as error:
            run(make_cases(1), factory, **options)
        assert says in str(error.value)

    def test_a_factory_that_no_worker_can_be_given_is_named_where_workers_are_asked_for(self, make_cases):
        with pytest.raises(InputError, match="workers: must be 0 here; the factory can't be pickled"):
            run(make_cases(1), lambda: teachable.Faithful(), workers=1)

    @pytest.mark.parametrize(("options", "says"), [({"fields": ()}, "fields"), ({"rule": "x"}, "rule")])
    def test_a_wrong_scan(self, options, says):
        with pytest.raises(InputError, match=f"^{says}: "):
            Scan(**options)

    @pytest.mark.parametrize(
        "options", [{"orders": 0}, {"distractors": -1}, {"seeds": (1, 1)}, {"seed": 1.5}]
    )
    def test_a_wrong_sweep(self, options):
        with pytest.raises(InputError, match=f"^{next(iter(options))}: must be"):
            Sweep(**options)


class TestWorkers:
    def test_processes_give_the_same_records_in_the_same_order(self, make_cases):
        cases = make_cases(9, [4, 2, 6])
        here = run(cases, teachable.Faithful, workers=0)
        there = run(cases, teachable.Faithful, workers=2)
        assert there.provenance["ran"] == "2 worker processes"
        assert here.records == there.records
        same(here.hits, there.hits)
        assert here.horizon == 2

    def test_a_process_that_dies_costs_its_snapshot_and_no_other(self, make_cases):
        found = run(make_cases(6), "teachable:Dies", workers=2)
        same(found.hits[[0, 1, 2, 4, 5]], [[0, 1, 2, 3, 4]] * 5)
        same(found.hits[3], [0, 1, 0, 3, 4])
        assert found.failed.sum() == 1
        assert "ended without an answer" in found.records[3]["curve"][2]["error"]
        assert found.replay_differs == [("c3", 2)]
        assert [record["concept"] for record in found.records] == [f"c{i}" for i in range(6)]


class TestSweeps:
    def test_orders_are_distinct_and_the_first_is_as_written(self, make_cases):
        found = run(make_cases(2, 3), "memory", sweep=Sweep(orders=4), workers=0)
        orders = [tuple(record["order"]) for record in found.records]
        assert orders[0] == orders[4] == (1, 2, 3)
        assert len(set(orders[:4])) == 4
        assert set(map(frozenset, orders)) == {frozenset((1, 2, 3))}
        assert run(make_cases(1, 2), "memory", sweep=Sweep(orders=9), workers=0).hits.shape == (2, 3)
        again = run(make_cases(2, 3), "memory", sweep=Sweep(orders=4), workers=0)
        assert [tuple(record["order"]) for record in again.records] == orders

    def test_distractors_are_taught_and_not_counted(self, make_cases):
        # The colours are shared: only concepts with other tokens can lend their corrections.
        others = [
            {**case, "expected_tokens": ["lion"], "curriculum": [f"A {case['concept']} is a lion."]}
            for case in make_cases(3, concept="zoo")
        ]
        others = [
            {**case, "concept": f"zoo{i}", "curriculum": [f"A zoo{i} has a lion."]}
            for i, case in enumerate(others)
        ]
        found = run([*make_cases(1), *others], teachable.Faithful, sweep=Sweep(distractors=2), workers=0)
        same(found.hits[0], [0, 1, 2, 3, 4])
        assert [point["vault_hits"] for point in found.records[0]["curve"]] == [0, 3, 6, 9, 12]
        assert "lion" in found.records[0]["curve"][1]["answer"]["surface"]
        with pytest.raises(InputError, match="distractors: must come from other concepts"):
            run(make_cases(3), "memory", sweep=Sweep(distractors=1), workers=0)

    def test_seeds_reach_the_factory_and_variants_are_averaged_by_concept(self, make_cases):
        sweep = Sweep(seeds=(3, 5))
        found = run(make_cases(2), "teachable:Seeded", sweep=sweep, settings={"prefix": "number"}, workers=0)
        assert [record["variant"]["seed"] for record in found.records] == [3, 5, 3, 5]
        assert found.records[1]["curve"][0]["answer"]["surface"] == "number 5"
        assert found.curves().coverage.tolist() == [[0.0, 0.25, 0.5, 0.75, 1.0]] * 2
        summary = cj.corrections.summaries(found)["public"]
        assert (summary.concepts, summary.variants) == (2, 4)

    def test_fields_and_rule_are_settings(self, make_cases):
        class Two(teachable.Faithful):
            def probe(self, text):
                return {"aside": "RED", "surface": "blue", "trace_hash": "x"}

        assert run(make_cases(1), Two).records[0]["curve"][0]["tokens"] == ["blue"]
        found = run(make_cases(1), Two, scan=Scan(("aside", "surface"), "ascii"))
        assert found.records[0]["curve"][0]["tokens"] == ["red", "blue"]


def test_records_are_json_and_hold_what_the_issue_names(make_cases):
    record = run(make_cases(1), "memory", workers=0).records[0]
    assert json.loads(json.dumps(record)) == record
    assert {"k", "cumulative_token_hit_count", "vault_hits", "trace_hash"} <= set(record["curve"][0])
    assert {"corrections_to_first_hit", "corrections_to_saturation", "saturation_score"} <= set(record)


def test_unequal_curricula_share_the_shortest_horizon(make_cases):
    found = run(make_cases(4, [4, 2]), "memory", workers=0)
    same(found.hits[1], [0, 1, 2, NAN, NAN])
    summary = cj.corrections.summaries(found)["public"]
    assert found.curves().budgets.tolist() == [0, 1, 2]
    same(summary.curve.mean, [0, 3 / 8, 3 / 4])
    assert summary.saturation.restricted_to == 3
    assert summary.saturation.restricted_mean.mean[0] == 2.5
    assert any("curricula differ in length" in text for text in summary.warnings)


UNGUARDED = """
import coverjax.corrections as corrections
from teachable import Faithful
found = corrections.run({cases!r}, Faithful{workers})
print(found.hits.tolist(), found.provenance["ran"])
"""


@pytest.mark.parametrize("workers", ["", ", workers=1"])
def test_a_script_without_a_guard_runs_here_unless_it_asks_for_workers(make_cases, tmp_path, workers):
    """A worker that imports such a script ends silently; it must neither recurse nor print a traceback."""
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED.format(cases=make_cases(1, 2), workers=workers))
    folder = str(pathlib.Path(teachable.__file__).parent)
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": folder},
    )
    if workers:
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1].endswith("under `if __name__ == '__main__':`")
        assert done.stderr.count("Traceback") == 1
    else:
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("[[0.0, 1.0, 2.0]] this process: a worker process ended as it began")
