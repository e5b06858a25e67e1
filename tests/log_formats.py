"""For each format of logs: files, the same log in the native form by hand, and what may be wrong with them.

A new format needs an entry here: `test_formats.py` goes through all of them.
"""

import dataclasses
import pathlib
from typing import Any

FIXTURES = pathlib.Path(__file__).parent / "logs" / "fixtures"
STAMP = "2026-01-01T00-00-00.000000"


@dataclasses.dataclass(frozen=True)
class Example:
    """One way to read some files.

    Attributes:
        format: the name of the format.
        files: names of fixtures, or of files with the texts in `texts`.
        rows: the samples, in the native form: dicts, or (input, labels) with the samples numbered.
        declared: what the format declares, or what is declared to it.
        choices: what is asked of `read_log`.
        texts: what files hold that are no fixtures.
        mistyped: (text, other text in its place, what is said then).
        wrong: (other choices, what is said then).
        notes: parts of the notes, in order.
        counted: whether the format holds counts.
    """

    format: str
    files: tuple[str, ...]
    rows: list[Any]
    declared: Any = ("correct",)
    choices: dict[str, Any] = dataclasses.field(default_factory=dict)
    texts: dict[str, str] = dataclasses.field(default_factory=dict)
    mistyped: tuple[tuple[str, str, str], ...] = ()
    wrong: tuple[tuple[dict[str, Any], str], ...] = ()
    notes: tuple[str, ...] = ()
    counted: bool = False

    def __str__(self) -> str:
        return "-".join([*(name.split("_2026")[0] for name in self.files), *map(str, self.choices.values())])


def flagged(flags: dict[str, list[Any]], **more: Any) -> list[dict[str, Any]]:
    """Samples of a log that tells only what is correct; `more`: columns, a list for each input."""
    return [
        {"input": name, "sample": i, "strategies": ["correct"] * bool(flag), "correct": bool(flag)}
        | {column: values[name][i] for column, values in more.items()}
        for name, row in flags.items()
        for i, flag in enumerate(row)
    ]


def labelled(labels: dict[str, list[Any]], **more: Any) -> list[dict[str, Any]]:
    """Samples with labels; the same otherwise."""
    return [
        {"input": name, "sample": i, "strategies": row[i]}
        | {column: values[name][i] for column, values in more.items()}
        for name, row in labels.items()
        for i in range(len(row))
    ]


MATCHED = {"7": [1, 0, 0, 1], "add": [1, 1, 0, 0]}
RAN = {"7": [True] * 4, "add": [True, True, False, True]}
SCORED = {"7": [True, False, True, True], "add": [True, True, False, True]}
VALUES = {
    "7": [["counting"], [], ["guessing"], ["doubling"]],
    "add": [["counting"], ["doubling"], [], ["guessing"]],
}
NAMED = VALUES | {"7": [["counting", "doubling"], [], ["guessing"], ["doubling"]]}
NAN_NOTES = ("1 of 8 samples ended in an error", "1 of 8 samples are not scored by strategy")
TRUE = {name: [bool(flag) for flag in flags] for name, flags in MATCHED.items()}
POINTS = {name: [float(flag) for flag in flags] for name, flags in MATCHED.items()}
INSPECT_WRONG = (
    ({}, "correct_from: must choose one of the scorers: match, strategy (--correct-from)"),
    ({"labels_from": "nobody"}, "labels_from: must be one of the scorers: match, strategy; got 'nobody'"),
    ({"labels_from": "strategy:size"}, "labels_from: must be SCORER, SCORER:value, SCORER:answer"),
    (
        {"labels_from": "strategy:metadata.size"},
        "no sample has strategy:metadata.size; it has answer, metadata.flags, metadata.nested, metadata.str",
    ),
    (
        {"correct_from": "strategy"},
        "scores.strategy: must be C, I, P, N, a flag or a number from 0 to 1; got 'counting'",
    ),
    ({"filter": "x", "correct_from": "match"}, "filter: the format inspect leaves no such choice"),
)


