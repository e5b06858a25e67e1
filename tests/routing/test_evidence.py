"""The controlled benchmark: what is drawn, what is public, and splits."""

import dataclasses

import numpy as np
import pytest

from coverjax.foundation.checks import InputError
from coverjax.routing import evidence
from coverjax.routing.evidence import FOUR, PUBLIC, TWELVE, EvidenceDesign, sample_evidence, split_by_source

SMALL = EvidenceDesign(tasks=40, workers=6, team_size=2, required=4, pieces=10, sources=10, planted=0.5)


def test_shapes_of_the_two_benchmarks():
    four, twelve = sample_evidence(FOUR, 0), sample_evidence(TWELVE, 0)
    assert four.scores.shape == (300, 4)
    assert twelve.scores.shape == (500, 220)
    assert twelve.worker_cards.shape == (500, 12, 24)


def test_scores_are_shares_of_required_pieces_by_brute_force():
    drawn = sample_evidence(SMALL, 3)
    for task in range(40):
        wanted = set(np.flatnonzero(drawn.required[task]).tolist())
        assert len(wanted) == 4
        for team, row in enumerate(drawn.family.membership):
            held = set()
            for worker in np.flatnonzero(row):
                held |= set(np.flatnonzero(drawn.holdings[task, worker]).tolist())
            assert drawn.scores[task, team] == len(held & wanted) / 4


def test_planted_tasks_hide_a_team_with_everything():
    planted = sample_evidence(dataclasses.replace(SMALL, planted=1.0), 1)
    assert (planted.scores.max(axis=1) == 1.0).all()
    free = sample_evidence(dataclasses.replace(SMALL, planted=0.0), 1)
    assert (free.scores.max(axis=1) < 1.0).any()


def test_the_same_seed_gives_the_same_benchmark_and_noise_only_moves_cards():
    one, two = sample_evidence(SMALL, 5), sample_evidence(dataclasses.replace(SMALL, noise=2.0), 5)
    assert np.array_equal(one.scores, two.scores)
    assert np.array_equal(one.worker_cards, sample_evidence(SMALL, 5).worker_cards)
    assert not np.array_equal(one.worker_cards, two.worker_cards)
    spread = (two.worker_cards - two.holdings).std()
    assert abs(spread - 2.0) < 0.2


def test_pair_labels_by_brute_force():
    drawn = sample_evidence(SMALL, 2)
    privileged = evidence.privileged_pair_labels(drawn)
    outcomes = evidence.outcome_pair_labels(drawn.scores, drawn.family)
    for task in range(10):
        own = [set(np.flatnonzero(h & drawn.required[task]).tolist()) for h in drawn.holdings[task]]
        best = np.flatnonzero(drawn.scores[task] == drawn.scores[task].max())
        for a in range(6):
            for b in range(6):
                if a == b:
                    continue
                assert privileged[task, a, b] == pytest.approx(
                    2 * min(len(own[a] - own[b]), len(own[b] - own[a])) / 4
                )
                both = [drawn.family.membership[team, [a, b]].all() for team in best]
                assert outcomes[task, a, b] == pytest.approx(np.mean(both))


def test_no_source_stands_in_two_parts():
    drawn = sample_evidence(SMALL, 0)
    split = split_by_source(drawn.sources, seed=4)
    parts = [set(drawn.sources[rows].tolist()) for rows in (split.train, split.validation, split.test)]
    assert [len(part) for part in parts] == [5, 2, 3]
    assert not parts[0] & parts[1]
    assert not (parts[0] | parts[1]) & parts[2]
    assert sorted(np.concatenate([split.train, split.validation, split.test]).tolist()) == list(range(40))


def test_public_fields_are_cards_only():
    drawn = sample_evidence(SMALL, 0)
    assert set(PUBLIC) == {"worker_cards", "task_cards"}
    assert set(drawn.fields) - set(PUBLIC) == {"holdings", "required"}


def test_endpoints_stand_side_by_side():
    drawn = sample_evidence(SMALL, 0)
    tables = drawn.tables()
    assert tables.endpoints == ("verified", "raw answer")
    verified = tables.table(endpoint="verified").outcomes.scores
    raw = tables.table(endpoint="raw answer").outcomes.scores
    assert (raw[verified == 1.0] == 1.0).all()
    assert raw.mean() > (verified == 1.0).mean()  # guesses are right too, and tell nothing about the evidence


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"team_size": 7}, "team_size: must be from 1 to 6 workers; got 7"),
        (
            {"team_size": 4},
            "a balanced partition needs a team size that divides the workers; got 6 in teams of 4",
        ),
        ({"required": 11}, "required: must be from 1 to 10 pieces; got 11"),
        ({"tasks": 41}, "tasks: must be a multiple of the 10 sources"),
    ],
)
def test_designs_that_can_not_be_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        sample_evidence(dataclasses.replace(SMALL, **change), 0)


def test_a_part_without_a_source_is_refused():
    with pytest.raises(InputError, match="every part needs at least one of the 2 sources"):
        split_by_source(np.array([0, 0, 1, 1]))
