import pytest

from coverjax.foundation.checks import InputError
from coverjax.routing import contracts
from coverjax.routing.contracts import read_contract
from coverjax.routing.studies import load_study
from tests import routing_files as files


def test_the_documented_contract_is_a_contract(tmp_path):
    """The example in the module's own text, as it stands there."""
    text = contracts.__doc__.split("```toml\n")[1].split("```")[0]
    path = tmp_path / "c.toml"
    path.write_text(text)
    found = read_contract(path)
    assert found.family.teams == 4
    assert found.endpoint == "verified"
    assert found.inference.criterion == 0.10
    assert found.files == {"legal": str(tmp_path / "legal.csv"), "unavailable": str(tmp_path / "away.csv"),
                           "tasks": str(tmp_path / "tasks.csv")}  # fmt: skip
    assert found.routers[0].role == "candidate"


def test_defaults(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(
        '[actions]\nworkers = ["a", "b"]\n[stack]\nid = "s"\n[evidence]\nkind = "controlled_table"\n'
    )
    found = read_contract(path)
    assert (found.name, found.family.names, found.low, found.high, found.failed) == (
        "small",
        ("a", "b"),
        0.0,
        1.0,
        None,
    )
    assert (found.coverage.kind, found.inference.replicates, found.routers) == ("complete", 10_000, ())


def test_named_teams(tmp_path):
    path = tmp_path / "c.toml"
    text = files.CONTRACT.replace("teams = [1, 2]", "[actions.teams]\nduo = ['a', 'b']\nsolo = ['c']")
    path.write_text(text)
    assert read_contract(path).family.names == ("duo", "solo")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("teams = [1, 2]", "teams = [1, 5]", r"c\.toml:5: actions\.teams: a size must be .* from 1 to 3,"),
        ("teams = [1, 2]", "teams = [['a', 'z']]", r":5: actions\.teams: each must list .*; got \['a',"),
        ('workers = ["a", "b", "c"]', "workers = ['a', 'a']", r":4: actions\.workers: must list diff"),
        ('workers = ["a", "b", "c"]', "", r"actions\.workers: must be one or more different names"),
        ('privileged = ["solution"]', 'privileged = ["card"]', r":9: information\.privileged: a field"),
        ('id = "stack-1"', "", r":11: stack\.id: must be text; it is missing"),
        ('id = "stack-1"', "id = 3", r":12: stack\.id: must be text; got 3"),
        ("failed = 0.0", "failed = 2.0", r":15: scores\.failed: must lie in \[0, 1\]"),
        ("failed = 0.0", 'failed = "zero"', r':15: scores\.failed: must be a number, or "given"'),
        ("failed = 0.0", "low = 2.0", r"scores\.high: must be above low = 2; got 1"),
        ("failed = 0.0", "fialed = 0.0", r":15: scores\.fialed: unknown key; known are endpoint, failed,"),
        ("replicates = 500", "replicates = 0", r":18: inference\.replicates: must be at least 1; got 0"),
        ("replicates = 500", "level = 1.5", r":18: inference\.level: must lie strictly between 0 and 1;"),
        ("replicates = 500", "unit = 'person'", r":18: inference\.unit: must be one of task, family; got"),
        ("criterion = 0.10", "criterion = -1", r":19: inference\.criterion: must be at least 0; got -1"),
        ('kind = "controlled_table"', "kind = 'x'", r":22: evidence\.kind: must be one of controlled"),
        ('role = "privileged"', 'role = "guest"', r"routers\.role: must be one of candidate.*got 'guest'"),
        ('name = "insider"', 'name = "frozen"', r"routers\.name: must name each router once; 'froz"),
        ("[evidence]", "[evidenc]", r"evidence: must be a table \[evidence\]; it is missing"),
        ('name = "a study"', "name = ", r"c\.toml:1: must be TOML"),
        ("[scores]", "[coverage]\nkind = 'sampled'\n[scores]", r":15: coverage\.kind: a sample needs"),
        ("[scores]", "[coverage]\nsize = 2\n[scores]", r":15: coverage\.size: belongs to sampled coverage"),
    ],
)  # fmt: skip
def test_wrong_contracts_are_refused_with_their_line(tmp_path, old, new, message):
    assert old in files.CONTRACT
    path = tmp_path / "c.toml"
    path.write_text(files.CONTRACT.replace(old, new))
    with pytest.raises(InputError, match=message):
        read_contract(path)


def test_files_that_can_not_be_read_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"none\.toml: can't be read: No such file"):
        read_contract(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"bad\.toml: must be TOML in UTF-8"):
        read_contract(tmp_path / "bad.toml")


@pytest.mark.parametrize(
    ("frozen", "message"),
    [
        ("task,team\nt0,a\nt0,b\n", r"frozen\.csv:3: task: must stand once; 't0' stands twice"),
        ("task,team\nt0,a\nt1,a|b|c\n", r"frozen\.csv:3: team: must be a team of the family; got 'a\|b\|c'"),
        (
            "task,team\n" + "".join(f"t{i},a\n" for i in range(9)),
            r"frozen\.csv: task: must route every task .* lacks t9",
        ),
        ("task\nt0\n", r"frozen\.csv:1: team: missing column"),
        (
            "task,team\n" + "".join(f"t{i},a\n" for i in range(11)),
            r"frozen\.csv:12: task: must be one of the 10 tasks",
        ),
    ],
)
def test_wrong_routes_are_refused_with_their_line(tmp_path, frozen, message):
    path = files.write_study(tmp_path)
    files.write_csv(tmp_path / "tasks.csv", ("task",), [(f"t{i}",) for i in range(10)])
    path.write_text(files.CONTRACT.replace("[stack]", '[tasks]\nfile = "tasks.csv"\n\n[stack]'))
    (tmp_path / "frozen.csv").write_text(frozen)
    with pytest.raises(InputError, match=message):
        load_study(read_contract(path))


def test_a_route_that_is_not_legal_is_refused(tmp_path):
    path = files.write_study(tmp_path)
    path.write_text(files.CONTRACT.replace("teams = [1, 2]", 'teams = [1, 2]\nunavailable = "away.csv"'))
    files.write_csv(tmp_path / "away.csv", ("task", "worker"), [("t3", "a")])
    with pytest.raises(
        InputError, match=r"frozen\.csv:5: team: must be legal on its task; 'a\|b' is not on 't3'"
    ):
        load_study(read_contract(path))
    files.write_csv(tmp_path / "away.csv", ("task", "worker"), [("t3", "z")])
    with pytest.raises(InputError, match=r"away\.csv: unavailable: 'z' is unknown"):
        load_study(read_contract(path))


def test_tasks_bring_their_families(tmp_path):
    path = files.write_study(tmp_path)
    files.write_csv(tmp_path / "tasks.csv", ("task", "family"), [(f"t{i}", f"g{i % 3}") for i in range(10)])
    path.write_text(files.CONTRACT.replace("[stack]", '[tasks]\nfile = "tasks.csv"\n\n[stack]'))
    study = load_study(read_contract(path))
    assert study.clusters["t4"] == "g1"
    text = files.write_outcomes(tmp_path / "o.csv", "").read_text()
    assert study.read_outcomes([tmp_path / "o.csv"]).table().clusters[4] == "f0"  # rows bear their own
    stripped = [",".join(line.split(",")[:4]) for line in text.splitlines()]
    (tmp_path / "o.csv").write_text("\n".join(stripped) + "\n")
    assert study.read_outcomes([tmp_path / "o.csv"]).table().clusters[4] == "g1"