def inspect(file: str) -> list[Example]:
    """The ways to read inspect's logs; both files hold the same."""
    correct = {"correct": TRUE, "score": POINTS}
    return [
        Example(
            "inspect",
            (file,),
            flagged(MATCHED, valid=RAN, score=POINTS),
            choices={"correct_from": "match"},
            wrong=INSPECT_WRONG,
            notes=NAN_NOTES[:1],
            mistyped=(
                ('"epoch":2', '"epoch":1', "epoch: must be another number for each sample; 1 stands twice"),
                ('"epoch":2', '"epoch":"b"', "epoch: must be a whole number from 0 to"),
                (
                    '"epoch":2',
                    '"epoch":null',
                    "epoch: must be a whole number from 0 to 9223372036854775807; got nothing",
                ),
                ('"value":"C"', '"value":"maybe"', "scores.match: must be C, I, P, N, a flag or a number"),
                ('"value":"C"', '"value":[1]', "scores.match: must be C, I, P, N, a flag or a number"),
                ('"scores":{', '"scores":[],"x":{', "scores: must be an object of scores; got []"),
            ),
        ),
        Example(
            "inspect",
            (file,),
            labelled(VALUES, valid=SCORED),
            declared=None,
            choices={"labels_from": "strategy"},
            notes=NAN_NOTES,
        ),
        Example(
            "inspect",
            (file,),
            labelled(NAMED, valid=SCORED, **correct),
            declared=["counting", "doubling", "guessing", "induction"],
            choices={"labels_from": "strategy:metadata.strategies", "correct_from": "match"},
            notes=NAN_NOTES[:1],
        ),
        Example(
            "inspect",
            (file,),
            labelled(
                {name: [[s for s in row if s != "guessing"] for row in rows] for name, rows in NAMED.items()},
                valid=SCORED,
            ),
            declared=None,
            choices={"labels_from": "strategy:metadata.flags"},
        ),
        Example(
            "inspect",
            (file,),
            labelled(VALUES, valid=SCORED),
            declared=None,
            choices={"labels_from": "strategy:metadata.nested.first"},
        ),
    ]


SUMS, PASSES, CHOICES = (f"samples_{name}_{STAMP}.jsonl" for name in ("sums", "passes", "choices"))
EACH = {"0": [1, 0, 1, 0], "1": [1, 1, 0, 0]}
FOUND = {"0": [["4"], [], ["4"], ["5"]], "1": [["6"], ["6"], ["7"], ["8"]]}
LM_EVAL = [
    Example(
        "lm_eval",
        (SUMS,),
        flagged(EACH, score={name: list(map(float, flags)) for name, flags in EACH.items()}),
        choices={"filter": "all"},
        wrong=(
            ({}, "filter: must choose one of the filters: first, majority, all (--filter)"),
            ({"filter": "last"}, "filter: must be one of the filters: first, majority, all; got 'last'"),
            (
                {"filter": "all", "correct_from": "acc"},
                "correct_from: must be one of the metrics: each; got 'acc'",
            ),
            ({"filter": "all", "labels_from": "doc"}, "labels_from: must be one of the fields of responses"),
            (
                {"filter": "first", "labels_from": "resps", "correct_from": "each"},
                "each: is one number, 1, for 4 responses, so it doesn't say which are correct",
            ),
            ({"filter": "all", "declared": ["a"]}, "declared: this log has the one strategy 'correct'"),
        ),
        mistyped=(
            ('"doc_id": 1', '"doc_id": 0', "doc_id: must be another number for each sample; 0 stands twice"),
            ('"doc_id": 1', '"doc_id": 1.5', "doc_id: must be a whole number or a name; got 1.5"),
            (
                '"each": [1.0, 1.0, 0.0, 0.0]',
                '"each": 7',
                "each: must be a number from 0 to 1, or one for each response",
            ),
            ('"each": [1.0, 1.0, 0.0, 0.0]', '"other": 7', "each: must be a number from 0 to 1"),
            ('"filtered_resps": [["6"', '"filtered_resps": [[6', "filtered_resps: must hold texts; got [[6,"),
            (
                '"filtered_resps": [["6"',
                '"others": [["6"',
                "filtered_resps: must be there; got nothing: it is missing",
            ),
        ),
    ),
    Example(
        "lm_eval",
        (SUMS,),
        flagged({"0": [1], "1": [1]}, score={"0": [1.0], "1": [1.0]}),
        choices={"filter": "first"},
    ),
    Example(
        "lm_eval",
        (SUMS,),
        labelled(
            FOUND,
            correct={name: list(map(bool, flags)) for name, flags in EACH.items()},
            score={name: list(map(float, flags)) for name, flags in EACH.items()},
        ),
        declared=None,
        choices={"filter": "all", "labels_from": "filtered_resps"},
    ),
    Example(
        "lm_eval",
        (PASSES,),
        labelled(FOUND),
        declared=None,
        choices={"labels_from": "filtered_resps"},
        notes=("it is unknown which responses are correct",),
        wrong=(({"ordered": True}, "pass@1: says how many responses are correct, not which"),),
    ),
    Example("lm_eval", (PASSES,), flagged(EACH), counted=True),
    Example(
        "lm_eval",
        (CHOICES,),
        flagged({"0": [1], "1": [0]}, score={"0": [1.0], "1": [0.0]}),
        wrong=(({"labels_from": "resps"}, "resps: holds loglikelihoods, no responses"),),
    ),
]

