"""Logs as files: rows of random logs, and how they are written and read."""

import json
import pathlib

from hypothesis import strategies as st

import coverjax as cj


def jsonl(path: pathlib.Path, rows) -> pathlib.Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=len(rows) % 2 == 0) + "\n" for row in rows), "utf-8")
    return path


def one(tmp_path, content: "str | bytes", name: str = "log.jsonl", **options):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return cj.read_log(path, **options)


def keys_of(log):
    return list(
        zip([None] * log.inputs if log.method is None else log.method.tolist(), log.ids.tolist(), strict=True)
    )


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=4).map(
    lambda name: f"x{name}y"
)


@st.composite
def logs(draw):
    """Rows of a small log, with a random choice of optional fields, and declared strategies or None."""
    inputs = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    labels = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    methods = draw(st.sampled_from([[None], ["b", "a"], ["only"]]))
    trials = draw(st.sampled_from([[None], [10, 9], [0]]))
    optional = draw(st.sets(st.sampled_from(["valid", "correct", "score", "latent", "labeler"])))
    flags = {
        "valid": st.booleans(),
        "correct": st.booleans(),
        "score": st.floats(-1e9, 1e9).map(lambda x: x + 0.0),
        "latent": st.sampled_from(["z2", "z10"]),
        "labeler": st.sampled_from(["rule", "human"]),
    }
    numbers = st.lists(st.integers(0, 200) | st.integers(0, 2**63 - 1), min_size=1, max_size=6, unique=True)
    rows = []
    for method in methods:
        for name in draw(st.lists(st.sampled_from(inputs), min_size=1, unique=True)):
            for trial in draw(st.lists(st.sampled_from(trials), min_size=1, unique=True)):
                for number in draw(numbers):
                    row = {
                        "input": name,
                        "sample": number,
                        "strategies": draw(st.lists(st.sampled_from(labels), max_size=3, unique=True)),
                    }
                    row |= {} if method is None else {"method": method}
                    row |= {} if trial is None else {"trial": trial}
                    rows.append(row | {field: draw(flags[field]) for field in sorted(optional)})
    rows = draw(st.permutations(rows))
    declared = draw(
        st.none()
        | st.lists(st.sampled_from(labels), unique=True)
        | st.dictionaries(
            st.sampled_from([*inputs, "never"]), st.lists(st.sampled_from([*labels, "unfound"]), unique=True)
        )
    )
    return list(rows), declared
