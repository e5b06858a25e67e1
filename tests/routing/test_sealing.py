"""Tampering: each attempt is refused or labelled, with its own line."""

import json

import numpy as np
import pytest

from coverjax.foundation.checks import InputError
from coverjax.routing.contracts import read_contract
from coverjax.routing.judging import judge_study
from coverjax.routing.sealing import make_seal, read_seal, write_seal
from coverjax.routing.studies import load_study
from tests import routing_files as files


@pytest.fixture
def sealed(tmp_path):
    """A sealed study with outcomes that carry its seal."""
    path = files.write_study(tmp_path)
    seal = make_seal(load_study(read_contract(path)))
    write_seal(seal, tmp_path / "seal.json")
    files.write_outcomes(tmp_path / "outcomes.csv", seal.digest)
    return tmp_path


def judged(folder, seal="seal.json"):
    study = load_study(read_contract(folder / "study.toml"))
    outcomes = study.read_outcomes([folder / "outcomes.csv"])
    return judge_study(study, outcomes, None if seal is None else read_seal(folder / seal))


def lines(result, name="frozen"):
    return " / ".join(result.standings[name].lines)


def test_an_untouched_study_is_sealed(sealed):
    result = judged(sealed)
    assert result.names == {"frozen": "frozen", "insider": "insider [privileged]"}
    assert [router.name for router in result.main.routers] == ["frozen", "insider [privileged]"]
    assert all(standing.sealed for standing in result.standings.values())


def test_a_changed_route_file_is_retrospective(sealed):
    text = (sealed / "frozen.csv").read_text()
    (sealed / "frozen.csv").write_text(text.replace("t0,a\n", "t0,b\n"))
    result = judged(sealed)
    assert result.names["frozen"] == "frozen [retrospective]"
    assert result.names["insider"] == "insider [privileged]"
    assert lines(result) == "its route file was changed after the seal: order unverified"


def test_even_a_blank_line_is_a_change(sealed):
    (sealed / "frozen.csv").write_text((sealed / "frozen.csv").read_text() + "\n")
    assert judged(sealed).names["frozen"] == "frozen [retrospective]"


def test_without_a_seal_everything_is_retrospective(sealed):
    result = judged(sealed, seal=None)
    assert result.names["frozen"] == "frozen [retrospective]"
    assert result.names["insider"] == "insider [privileged, retrospective]"
    assert lines(result) == "no seal: order unverified"


def test_rows_without_a_seal_make_it_late(sealed):
    digest = read_seal(sealed / "seal.json").digest
    files.write_outcomes(sealed / "outcomes.csv", digest, seals={3: ""})
    result = judged(sealed)
    assert lines(result) == "6 of 60 outcome rows carry no seal: order unverified"
    assert result.names["frozen"] == "frozen [retrospective]"


def test_sealing_again_later_does_not_help(sealed):
    """A new seal after a change fits the files, but the rows carry the old one."""
    (sealed / "frozen.csv").write_text((sealed / "frozen.csv").read_text().replace("t0,a\n", "t0,b\n"))
    write_seal(make_seal(load_study(read_contract(sealed / "study.toml"))), sealed / "late.json")
    result = judged(sealed, "late.json")
    assert result.names["frozen"] == "frozen [retrospective]"
    assert "60 of 60 outcome rows carry another seal" in lines(result)
    assert "this one was made late or for other outcomes" in lines(result)


def test_a_relabelled_comparator_keeps_its_label(sealed):
    text = (sealed / "study.toml").read_text()
    (sealed / "study.toml").write_text(text.replace('role = "privileged"', 'role = "candidate"'))
    result = judged(sealed)
    assert result.names["insider"] == "insider [privileged, retrospective]"
    assert "relabelled: sealed as privileged, called candidate now; the stricter label stays" in lines(
        result, "insider"
    )
    assert "the contract was changed after the seal" in lines(result)


def test_a_router_that_was_not_sealed_is_retrospective(sealed):
    text = (sealed / "study.toml").read_text()
    (sealed / "study.toml").write_text(text + '\n[[routers]]\nname = "late"\nfile = "frozen.csv"\n')
    result = judged(sealed)
    assert result.names["late"] == "late [retrospective]"
    assert "not in the seal: order unverified" in lines(result, "late")


