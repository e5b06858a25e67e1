"""Each format: its files give the log written out by hand; damaged ones one line that names the place."""

import gzip
import json
import pathlib
import zipfile

import numpy as np
import pytest

import coverjax as cj
from coverjax.logs.archives import ZSTANDARD, members
from coverjax.logs.formats.registry import FORMATS
from coverjax.logs.tables import workspace
from tests.log_equality import same_logs, same_tables
from tests.log_formats import EXAMPLES, FIXTURES, Example

BY_NAME = {str(example): example for example in EXAMPLES}
NATIVE = {
    ".csv": "input,sample,strategies\nz,0,s\n",
    ".eval": "",
}


def placed(example: Example, folder: pathlib.Path) -> list[pathlib.Path]:
    """Put the files of an example into a folder."""
    for name in example.files:
        text = example.texts.get(name)
        (folder / name).write_bytes((FIXTURES / name).read_bytes() if text is None else text.encode())
    return [folder / name for name in example.files]


def read(paths, example: Example, **more):
    return cj.read_log(paths, **(asked(example) | more))


def asked(example: Example) -> dict:
    own = {} if example.declared in (None, ("correct",)) else {"declared": example.declared}
    return own | example.choices


def native(example: Example, folder: pathlib.Path, **more):
    """The log that the example's rows are."""
    path = folder / "native.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in example.rows))
    return cj.read_log(path, declared=example.declared, **more)


def said(paths, example: Example, **more) -> str:
    """Read; return the one line that comes out."""
    with pytest.raises(cj.InputError) as raised:
        read(paths, example, **more)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_every_format_has_an_example():
    assert {example.format for example in EXAMPLES} == {form.name for form in FORMATS}
    assert len(BY_NAME) == len(EXAMPLES)


