"""Samples of every latent: from results of a task, from logs in any order, with their tables."""

import numpy as np
import pytest

import coverjax as cj
from tests.forced_samples import KINDS, only, point, random_case


class TestForced:
    def test_from_results_of_a_task(self, rng):
        """Traces of a real task: latent z writes strategy z, the last one garbage."""
        task = cj.sequences.multi_task()
        inputs = task.sample_inputs(rng, 12)
        results = np.empty((12, 4, 2), dtype=object)
        for i, x in enumerate(inputs):
            for z in range(4):
                strategies = task.strategies(x)
                text = task.render(x, strategies[z]) if z < len(strategies) else "?"
                results[i, z, :] = [task.validate_y_text(x, text)] * 2
        samples = cj.sequences.ForcedSamples.from_results(results, task, inputs)
        assert samples.families == tuple(task.family(x) for x in inputs)
        found = cj.sequences.evaluate(samples, np.full((12, 4), 0.25))
        assert set(found.families) == {task.family(x) for x in inputs}
        for family in found.families.values():
            assert point(family.local_coverage) == 1.0
            assert point(family.fidelity) == point(family.valid) == min(len(family.strategies), 4) / 4
        assert samples.parsed.sum() == 2 * sum(len(task.strategies(x)) for x in inputs)

    def test_from_a_log_whose_samples_are_in_any_order(self, rng):
        matches, router = random_case(rng, samples=4)
        inputs, latents, samples, _ = matches.shape
        valid = rng.random(matches.shape[:3]) < 0.5
        flat, codes = matches.reshape(inputs, -1, 3), np.repeat(np.arange(latents), samples)
        order = np.stack([rng.permutation(latents * samples) for _ in range(inputs)])
        rows = np.arange(inputs)[:, None]
        log = cj.SampleLog.from_arrays(
            flat[rows, order],
            latent=codes[order],
            valid=valid.reshape(inputs, -1)[rows, order],
            labels=[("a", "b", "c")] * inputs,
        )
        one = cj.sequences.evaluate(log, router)
        other = cj.sequences.ForcedSamples.from_arrays(matches, valid=valid, names=[("a", "b", "c")] * inputs)
        two = cj.sequences.evaluate(other, router)
        assert one.samples == samples
        for kind in KINDS:
            assert point(only(one).agreement[kind]) == point(only(two).agreement[kind])
        assert point(only(one).valid) == pytest.approx(point(only(two).valid), abs=1e-12)
        assert only(one).table.mean.tolist() == only(two).table.mean.tolist()
        assert only(one).correct is None

    def test_a_log_that_was_written_and_read(self, tmp_path, rng):
        """Twelve latents, so that "10" sorts before "2", and strategies in no alphabetical order."""
        task = cj.sequences.task("list_summation", [0.4, 0.3, 0.2, 0.1])
        inputs = task.sample_inputs(rng, 4)
        results = np.empty((4, 12, 2), dtype=object)
        for i, x in enumerate(inputs):
            for z in range(12):
                text = task.render(x, task.strategies()[z % 4])
                results[i, z] = [
                    task.validate_y_text(x, text),
                    task.validate_y_text(x, text if z < 8 else "?"),
                ]
        forced = cj.sequences.ForcedSamples.from_results(results, task, inputs)
        log = cj.SampleLog.from_arrays(
            forced.matches.reshape(4, 24, 4),
            latent=np.tile(np.repeat(np.arange(12), 2), (4, 1)),
            labels=forced.names,
            ids=[task.render_x(x) for x in inputs],
        )
        cj.write_log(log, tmp_path / "log.jsonl")
        cj.write_declared(log, tmp_path / "declared.csv")
        again = cj.read_log(tmp_path / "log.jsonl", declared=tmp_path / "declared.csv")
        router = rng.dirichlet(np.ones(12), size=4)
        shares = dict(zip(task.strategies(), task.frequencies, strict=True))
        ours = only(cj.sequences.evaluate(forced, router, task.frequencies))
        order = [task.render_x(x) for x in inputs]
        theirs = only(cj.sequences.evaluate(again, router[[order.index(i) for i in again.ids]], shares))
        for read in (lambda f: f.total_variation, lambda f: f.agreement["unique"], lambda f: f.alignment):
            assert point(read(theirs)) == pytest.approx(point(read(ours)), abs=1e-12)
        assert theirs.main == ours.main
        assert theirs.purity == pytest.approx(ours.purity)

    def test_tables_with_intervals(self, rng):
        matches, _ = random_case(rng, inputs=7, samples=6)
        samples = cj.sequences.ForcedSamples.from_arrays(matches)
        by_input, whole = samples.input_table(), samples.family_table()
        assert by_input.mean.tolist() == matches.mean(axis=2).tolist()
        assert whole.mean == pytest.approx(matches.mean(axis=(0, 2)))
        for table in (by_input, whole):
            assert (table.low <= table.mean).all()
            assert (table.mean <= table.high).all()
            assert table.low.min() >= 0
            assert table.high.max() <= 1
        assert (by_input.units, whole.units) == (6, 7)
        # Clopper and Pearson with no match among 6, at 97.5 %.
        assert by_input.high[by_input.mean == 0] == pytest.approx(1 - 0.025 ** (1 / 6), abs=0.01)
        assert (samples.input_table(level=0.5).high <= by_input.high).all()

    def test_the_model_of_the_samples(self, rng):
        matches, router = random_case(rng)
        model = cj.sequences.ForcedSamples.from_arrays(matches).model(router)
        assert model.strategy_table() == pytest.approx(matches.mean(axis=2))