PASSED = {"Own/0": [1, 0, 1], "Own/1": [0, 0, 1]}
HUMAN_EVAL = [
    Example(
        "human_eval",
        ("human_eval_results.jsonl",),
        flagged(PASSED),
        wrong=(
            (
                {"labels_from": "strategy"},
                "labels_from: must be one of the fields: task_id, completion, result, passed",
            ),
            ({"correct_from": "passed"}, "correct_from: the format human_eval leaves no such choice"),
            ({"min_score": 1}, "min_score: human-eval's results hold no score"),
            ({"declared": ["a"]}, "declared: this log has the one strategy 'correct'"),
        ),
        mistyped=(
            (
                '"passed": false',
                '"passed": "no"',
                "passed: must be true or false (or 1 or 0); got the text 'no'",
            ),
            (
                '"passed": false',
                '"past": false',
                "passed: must be true or false (or 1 or 0); got nothing: it is missing",
            ),
            (
                '"task_id": "Own/1"',
                '"task_id": null',
                "task_id: must be text that is not empty, or a whole number; got null",
            ),
        ),
    ),
    Example(
        "human_eval",
        ("human_eval_results.jsonl",),
        labelled(
            {
                "Own/0": [["passed"], ["failed: "], ["passed"]],
                "Own/1": [["failed: "], ["failed: no"], ["passed"]],
            },
            correct={name: list(map(bool, flags)) for name, flags in PASSED.items()},
        ),
        declared=None,
        choices={"labels_from": "result"},
    ),
]

EVALPLUS = [
    Example(
        "evalplus",
        ("evalplus_eval_results.json",),
        flagged({"Own/0": [1, 0, 0], "Own/1": [0, 1, 0]}),
        wrong=(
            ({"correct_from": "extra"}, "correct_from: must be one of the tests: plus, base; got 'extra'"),
            (
                {"labels_from": "text"},
                "labels_from: must be one of the fields: task_id, solution, base_status",
            ),
            ({"min_score": 1}, "min_score: EvalPlus's results hold no score"),
        ),
        mistyped=(
            (
                '"plus_status": "fail"',
                '"plus_status": null',
                "plus_status: must be one of pass, fail, timeout; got null",
            ),
            (
                '"base_status": "fail"',
                '"base_status": 1',
                "base_status: must be one of pass, fail, timeout; got 1",
            ),
            (
                '"base_status": "fail"',
                '"status": "fail"',
                "base_status: must be one of pass, fail, timeout; got nothing",
            ),
            (
                '{"task_id": "Own/1"',
                '{"task_id": "Own/2"',
                "task_id: must be that of its list, 'Own/1'; got 'Own/2'",
            ),
            ('"Own/1": [', '"Own/0": [', "malformed JSON: the key 'Own/0' stands twice"),
            ('"eval": {', '"eval": [], "x": {', "eval: holds no tasks"),
            ('"Own/1": [', '"Own/3": 5, "Own/1": [', "Own/3: must be a list of samples; got a number"),
        ),
    ),
    Example(
        "evalplus",
        ("evalplus_eval_results.json",),
        flagged({"Own/0": [1, 1, 0], "Own/1": [1, 1, 0]}),
        choices={"correct_from": "base"},
    ),
    Example(
        "evalplus",
        ("old_eval_results.json",),
        flagged({"a": [1, 0], "b": [0, 0]}),
        texts={
            "old_eval_results.json": '{"date": "d", "hash": "h", "eval": {"a": {"nfiles": 2, "base": '
            '[["pass", [true]], ["pass", []]], "plus": [["pass", []], ["fail", []]]}, "b": {"nfiles": 2, '
            '"base": '
            '[["fail", []], ["timeout", []]], "plus": [["fail", []], ["fail", []]]}}}\n'
        },
    ),
]

