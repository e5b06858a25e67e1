"""Tables of counts from files."""

import csv

from hypothesis import HealthCheck, given, settings

import coverjax as cj
from tests.log_equality import same_tables
from tests.log_files import jsonl, keys_of, logs, one


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(logs())
def test_counts_as_a_count_table_give_the_same_table(tmp_path_factory, case):
    """Log -> counts -> a file of counts -> the same table, up to what counts don't hold."""
    rows, _ = case
    rows = [
        {name: row[name] for name in ("input", "sample", "strategies", "method") if name in row}
        for row in rows
    ]
    rows = list({(row["input"], row.get("method"), row["sample"]): row for row in rows}.values())
    folder = tmp_path_factory.mktemp("log")
    table = cj.read_log(jsonl(folder / "log.jsonl", rows), counts=True)
    lines = []
    for row in range(table.inputs):
        start = {"input": table.ids[row], "n": int(table.n[row])}
        start |= {} if table.method is None else {"method": table.method[row]}
        lines.append(start | {"strategy": "", "c": 0})
        lines += [
            start | {"strategy": name, "c": int(c)}
            for name, c in zip(table.labels[row], table.counts[row], strict=False)
        ]
    with (folder / "counts.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    again = cj.read_log(folder / "counts.csv")
    assert again.provenance["format"] == "counts"
    # An input that only a later method has comes later here than where the log had it first.
    where = {key: row for row, key in enumerate(keys_of(again))}
    same_tables(again.take([where[key] for key in keys_of(table)]), table)


def test_count_tables(tmp_path):
    text = "input,strategy,c,n,method,note\np,s2,2,4,b,x\np,s1,0,4,b,x\nq,,0,3,b,\nq,s1,3,3,a,\n"
    table = one(tmp_path, text, "counts.csv")
    assert table.method.tolist() == ["b", "b", "a"]
    assert table.ids.tolist() == ["p", "q", "q"]
    assert table.n.tolist() == [4, 3, 3]
    assert table.labels == (("s1", "s2"), ("s1",), ("s1",))
    assert table.counts.tolist() == [[0, 2], [0, 0], [3, 0]]
    assert table.counts_correct is None
    declared = one(tmp_path, text, "counts.csv", declared=["s9", "s2"])
    assert declared.labels == (("s9", "s2", "s1"), ("s9", "s2", "s1"), ("s9", "s2", "s1"))
    assert declared.declared.tolist() == [[True, True, False]] * 3
    assert declared.counts.tolist() == [[0, 2, 0], [0, 0, 0], [0, 0, 3]]


def test_counts_of_several_methods_of_one_problem(tmp_path):
    lines = [{"id": i, "c": i, "n": 5, "method": method} for method in ("b", "a") for i in (1, 0)]
    table = cj.read_log(jsonl(tmp_path / "c.jsonl", lines))
    assert table.method.tolist() == ["b", "b", "a", "a"]
    assert table.counts.tolist() == [[1], [0], [1], [0]]
    assert table.kept("correct").tolist() == table.counts.tolist()
