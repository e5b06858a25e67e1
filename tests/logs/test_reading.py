"""The same log by every road: JSONL, CSV, Parquet, split, shuffled, packed, counted."""

import csv
import gzip
import hashlib
import json
import pathlib

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import coverjax as cj
from tests.log_equality import same, same_logs, same_tables
from tests.log_files import jsonl, keys_of, logs, one
from tests.reference_logs import plain_log


def as_csv(path: pathlib.Path, rows) -> pathlib.Path:
    """Write CSV; labels as `a|b` where that can hold them, else as a JSON list."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        for row in rows:
            labels = row["strategies"]
            text = "|".join(labels)
            plain = (
                text.split("|") == labels
                and all(name == name.strip(" \t") for name in labels)
                and text[:1] != "["
            )
            writer.writerow(row | {"strategies": text if plain or not labels else json.dumps(labels)})
    return path


def parquet(path: pathlib.Path, rows, folder: pathlib.Path) -> pathlib.Path:
    source = jsonl(folder / "for_parquet.jsonl", rows)
    types = {
        "input": "VARCHAR",
        "sample": "BIGINT",
        "strategies": "VARCHAR[]",
        "method": "VARCHAR",
        "trial": "BIGINT",
        "valid": "BOOLEAN",
        "correct": "BOOLEAN",
        "score": "DOUBLE",
        "latent": "VARCHAR",
        "labeler": "VARCHAR",
    }
    columns = ", ".join(f"'{name}': '{types[name]}'" for name in rows[0])
    duckdb.connect().execute(
        f"COPY (SELECT * FROM read_json('{source}', format = 'newline_delimited', columns = {{{columns}}})) "
        f"TO '{path}' (FORMAT parquet)"
    )
    return path


@pytest.mark.slow
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(logs(), st.randoms(use_true_random=False))
def test_every_road_gives_the_same_log(tmp_path_factory, case, random):
    rows, declared = case
    folder = tmp_path_factory.mktemp("log")
    expected = plain_log(rows, declared)
    log = cj.read_log(jsonl(folder / "log.jsonl", rows), declared=declared)
    same(log, expected)
    assert log.declared_given == (declared is not None)
    same_logs(cj.read_log(as_csv(folder / "log.csv", rows), declared=declared), log)
    same_logs(cj.read_log(parquet(folder / "log.parquet", rows, folder), declared=declared), log)

    cuts = sorted(random.sample(range(1, len(rows)), min(2, len(rows) - 1)))
    parts = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    for at, part in enumerate(parts):
        jsonl(
            folder / f"part{at}.jsonl",
            [{name: row[name] for name in random.sample(list(row), len(row))} for row in part],
        )
        as_csv(folder / f"part{at}.csv", part)
    same_logs(cj.read_log(folder / "part?.jsonl", declared=declared), log)
    same_logs(cj.read_log([folder / f"part{at}.csv" for at in range(len(parts))], declared=declared), log)

    shuffled = random.sample(rows, len(rows))
    jsonl(folder / "shuffled.jsonl", shuffled)
    again = cj.read_log(folder / "shuffled.jsonl", declared=declared)
    same(again, plain_log(shuffled, declared))
    where = {key: row for row, key in enumerate(keys_of(again))}
    order = np.array([where[key] for key in keys_of(log)])
    same_logs(again.take(order), log)

    if "trial" not in rows[0]:
        table = cj.read_log(folder / "log.jsonl", declared=declared, counts=True)
        same_tables(table, log.counts())
        same_tables(cj.read_log(folder / "part?.csv", declared=declared, counts=True), table)


GOOD = '{"input": "p", "sample": 0, "strategies": ["s1"]}\n{"input": "q", "sample": 0, "strategies": []}\n'


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        GOOD.rstrip("\n"),
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        "\n \n" + GOOD.replace("\n", "\n\n"),
        GOOD.replace("{", '{"text": "a\\nb|c", "extra": {"input": [1]}, '),
        GOOD.replace('"p"', '"\\u0070"'),
        GOOD.replace('["s1"]', '"s1"').replace("[]", '""'),
        GOOD.replace('["s1"]', '["s1", "s1"]'),
        GOOD.replace("}", ', "valid": null, "latent": null}'),
    ],
)
def test_harmless_variants_of_a_line(content, tmp_path):
    log = one(tmp_path, content)
    assert log.ids.tolist() == ["p", "q"]
    assert log.labels == (("s1",), ())
    assert log.matches.tolist() == [[[[True]]], [[[False]]]]
    assert log.valid is None
    assert log.latent is None


TABLE = "input,sample,strategies\np,0,s1\nq,0,\n"


@pytest.mark.parametrize(
    "content",
    [
        TABLE,
        TABLE.rstrip("\n"),
        "\ufeff" + TABLE,
        TABLE.replace("\n", "\r\n"),
        TABLE.replace("\n", "\r"),
        "\n\n" + TABLE.replace("\n", "\n\n"),
        TABLE.replace("input,", "Input,")
        .replace("\n", ",z\n")
        .replace("strategies,z", "strategies,input")
        .replace("p,0,s1,z", "z,0,s1,p")
        .replace("q,0,,z", "z,0,,q"),
        TABLE.replace(",", " , "),
        '"input","sample","strategies"\n"p","0","s1|s1"\n"q","0",""\n',
        TABLE.replace("s1", '"[""s1""]"'),
        TABLE.replace("\n", ",\n").replace("strategies,", "strategies,valid"),
    ],
)
def test_harmless_variants_of_a_table(content, tmp_path):
    log = one(tmp_path, content, "log.csv")
    assert log.ids.tolist() == ["p", "q"]
    assert log.labels == (("s1",), ())
    assert log.valid is None


@pytest.mark.parametrize("labels", ['["s1", "s2", "s1"]', '"s1|s2|s1"', '"s1 | s2|s1 "'])
def test_a_label_twice_in_a_list_counts_once(labels, tmp_path):
    text = f'{{"input": "p", "sample": 0, "strategies": {labels}}}\n'
    assert one(tmp_path, text, counts=True).counts.tolist() == [[1, 1]]
    assert one(tmp_path, text).counts().counts.tolist() == [[1, 1]]


def test_ids_are_read_as_their_text(tmp_path):
    assert one(tmp_path, "input,sample,strategies\n007,0,a\n7,0,b\n7.0,0,\n", "log.csv").ids.tolist() == [
        "007",
        "7",
        "7.0",
    ]
    big = 10**30
    log = one(
        tmp_path,
        "".join(f'{{"input": {name}, "sample": 0, "strategies": []}}\n' for name in (7, big, big + 1)),
    )
    assert log.ids.tolist() == ["7", str(big), str(big + 1)]


def test_labels_of_any_kind(tmp_path):
    labels = [
        "a|b",
        "x" * 10_000,
        "🧭",
        " padded ",
        'quo"te',
        "line\nbreak",
        "[",
        "null",
        "é",
        "e\u0301",
        "\0",
    ]
    rows = [{"input": "p", "sample": i, "strategies": [label]} for i, label in enumerate(labels)]
    log = cj.read_log(jsonl(tmp_path / "log.jsonl", rows))
    assert set(log.labels[0]) == set(labels)
    assert log.labels[0] == tuple(sorted(labels))
    assert log.matches.sum() == len(labels)
    assert cj.read_log(tmp_path / "log.jsonl", counts=True).labels == log.labels


def test_flags_and_numbers_in_csv(tmp_path):
    text = "input,sample,strategies,valid,correct,score,latent\np,1,a,TRUE,1,-1e-3,z\np,0,,false,0,.5,\n"
    log = one(tmp_path, text, "log.csv")
    assert log.valid.tolist() == log.correct.tolist() == [[[False, True]]]
    assert log.score.tolist() == [[[0.5, -0.001]]]
    assert log.latent.tolist() == [[[-1, 0]]]
    assert log.latents == ("z",)


def test_trials_and_latents_stand_in_order_of_their_numbers(tmp_path):
    rows = [{"input": "p", "trial": t, "sample": 0, "strategies": [], "latent": t} for t in (10, 9, 1)]
    log = cj.read_log(jsonl(tmp_path / "log.jsonl", rows))
    assert log.latents == ("1", "9", "10")
    assert log.latent[0, :, 0].tolist() == [0, 1, 2]


def test_inputs_without_declared_strategies_stay(tmp_path):
    log = one(tmp_path, GOOD, declared={"p": ["s2", "s1"], "r": ["s9"]})
    assert log.declared_count.tolist() == [2, 0]
    assert log.labels == (("s2", "s1"), ())
    assert log.provenance["inputs_without_declared"] == 1
    assert log.provenance["declared_unused"] == {"count": 1, "examples": ["r"]}
    assert log.declared_given


def test_declared_strategies_from_every_source(tmp_path):
    pairs = [("p", "s2"), ("q", "s1"), ("p", "s1")]
    (tmp_path / "d.csv").write_text("input,strategy\n" + "".join(f"{a},{b}\n" for a, b in pairs))
    jsonl(tmp_path / "d.jsonl", [{"input": a, "strategy": b} for a, b in pairs])
    duckdb.connect().execute(f"COPY (SELECT * FROM '{tmp_path}/d.csv') TO '{tmp_path}/d.parquet'")
    want = one(tmp_path, GOOD, declared={"p": ["s2", "s1"], "q": ["s1"]})
    assert want.labels == (("s2", "s1"), ("s1",))
    for name in ("d.csv", "d.jsonl", "d.parquet"):
        log = one(tmp_path, GOOD, declared=tmp_path / name)
        same_logs(log, want)
        assert (
            log.provenance["declared"]["sha256"] == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        )
    (tmp_path / "all.csv").write_text("strategy\ns3\ns1\n")
    same_logs(
        one(tmp_path, GOOD, declared=str(tmp_path / "all.csv")), one(tmp_path, GOOD, declared=["s3", "s1"])
    )


def test_provenance_names_the_files_and_their_hashes(tmp_path):
    for name in ("b.jsonl", "a.jsonl"):
        (tmp_path / name).write_text(GOOD.replace('"p"', f'"{name}"').replace('"q"', f'"q{name}"'))
    log = cj.read_log(str(tmp_path / "*.jsonl"))
    assert log.ids.tolist() == ["a.jsonl", "qa.jsonl", "b.jsonl", "qb.jsonl"]
    facts = [
        {
            "path": str(path),
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "bytes": path.stat().st_size,
        }
        for path in sorted(tmp_path.glob("*.jsonl"))
    ]
    assert log.provenance["files"] == facts
    assert log.provenance["format"] == "native"
    assert log.provenance["samples"] == 4


def test_packed_text_reads_the_same(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(GOOD.encode()))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
    same_logs(cj.read_log(tmp_path / "a.jsonl.gz"), one(tmp_path, GOOD))
    same_logs(cj.read_log(tmp_path / "a.csv.gz"), one(tmp_path, GOOD))


def test_names_of_files_that_look_like_patterns_or_columns(tmp_path):
    for folder, name in (("method=a", "x.jsonl"), ("q'uote", "a[1]*.jsonl"), ("plain", "a1.jsonl")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(GOOD)
        log = cj.read_log(tmp_path / folder / name)
        assert log.method is None
        assert log.inputs == 2


def test_csv_files_with_other_columns_and_orders(tmp_path):
    (tmp_path / "a.csv").write_text(TABLE)
    (tmp_path / "b.csv").write_text("strategies,note,sample,input\ns2,hi,3,p\n")
    (tmp_path / "c.csv").write_text("input,sample,strategies\nr,0,s1\n")
    log = cj.read_log([tmp_path / "b.csv", tmp_path / "a.csv", tmp_path / "c.csv"])
    assert log.ids.tolist() == ["p", "q", "r"]
    assert log.matches[0, 0].tolist() == [[True, False], [False, True]]


def test_parquet_of_other_types(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="another writer of Parquet; the extra `bench` brings it")
    pq = pytest.importorskip("pyarrow.parquet")

    pq.write_table(
        pa.table(
            {
                "input": pa.array(["p", "q"]).dictionary_encode(),
                "sample": [0.0, 0.0],
                "strategies": ["s1", ""],
            }
        ),
        tmp_path / "a.parquet",
    )
    pq.write_table(
        pa.table({"input": [1, 2], "sample": pa.array([1, 1], pa.uint8()), "strategies": pa.array([[], []])}),
        tmp_path / "b.parquet",
    )
    log = cj.read_log([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    assert log.ids.tolist() == ["p", "q", "1", "2"]
    assert log.labels == (("s1",), (), (), ())


def test_order_is_what_the_caller_says(tmp_path):
    assert not one(tmp_path, GOOD).ordered
    assert one(tmp_path, GOOD, ordered=True).ordered


def test_labels_that_copy_the_latent_are_seen_in_samples_and_counts(tmp_path):
    for copy in ('"strategies": ["z1"], "latent": "z1"', '"strategies": "1", "latent": 1'):
        text = "".join(f'{{"input": "p", "sample": {i}, {copy}}}\n' for i in range(3))
        text += '{"input": "p", "sample": 9, "strategies": [], "latent": null}\n'
        assert one(tmp_path, text).repeats_latent()
        assert one(tmp_path, text, counts=True).repeats_latent()
        other = text.replace(
            '"sample": 2, "strategies": ["z1"]', '"sample": 2, "strategies": ["z2"]'
        ).replace('"sample": 2, "strategies": "1"', '"sample": 2, "strategies": []')
        assert not one(tmp_path, other).repeats_latent()
        assert not one(tmp_path, other, counts=True).repeats_latent()
        own = text.replace('"strategies": [], "latent": null', '"strategies": ["z1"], "latent": null')
        assert not one(tmp_path, own).repeats_latent()
        assert not one(tmp_path, own, counts=True).repeats_latent()
    csv_text = "input,sample,strategies,latent\np,0,z1,z1\np,1,,\n"
    assert one(tmp_path, csv_text, "a.csv").repeats_latent()
    assert one(tmp_path, csv_text, "a.csv", counts=True).repeats_latent()
    assert not one(tmp_path, GOOD, counts=True).repeats_latent()


@pytest.mark.slow
def test_rows_keep_their_order_beyond_one_buffer_of_the_reader(tmp_path):
    """First appearance is by the row's place in the file, whatever threads duckdb reads with."""
    count = 200_000
    names = np.random.default_rng(5).permutation(count // 4)
    with (tmp_path / "log.jsonl").open("w") as file:
        pad = "x" * 150
        file.writelines(
            f'{{"input": "p{names[i // 4]}", "sample": {i % 4}, "strategies": "s{i % 3}", "pad": "{pad}"}}\n'
            for i in range(count)
        )
    for counts in (False, True):
        log = cj.read_log(tmp_path / "log.jsonl", counts=counts)
        assert log.ids.tolist() == [f"p{name}" for name in names]


@pytest.mark.parametrize("numbers", [range(1000), range(0, 64_000, 64), [0, 63, 64, 2**63 - 1, 2**62]])
def test_one_repeat_is_found_among_many_numbers(numbers, tmp_path):
    rows = [{"input": "p", "sample": number, "strategies": []} for number in numbers]
    jsonl(tmp_path / "log.jsonl", rows)
    assert cj.read_log(tmp_path / "log.jsonl", counts=True).n.tolist() == [len(rows)]
    for repeated in (rows[0], rows[-1], rows[len(rows) // 2]):
        jsonl(tmp_path / "log.jsonl", [*rows, repeated])
        with pytest.raises(
            cj.InputError, match=f":{len(rows) + 1}: sample: .* {repeated['sample']} stands twice"
        ):
            cj.read_log(tmp_path / "log.jsonl", counts=True)


def test_written_logs_read_back(tmp_path):
    from coverjax.logs.writing import write_declared, write_log

    rng = np.random.default_rng(3)
    matches = rng.random((3, 2, 5, 4)) < 0.4
    log = cj.SampleLog.from_arrays(
        matches,
        n=[[5, 3], [4, 4], [2, 5]],
        declared=[True, True, True, False],
        valid=rng.random((3, 2, 5)) < 0.5,
        score=rng.random((3, 2, 5)),
        labeler="rule",
        ids=["a", "b", "c"],
        labels=[["s0", "s1", "s2", "t"]] * 3,
    )
    write_log(log, tmp_path / "log.jsonl")
    write_declared(log, tmp_path / "declared.csv")
    again = cj.read_log(tmp_path / "log.jsonl", declared=tmp_path / "declared.csv")
    np.testing.assert_array_equal(again.matches, log.matches)
    np.testing.assert_array_equal(again.n, log.n)
    np.testing.assert_array_equal(again.declared, log.declared)
    np.testing.assert_array_equal(again.valid, log.valid & log.inside)
    np.testing.assert_array_equal(again.score, log.score)
    assert again.labels == log.labels
    assert again.labelers == ("rule",)


def test_a_fault_of_our_own_is_not_called_bad_input(tmp_path, monkeypatch):
    from coverjax.logs import tallying

    monkeypatch.setattr(tallying, "_tally_query", lambda *_: "SELECT nothing FROM nowhere")
    with pytest.raises(duckdb.CatalogException):
        one(tmp_path, GOOD)


def test_a_full_memory_is_told(tmp_path, monkeypatch):
    from coverjax.logs import tallying

    def full(*_):
        raise tallying.RefusedError("failed to allocate data")

    monkeypatch.setattr(tallying, "_together", full)
    with pytest.raises(cj.InputError, match=r"log\.jsonl: can't be read: failed to allocate data"):
        one(tmp_path, GOOD)