TWO, THREE = "What is 2+2?", "What is 3+3?"
GOT = {TWO: [1, 1, 0], THREE: [0, 1, 1]}
REWARDS = {name: list(map(float, flags)) for name, flags in GOT.items()}
WAYS = {TWO: [["counting"], ["doubling"], []], THREE: [["counting"], ["doubling"], ["doubling"]]}
GRADED = "".join(
    f'{{"input": "p", "output": "{i}", "score": {score}, "step": 1}}\n'
    for i, score in enumerate((0.1, 0.5, 1.0))
)
VERL = [
    Example(
        "verl",
        ("verl_10.jsonl",),
        flagged(GOT, score=REWARDS),
        wrong=(
            (
                {"labels_from": "way"},
                "labels_from: must be one of the fields: input, output, gts, score, step, acc",
            ),
            (
                {"correct_from": "output"},
                "output: must be true or false (or 1 or 0); got the text 'by counting: 4'",
            ),
            ({"filter": "x"}, "filter: the format verl leaves no such choice"),
        ),
        mistyped=(
            ('"score": 0.0', '"score": "low"', "score: must be a finite number; got the text 'low'"),
            ('"score": 0.0', '"points": 0.0', "score: must be a finite number; got nothing: it is missing"),
            ('"acc": false', '"acc": 2', "acc: must be true or false (or 1 or 0); got 2"),
            ('"step": 10', '"step": "x"', "step: must be a whole number"),
            (f'"input": "{THREE}"', '"input": ""', "input: must be text that is not empty"),
        ),
    ),
    Example(
        "verl",
        ("verl_10.jsonl", "verl_20.jsonl"),
        [row | {"method": "step 10"} for row in flagged(GOT, score=REWARDS)]
        + [
            row | {"method": "step 20"}
            for row in flagged({TWO: [1] * 3, THREE: [1] * 3}, score={TWO: [1.0] * 3, THREE: [1.0] * 3})
        ],
    ),
    Example(
        "verl",
        ("verl_10.jsonl",),
        labelled(WAYS, correct={name: list(map(bool, flags)) for name, flags in GOT.items()}, score=REWARDS),
        declared=["doubling", "counting", "induction"],
        choices={"labels_from": "strategy", "correct_from": "score"},
    ),
    Example(
        "verl",
        ("graded.jsonl",),
        flagged({"p": [0, 1, 1]}, score={"p": [0.1, 0.5, 1.0]}),
        choices={"min_score": 0.5},
        texts={"graded.jsonl": GRADED},
        wrong=(
            (
                {},
                "score: must be 0 and 1 (or -1 and 1) to say which samples are correct; got 0.1, 0.5, 1",
            ),
        ),
    ),
]

RUNS = {"3": [1, 0, 1], "5": [0, 1, 0]}
MONEY = {"3": [1.0, 0.0, 1.0], "5": [0.0, 0.9999999, 0.5]}
TAU_BENCH = [
    Example(
        "tau_bench",
        ("tau_bench.json",),
        flagged(RUNS, score=MONEY, valid={"3": [True, False, True], "5": [True] * 3}),
        wrong=(
            (
                {"labels_from": "way"},
                "labels_from: must be one of the fields: task_id, reward, info, traj, trial",
            ),
            ({"labels_from": "info"}, "info: must be a label (text, a number or a flag) or a list of labels"),
            ({"declared": ["a"]}, "declared: this log has the one strategy 'correct'"),
        ),
        mistyped=(
            (
                '"trial": 2',
                '"trial": 1',
                "trial: must be another number for each run of a task; 1 stands twice for the task '3'",
            ),
            ('"trial": 2', '"trial": 0.5', "trial: must be a whole number"),
            (
                '"reward": 0.5,\n    "info"',
                '"reward": "x",\n    "info"',
                "reward: must be a finite number; got the text 'x'",
            ),
            (
                '"task_id": 5',
                '"task": 5',
                "task_id: must be text that is not empty, or a whole number; got nothing",
            ),
            ('"info": {', '"info": 7, "x": {', "info: must be an object; got 7"),
        ),
    ),
    Example(
        "tau_bench",
        ("rewards.csv",),
        flagged(RUNS, score={"3": [1.0, 0.0, 1.0], "5": [0.0, 1.0, 0.0]}),
        texts={"rewards.csv": "task_id;trial;reward\n3;0;1\n3;1;0\n3;2;1\n5;0;0\n5;1;1\n5;2;0\n"},
    ),
]

