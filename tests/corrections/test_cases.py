"""Reading cases and finding everything that is wrong with them."""

import json

import pytest

import coverjax as cj
from coverjax.corrections.checking import check_cases, read_pack
from coverjax.foundation.checks import InputError

GOOD = {
    "concept": "tide",
    "curriculum": ["A tide is the rise of the sea.", "The moon pulls a tide."],
    "probe": "What is a tide?",
    "expected_tokens": ["sea", "moon"],
}


def write(path, *records):
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return str(path)


def messages(cases, **options):
    return [str(problem.error()) for problem in check_cases(cases, **options)]


def test_good_cases_are_read_with_their_places(tmp_path):
    path = write(
        tmp_path / "cases.jsonl", GOOD, "", {**GOOD, "concept": "ebb", "seed": "Water.", "split": "holdout"}
    )
    first, second = cj.corrections.read_cases(path)
    assert (first.concept, first.split, first.seed, first.line) == ("tide", "public", None, 1)
    assert (second.split, second.seed, second.line) == ("holdout", "Water.", 3)
    assert check_cases(path) == []
    assert first == cj.corrections.read_cases([GOOD])[0]
    assert first.digest != second.digest


@pytest.mark.parametrize(
    ("changes", "place", "says"),
    [
        ({"concept": 5}, "concept", "must be text that is not empty; got 5"),
        ({"probe": " "}, "probe", "must be text that is not empty; got ' '"),
        ({"curriculum": "A tide."}, "curriculum", "must be a list of texts"),
        ({"curriculum": []}, "curriculum", "at least one and none empty"),
        ({"curriculum": ["a", 3]}, "curriculum", "must be a list of texts"),
        (
            {"expected_tokens": None},
            "expected_tokens",
            "must be a list of texts, at least one and none empty; got None",
        ),
        ({"seed": 3}, "seed", "must be text"),
        ({"split": ""}, "split", "must be text"),
    ],
)
def test_a_field_of_the_wrong_form_is_named_with_its_line(tmp_path, changes, place, says):
    path = write(tmp_path / "cases.jsonl", GOOD, {**GOOD, **changes})
    with pytest.raises(InputError) as error:
        cj.corrections.read_cases(path)
    assert str(error.value).startswith(f"{path}:2: {place}: ")
    assert says in str(error.value)


def test_lines_that_hold_no_object_are_named(tmp_path):
    path = write(tmp_path / "cases.jsonl", GOOD, '{"a": ', "[1]")
    found = messages(path)
    assert [text.split(": ", 1)[0] for text in found] == [f"{path}:2", f"{path}:3"]
    assert "malformed JSON" in found[0]
    assert "must be one JSON object a line" in found[1]


def test_a_missing_field_says_so():
    record = {name: value for name, value in GOOD.items() if name != "probe"}
    with pytest.raises(InputError, match=r"case 'tide': probe: must be text .* got nothing: it is missing"):
        cj.corrections.read_cases([record])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"expected_tokens": ["sea", "moon", "sun"]}, "none brings sun"),
        ({"expected_tokens": ["sea"]}, "number 2 brings none"),
        (
            {"curriculum": ["A tide is the sea and the moon.", "The moon pulls a tide."]},
            "number 1 brings 2 (sea, moon)",
        ),
        ({"expected_tokens": ["sea", "moon", "Sea"]}, "'Sea' stands twice, as 'sea' too"),
        ({"expected_tokens": ["the sea", "moon"]}, "'the sea' reads as 'the', 'sea'"),
        ({"expected_tokens": ["sea.", "moon"]}, "'sea.' reads as 'sea'"),
        ({"expected_tokens": ["?", "moon"]}, "'?' holds none"),
        ({"probe": "Does the SEA rise?"}, "an echo would count as a hit; holds sea"),
        ({"seed": "The moon is up."}, "an echo would count as a hit; holds moon"),
        (
            {"curriculum": ["A tide is the rise of the sea.", "a tide is the  rise of the sea."]},
            "number 2 repeats number 1",
        ),
    ],
)
def test_what_a_case_must_not_do(changes, says):
    found = messages([{**GOOD, **changes}])
    assert any(says in text for text in found), found
    with pytest.raises(InputError):
        cj.corrections.run([{**GOOD, **changes}], "memory", workers=0)


def test_an_earlier_token_may_be_repeated():
    assert messages([{**GOOD, "curriculum": ["A tide is the sea.", "The moon pulls the sea."]}]) == []


def test_the_rule_decides_what_a_token_is():
    case = {**GOOD, "curriculum": ["It is h2o.", "It is a café."], "expected_tokens": ["h2o", "café"]}
    assert messages([case]) == []
    found = messages([case], rule="ascii")
    assert "'h2o' reads as 'h', 'o' by the rule 'ascii'" in found[0]
    assert "'café' reads as 'caf'" in found[1]


def test_concepts_stand_once_and_splits_share_none(tmp_path):
    one = write(tmp_path / "a.jsonl", GOOD, GOOD)
    other = write(tmp_path / "b.jsonl", {**GOOD, "concept": "TIDE", "split": "holdout"})
    found = messages([one, other])
    assert f"{one}:2: concept: must stand once; 'tide' stands twice in public ({one}:1)" in found
    assert any("splits must share no concept; 'TIDE' is in public" in text for text in found)


@pytest.mark.parametrize(("name", "text"), [("pack.txt", "# allowed\n\nEbb\n"), ("pack.json", '["ebb"]')])
def test_a_pack_lists_the_allowed_concepts(tmp_path, name, text):
    pack = tmp_path / name
    pack.write_text(text)
    assert messages([{**GOOD, "concept": "Ebb"}], pack=pack) == []
    assert "must be in the pack of allowed concepts; 'tide' is not" in messages([GOOD], pack=pack)[0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"# nothing\n", "must name at least one concept"),
        (b"[1]", "got 1"),
        (b"[", "malformed"),
        (b"\xff", "UTF-8"),
    ],
)
def test_a_pack_that_is_none_is_refused(tmp_path, text, says):
    pack = tmp_path / "pack.txt"
    pack.write_bytes(text)
    with pytest.raises(InputError, match=says):
        read_pack(pack)


def test_no_case_at_all_is_refused(tmp_path):
    with pytest.raises(InputError, match="needs at least one case"):
        cj.corrections.read_cases(write(tmp_path / "empty.jsonl"))
    with pytest.raises(InputError, match="cases: must be paths, cases or mappings; got 3"):
        cj.corrections.read_cases([3])