@pytest.mark.parametrize("name", BY_NAME)
def test_the_files_give_the_log_of_the_native_form(name, tmp_path):
    example = BY_NAME[name]
    paths = placed(example, tmp_path)
    found = read(paths, example)
    assert found.provenance["format"] == example.format
    for note, part in zip(found.notes, example.notes, strict=False):
        assert part in note
    assert len(found.notes) >= len(example.notes)
    counted = native(example, tmp_path, counts=True)
    if example.counted:
        same_tables(found, counted)
    else:
        same_logs(found, native(example, tmp_path))
        same_logs(read(paths, example, format=example.format), found)
        same_tables(read(paths, example, counts=True), counted)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_part_of_a_file_is_no_log(name, tmp_path):
    example = BY_NAME[name]
    path = placed(example, tmp_path)[-1]
    content = path.read_bytes()
    if path.suffix in (".csv", ".jsonl"):
        start = content.rstrip().rindex(b"\n") + 1
        path.write_bytes(content[: start + len(content[start:].rstrip()) // 2])
        line = len(content.rstrip().splitlines())
        path.write_bytes(path.read_bytes().rstrip(b",") if path.suffix == ".csv" else path.read_bytes())
        message = said([tmp_path / name for name in example.files], example)
        assert message.startswith(f"{path}:{line}: "), message
    for size in (0, 1, len(content) // 3 - 7, len(content) - 9 if path.suffix in (".eval", ".json") else 0):
        path.write_bytes(content[:size])
        message = said([tmp_path / name for name in example.files], example)
        assert message.startswith(f"{path}:") or "correct_from" in message, message


@pytest.mark.parametrize("name", BY_NAME)
def test_a_copy_of_a_file_is_seen(name, tmp_path):
    example = BY_NAME[name]
    path = placed(example, tmp_path)[0]
    copy = path.with_name("copy" + path.name)
    copy.write_bytes(path.read_bytes())
    message = said([*(tmp_path / name for name in example.files), copy], example)
    assert "stands twice" in message or "same content as" in message
    assert message.startswith(f"{copy}:"), message


@pytest.mark.parametrize("name", BY_NAME)
def test_another_format_beside_it_is_seen(name, tmp_path):
    example = BY_NAME[name]
    path = placed(example, tmp_path)[0]
    ends = path.suffix if path.suffix == ".csv" else ".jsonl"
    other = "native" if example.format != "native" else "id_c_n"
    text = next(e.texts[e.files[0]] for e in EXAMPLES if e.format == other)
    if ends == ".csv":
        text = "input,sample,strategies\nz,0,s\n"
    (tmp_path / f"other{ends}").write_text(text)
    message = said([path, tmp_path / f"other{ends}"], example)
    assert f"looks like {other}" in message or "mixed kinds of files" in message
    assert message.startswith(f"{tmp_path / f'other{ends}'}: "), message


WRONG_ROWS = {
    name: example
    for name, example in BY_NAME.items()
    if example.files[0].endswith(".jsonl") and not example.counted
}


@pytest.mark.parametrize("name", WRONG_ROWS)
def test_a_row_of_another_format_within_it_is_seen(name, tmp_path):
    example = BY_NAME[name]
    path = placed(example, tmp_path)[-1]
    line = len(path.read_text().splitlines()) + 1
    with path.open("a") as file:
        file.write('{"prompt": "of something else", "answer": 5}\n')
    message = said([tmp_path / name for name in example.files], example)
    if example.format == "lm_eval":
        assert "must choose one of the filters" in message or message.startswith(f"{path}:{line}: ")
    else:
        assert message.startswith(f"{path}:{line}: "), message


MISTYPED = [(name, i) for name, example in BY_NAME.items() for i in range(len(example.mistyped))]


@pytest.mark.parametrize(("name", "number"), MISTYPED)
def test_a_wrong_value_is_named_with_its_place(name, number, tmp_path):
    example = BY_NAME[name]
    old, new, says = example.mistyped[number]
    path = placed(example, tmp_path)[0]
    where = changed(path, old, new)
    message = said([tmp_path / name for name in example.files], example)
    assert says in message, message
    assert message.startswith(where), message


def changed(path: pathlib.Path, old: str, new: str) -> str:
    """Replace a text in a file, in a zip in the first member that holds it; return how messages begin."""
    if path.suffix != ".eval":
        text = path.read_text()
        for one, other in ((old, new), (old.replace('":', '": '), new.replace('":', '": '))):
            if one in text:
                path.write_text(
                    other.join(text.rsplit(one, 1))
                    if path.suffix == ".jsonl"
                    else text.replace(one, other, 1)
                )
                return f"{path}:"
        raise AssertionError(f"{old} is not in {path.name}")
    texts = unpacked(path)
    for name in sorted(texts):
        if name.startswith("samples/") and old in texts[name]:
            texts[name] = texts[name].replace(old, new, 1)
            packed(path, texts)
            return (
                f"{path}:{name}: "
                if "stands twice" not in new and '"epoch":1' not in new
                else f"{path}:samples/"
            )
    raise AssertionError(f"{old} is in no sample of {path.name}")


def unpacked(path: pathlib.Path) -> dict[str, str]:
    with workspace() as connection:
        return dict(members(connection, str(path), lambda name: True))


def packed(path: pathlib.Path, texts: dict[str, str]) -> None:
    """Write a zip as inspect wrote it before it took zstd."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            archive.writestr(name, text)


WRONG = [(name, i) for name, example in BY_NAME.items() for i in range(len(example.wrong))]


@pytest.mark.parametrize(("name", "number"), WRONG)
def test_a_wrong_choice_is_answered_with_what_there_is(name, number, tmp_path):
    example = BY_NAME[name]
    choices, says = example.wrong[number]
    paths = placed(example, tmp_path)
    with pytest.raises(cj.InputError) as raised:
        cj.read_log(paths, **choices)
    assert says in str(raised.value), str(raised.value)
    assert "\n" not in str(raised.value)


TABLES = {
    name: example
    for name, example in BY_NAME.items()
    if example.files[0].endswith(".jsonl") and example.format != "lm_eval"
}


@pytest.mark.parametrize("name", TABLES)
def test_the_same_rows_as_an_array_packed_and_marked(name, tmp_path):
    example = BY_NAME[name]
    paths = placed(example, tmp_path)
    found = read(paths, example)
    same = same_tables if example.counted else same_logs
    arrays, zipped, marked = (
        [tmp_path / f"{kind}-{path.stem}.{kind}" for path in paths] for kind in ("json", "jsonl.gz", "jsonl")
    )
    for path, array, packed_path, mark in zip(paths, arrays, zipped, marked, strict=True):
        text = path.read_text()
        array.write_text(json.dumps([json.loads(line) for line in text.splitlines()], indent=1))
        packed_path.write_bytes(gzip.compress(text.encode()))
        mark.write_text("\ufeff" + text.replace("\n", "\r\n"), newline="")
    for written in (arrays, zipped, marked):
        same(read(written, example), found)


def test_a_zip_of_any_packing_reads_the_same(tmp_path):
    example = next(example for example in EXAMPLES if example.files == ("inspect.eval",))
    path = placed(example, tmp_path)[0]
    with zipfile.ZipFile(path) as archive:
        assert {info.compress_type for info in archive.infolist()} == {ZSTANDARD}
    found = read(path, example)
    texts = unpacked(path)
    packed(path, texts)
    same_logs(read(path, example), found)
    chunked = {
        name.replace(".json", "/sample.json") if name.startswith("samples/") else name: text
        for name, text in texts.items()
    }
    packed(path, chunked)
    same_logs(read(path, example), found)


def test_a_damaged_member_of_a_zip_is_named(tmp_path):
    example = next(example for example in EXAMPLES if example.files == ("inspect.eval",))
    path = placed(example, tmp_path)[0]
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("samples/7_epoch_2.json")
    start = info.header_offset + 30 + len(info.filename) + 20
    path.write_bytes(whole[:start] + bytes(200) + whole[start + 200 :])
    assert said(path, example).startswith(f"{path}:samples/7_epoch_2.json: can't be unpacked: ")
    texts = unpacked_without(whole, path)
    texts["samples/7_epoch_2.json"] = texts["samples/7_epoch_2.json"][:-5]
    packed(path, texts)
    assert said(path, example).startswith(f"{path}:samples/7_epoch_2.json: malformed JSON")
    path.write_bytes(b"PK\x05\x06" + bytes(18))
    assert "unknown format; it has no columns" in said(path, example)


def unpacked_without(whole: bytes, path: pathlib.Path) -> dict[str, str]:
    path.write_bytes(whole)
    return unpacked(path)


def test_an_inspect_log_that_was_not_finished(tmp_path):
    """No header.json, only the start; the status is told and the samples that are there are read."""
    example = next(example for example in EXAMPLES if example.files == ("inspect.eval",))
    path = placed(example, tmp_path)[0]
    texts = unpacked(path)
    header = json.loads(texts.pop("header.json"))
    texts["_journal/start.json"] = json.dumps({"version": 2, "eval": header["eval"], "plan": header["plan"]})
    texts.pop("samples/add_epoch_4.json")
    packed(path, texts)
    found = read(path, example)
    assert found.n.tolist() == [[4], [3]]
    assert "the status of this log is started: samples may be missing" in "; ".join(found.notes)


def test_two_inspect_models_are_methods_and_two_tasks_name_their_inputs(tmp_path):
    example = next(example for example in EXAMPLES if example.files == ("inspect.json",))
    path = placed(example, tmp_path)[0]
    text = path.read_text()
    other = tmp_path / "other.json"
    other.write_text(text.replace('"model": "mockllm/model"', '"model": "mockllm/other"'))
    found = read([path, other], example)
    assert found.method.tolist() == ["mockllm/model"] * 2 + ["mockllm/other"] * 2
    assert found.provenance["models"] == ["mockllm/model", "mockllm/other"]
    other.write_text(text.replace('"task": "sums"', '"task": "more"'))
    assert read([path, other], example).ids.tolist() == ["sums/7", "sums/add", "more/7", "more/add"]
    other.write_text(text + "\n")
    assert "of two runs, read each as a method: --by file" in said([path, other], example)


def test_lm_eval_tasks_name_their_inputs(tmp_path):
    lines = [f'{{"doc_id": {i}, "resps": [["x"]], "filtered_resps": ["x"], "acc": {i}}}\n' for i in (0, 1)]
    for task in ("one", "two_three"):
        (tmp_path / f"samples_{task}_2026-01-01T00-00-00.jsonl").write_text(
            "".join(lines) + "\n" * (task == "one")
        )
    found = cj.read_log(tmp_path / "*.jsonl")
    assert found.ids.tolist() == ["one/0", "one/1", "two_three/0", "two_three/1"]
    assert found.correct[:, 0, 0].tolist() == [False, True] * 2
    assert found.provenance["filter"] == "none"


@pytest.mark.parametrize(
    "more",
    [{"passed": True}, {"trial": 0, "reward": 1}, {"resps": [], "doc_id": 1}, {"c": 1, "n": 2}, {"id": 1}],
)
def test_a_labelled_log_that_kept_the_columns_of_a_tool_is_read_by_its_labels(more, tmp_path):
    texts = [{"input": name, "task_id": name, "text": text, **more} for name, text in ("pA", "pB", "qB")]
    raw, rules, log = tmp_path / "raw.jsonl", tmp_path / "rules.csv", tmp_path / "log.jsonl"
    raw.write_text("".join(json.dumps(row) + "\n" for row in texts))
    rules.write_text("strategy,pattern\na,A\nb,B\n")
    cj.label_log(raw, cj.read_rules(rules), log)
    found = cj.read_log(log)
    assert found.provenance["format"] == "native"
    assert found.labels == (("a", "b"), ("b",))


def test_names_of_formats_that_do_not_fit_the_file(tmp_path):
    example = next(example for example in EXAMPLES if example.files == ("inspect.eval",))
    path = placed(example, tmp_path)[0]
    assert said(path, example, format="native").startswith(
        f"{path}: the format native is read from array, csv"
    )
    (tmp_path / "a.csv").write_text("input,sample,strategies\np,0,a\n")
    assert "the format inspect is read from document, jsonl, zip; this file is csv" in said(
        tmp_path / "a.csv", example, format="inspect"
    )


def outcome(path, example: Example, **more) -> "str | None":
    """Read; return the message of an InputError, let any other error through."""
    try:
        read(path, example, **more)
    except cj.InputError as error:
        return str(error)
    return None


DAMAGED = ["inspect.eval", "inspect.json", "evalplus_eval_results.json", "tau_bench.json", "samples_sums"]


@pytest.mark.slow
@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_bytes_give_a_log_or_one_line(name, tmp_path, rng):
    """Whatever the bytes, nothing but an InputError comes out: one line that begins with the file."""
    example = next(example for example in EXAMPLES if example.files[0].startswith(name))
    path = placed(example, tmp_path)[0]
    good = path.read_bytes()
    refused = 0
    for _ in range(25):
        damaged = bytearray(good)
        for position in rng.integers(len(good), size=rng.integers(1, 4)):
            damaged[position] = rng.choice(np.frombuffer(b'\0\x80\xff\n\r",{}[]:0e-|\\ ', np.uint8))
        start, length = rng.integers(len(good)), rng.integers(0, 20)
        del damaged[start : start + (length if rng.random() < 0.5 else 0)]
        path.write_bytes(damaged)
        message = outcome(path, example, counts=bool(rng.random() < 0.3))
        refused += message is not None
        assert message is None or (message.startswith(str(path)) and "\n" not in message), message
    assert refused > 3


def test_a_zip_with_damaged_numbers_is_refused(tmp_path):
    """The version that is needed to unpack a member, in the directory: Python has its own word for that."""
    example = next(example for example in EXAMPLES if example.files == ("inspect.eval",))
    path = placed(example, tmp_path)[0]
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 6] = 92
    path.write_bytes(content)
    assert said(path, example) == f"{path}: can't be read: it is no zip, or only a part of one"