def test_labels_stand_in_every_contrast(sealed):
    result = judged(sealed, seal=None)
    pair = result.main.contrasts[0]
    assert (pair.a, pair.b) == ("frozen [retrospective]", "insider [privileged, retrospective]")


def test_an_edited_seal_is_refused(sealed):
    document = json.loads((sealed / "seal.json").read_text())
    document["routers"]["insider"]["role"] = "candidate"
    (sealed / "seal.json").write_text(json.dumps(document))
    with pytest.raises(
        InputError, match=r"seal\.json: seal: the seal does not hash to what it says: it was edited"
    ):
        judged(sealed)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"contract": 1, "routers": [], "files": {}, "seal": "", "format": ""}']
)
def test_what_is_no_seal_is_refused(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InputError, match=r"x\.json: is no seal; `coverjax route seal CONTRACT` writes one"):
        read_seal(tmp_path / "x.json")


def test_another_seal_is_not_written_over(sealed):
    seal = read_seal(sealed / "seal.json")
    write_seal(seal, sealed / "seal.json")
    (sealed / "frozen.csv").write_text((sealed / "frozen.csv").read_text() + "\n")
    other = make_seal(load_study(read_contract(sealed / "study.toml")))
    with pytest.raises(InputError, match="another seal stands here"):
        write_seal(other, sealed / "seal.json")
    assert read_seal(sealed / "seal.json") == seal


def test_mixed_stacks_are_refused(sealed):
    rows = (sealed / "outcomes.csv").read_text()
    (sealed / "outcomes.csv").write_text(rows.replace("t1,a,0.7,1,f1,stack-1", "t1,a,0.7,1,f1,stack-2"))
    with pytest.raises(
        InputError, match=r"outcomes\.csv: stack: must be 'stack-1', .* rows of stack-2 are mixed in"
    ):
        judged(sealed)


def test_other_kinds_of_evidence_are_refused(sealed):
    head, *rows = (sealed / "outcomes.csv").read_text().splitlines()
    text = [head + ",evidence", *(row + ",stochastic_execution" for row in rows)]
    (sealed / "outcomes.csv").write_text("\n".join(text) + "\n")
    with pytest.raises(
        InputError, match="evidence: rows are stochastic_execution, the contract is about controlled"
    ):
        judged(sealed)


def test_less_than_promised_is_said_and_bounded(sealed):
    digest = read_seal(sealed / "seal.json").digest
    files.write_outcomes(sealed / "outcomes.csv", digest, drop={(0, "a"), (5, "b|c")})
    result = judged(sealed)
    assert "the contract promises complete coverage: 2 of its 60 rows were not executed" in result.warnings
    assert result.main.routers[0].regret.kind == "interval"
    assert result.main.routers[0].regret.open_tasks == 2


def test_crossed_stacks_are_only_crossed(sealed):
    """Two stacks that the contract names: each table apart, and the interaction as a difference of
    contrasts."""
    contract = (
        (sealed / "study.toml").read_text().replace('id = "stack-1"', 'id = "stack-1"\ncrossed = ["stack-2"]')
    )
    (sealed / "study.toml").write_text(contract)
    digest = make_seal(load_study(read_contract(sealed / "study.toml"))).digest
    first = files.write_outcomes(sealed / "outcomes.csv", digest).read_text()
    second = files.write_outcomes(sealed / "other.csv", digest, stack="stack-2").read_text()
    second = second.replace(",0.7,", ",0.2,").replace(",0.4,", ",0.9,")
    (sealed / "outcomes.csv").write_text(first + second.split("\n", 1)[1])
    result = judged(sealed, None)
    assert set(result.endpoints) == {"score"}
    found = result.interactions[0]
    assert found.stacks == ("stack-1", "stack-2")
    main = result.main.contrasts[0].difference
    assert found.first.low == pytest.approx(main.low)
    assert found.interaction.low == pytest.approx(found.first.low - found.second.low)
    assert found.second.low != pytest.approx(found.first.low)
    assert np.isfinite(found.interaction.limit_low)