WIDE = [
    Example(
        "wide",
        ("wide.csv",),
        labelled({"p1": [["a", "b"], [], ["a"]], "p2": [["b"], ["c"], ["b", "c"]]}),
        declared=None,
        notes=("empty cells of the wide table, read as samples that match nothing: 1",),
        wrong=(
            ({"correct_from": "flags"}, "correct_from: must be 'cells' in a wide table; got 'flags'"),
            ({"correct_from": "cells"}, "sample_1: must be true or false (or 1 or 0); got 'a|b'"),
            ({"min_score": 1}, "min_score: a wide table has no scores"),
        ),
        mistyped=(
            ("p2", "p1", "id: must come once; the input 'p1' stands twice"),
            ("a|b", "a||b", "sample_1: must be a list of labels"),
            ("p2", "", "id: must be text that is not empty"),
        ),
    ),
    Example(
        "wide",
        ("wide.jsonl",),
        labelled({"p1": [["a", "b"], []], "p2": [["b"], ["c"], ["b", "c"]]}),
        declared=["c", "b", "a", "z"],
        choices={},
        mistyped=(
            (
                '"s1": "c"',
                '"s1": null',
                "s1: must be there, since s2 is; only the last samples may be missing",
            ),
            ('"s1": "c"', '"s1": 7', "s1: must be a list of labels"),
            (
                '"s2": "b|c"',
                '"s4": "b|c"',
                "must have columns sample_1, sample_2, ... or s0, s1, ... without a gap",
            ),
        ),
    ),
    Example(
        "wide",
        ("wide_flags.csv",),
        flagged({"p1": [1, 0, 1], "p2": [0, 1]}),
        choices={"correct_from": "cells"},
    ),
]

NATIVE = '{"input": "p", "sample": 0, "strategies": ["a"]}\n{"input": "p", "sample": 1, "strategies": []}\n'
NATIVE += '{"input": "q", "sample": 0, "strategies": ["b"]}\n'
NOVELTY = '{"id": "p", "partition": [0, 1, 0]}\n{"id": "q", "partition": ["b", "a"]}\n'
OWN = [
    Example(
        "native",
        ("log.jsonl",),
        labelled({"p": [["a"], []], "q": [["b"]]}),
        declared=None,
        texts={"log.jsonl": NATIVE},
        wrong=(
            (
                {"labels_from": "a"},
                "labels_from: the format native leaves no such choice; leave it out (inspect: ",
            ),
            ({"min_score": 1}, "score: a minimum score needs a `score` column"),
            ({"min_score": float("nan")}, "min_score: must be a finite number; got nan"),
            ({"filter": 5}, "filter: must be a name as text; got 5"),
        ),
        mistyped=(
            ('"sample": 1', '"sample": 0', "sample: must be another number for each sample; 0 stands twice"),
            ('"sample": 1', '"sample": "b"', "sample: must be a whole number"),
            ('"strategies": []', '"strategies": 5', "strategies: must be a list of labels"),
        ),
    ),
    Example(
        "noveltybench",
        ("novelty.jsonl",),
        labelled({"p": [["0"], ["1"], ["0"]], "q": [["b"], ["a"]]}),
        declared=None,
        texts={"novelty.jsonl": NOVELTY},
        wrong=(
            ({"min_score": 1}, "min_score: a NoveltyBench score belongs to a generation in its sequence"),
        ),
        mistyped=(
            ('"id": "q"', '"id": "p"', "id: must come once; the prompt 'p' stands twice"),
            ("[0, 1, 0]", "[0, 1.5, 0]", "partition: must be a list of classes"),
        ),
    ),
    Example(
        "counts",
        ("counts.csv",),
        labelled({"p": [["a"], ["a"], ["b"], []], "q": [[], []]}),
        declared=None,
        texts={"counts.csv": "input,strategy,c,n\np,a,2,4\np,b,1,4\nq,,0,2\n"},
        wrong=(({"min_score": 1}, "min_score: counts have no scores"),),
        mistyped=(
            ("p,b", "p,a", "strategy: must come once for an input; 'a' stands twice"),
            ("a,2", "a,two", "c: must be a whole number"),
        ),
        counted=True,
    ),
    Example(
        "id_c_n",
        ("passes.jsonl",),
        flagged({"p": [1, 1, 0], "q": [0, 0, 0]}),
        texts={"passes.jsonl": '{"id": "p", "c": 2, "n": 3}\n{"id": "q", "c": 0, "n": 3}\n'},
        wrong=(({"declared": ["a"]}, "declared: these counts have the one strategy 'correct'"),),
        mistyped=(
            ('"id": "q"', '"id": "p"', "id: must come once"),
            ('"c": 2', '"c": 9', "c: must be at most n; got c = 9 of n = 3"),
        ),
        counted=True,
    ),
]

EXAMPLES = [
    *OWN,
    *inspect("inspect.eval"),
    *inspect("inspect.json"),
    *LM_EVAL,
    *HUMAN_EVAL,
    *EVALPLUS,
    *VERL,
    *TAU_BENCH,
    *WIDE,
]
