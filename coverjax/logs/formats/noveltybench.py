"""NoveltyBench results: a row a prompt, `partition` giving the equivalence class of each generation in order.

Classes are labels of an open set: no strategy is declared, so read the counts (`distinct`). Scores of the
generations become `score`. Source: Zhang et al. 2025, github novelty-bench/novelty-bench.
"""

import re
from typing import Any, NoReturn

from coverjax.foundation.checks import shown
from coverjax.logs.counts import CountTable
from coverjax.logs.files import LogFile
from coverjax.logs.formats.base import TABLES, Format, Source, need_columns, read_samples
from coverjax.logs.jsontext import Number, Pairs
from coverjax.logs.locating import Record, raise_fault, raise_repeat
from coverjax.logs.log import SampleLog
from coverjax.logs.rules import NAME, Field, Rule, quoted
from coverjax.logs.tables import RefusedError, numbered, refusing, relation
from coverjax.logs.tallying import Blame

_LETTER = r'(?:[^"\\]|\\.)'
_CLASS = rf'(?:-?[0-9]+|"{_LETTER}*(?:[^"\\ \t]|\\[^t]){_LETTER}*")'
"""A whole number, or text that is not only blanks."""

_SCORE = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?"


def _list_of(entry: str, must: str) -> Rule:
    """The rule of a JSON list whose entries are whole texts of a pattern."""
    pattern = rf"\[(?:{entry}(?:,{entry})*)?\]"

    def sql(x: str, dialect: str) -> str:
        return f"CASE WHEN regexp_full_match({x}, {quoted(pattern)}) THEN CAST({x}::JSON AS JSON[]) END"

    def value(found: Any, dialect: str) -> list[Any] | None:
        if not isinstance(found, list) or isinstance(found, Pairs):
            return None
        return found if all(re.fullmatch(entry, _text(item)) for item in found) else None

    return Rule(must, sql, value, "JSON[]")


def _text(item: Any) -> str:
    """A JSON value as text, as far as the patterns tell values apart."""
    if isinstance(item, Number):
        return str(item)
    return '"' + re.sub(r'["\\]', "_", item) + '"' if isinstance(item, str) else "{}"


FIELDS = (
    Field("id", NAME, required=True),
    Field("partition", _list_of(_CLASS, "a list of classes (whole numbers or text)"), required=True),
    Field("generation_scores", _list_of(_SCORE, "a list of finite numbers")),
    Field("method", NAME),
    Field("model", NAME, nullable=True),
)


def _recognises(file: LogFile) -> bool:
    return {"id", "partition"} <= set(file.columns)


def _read(source: Source) -> SampleLog | CountTable:
    need_columns(source.files, FIELDS)
    connection = source.connection
    texts = {field.name: field.rule.sql(field.name, "json") for field in FIELDS}
    try:
        with refusing():
            connection.execute(f"""
                CREATE TABLE prompts AS
                SELECT r, id, {texts["id"]} AS name, {texts["partition"]} AS classes, generation_scores,
                    {texts["generation_scores"]} AS scores, method, {texts["method"]} AS method_name,
                    model, {texts["model"]} AS model_name
                FROM ({numbered(relation(source.files, FIELDS))})
            """)
            present, models, faulty = _verdict(source)
    except RefusedError as fault:
        _blame(source, frozenset(), str(fault))
    if faulty:
        _blame(source, present, "")
    source.provenance["no_min_score"] = _NO_MIN_SCORE
    column = "method" if "method" in present else "model" if models > 1 else "NULL::VARCHAR"
    if models == 1:
        source.provenance["model"] = connection.execute(
            "SELECT any_value(model_name) FROM prompts"
        ).fetchall()[0][0]
    return read_samples(source, _samples_query(column), _repeats(source, column), dialect="json")


def _verdict(source: Source) -> tuple[frozenset[str], int, bool]:
    """Return the optional columns there are, the number of models, and whether something is wrong."""
    total, scored, methods, models, wrong = source.connection.execute("""
        SELECT count(*), count(generation_scores), count(method), count(DISTINCT model_name),
            count(*) FILTER (
                name IS NULL OR classes IS NULL OR (scores IS NULL AND generation_scores IS NOT NULL)
                OR len(scores) <> len(classes) OR (method_name IS NULL AND method IS NOT NULL)
                OR (model_name IS NULL AND model IS NOT NULL))
        FROM prompts
    """).fetchall()[0]
    given = {"generation_scores": scored, "method": methods}
    present = frozenset(name for name, count in given.items() if count)
    return present, models, bool(wrong) or any(count not in (0, total) for count in given.values())


def _lengths(record: Record, dialect: str) -> tuple[str, str] | None:
    scores, classes = record.get("generation_scores"), record["partition"]
    if scores is None or len(scores) == len(classes):
        return None
    return (
        "generation_scores",
        f"must have one score a generation; got {len(scores)} for {len(classes)} generations",
    )


def _blame(source: Source, present: frozenset[str], reason: str) -> NoReturn:
    raise_fault(source.files, FIELDS, present, also=_lengths, reason=reason)


def _samples_query(method: str) -> str:
    """The samples, one a generation: a class becomes the text of a list with that one label."""
    label = """CASE WHEN starts_with(class, '"') THEN class ELSE '"' || class || '"' END"""
    nothing = ", ".join(
        f"NULL::VARCHAR AS {name}" for name in ("trial", "valid", "correct", "latent", "labeler")
    )
    return f"""
        SELECT id AS input, sample::VARCHAR AS sample,
            '[' || {label} || ']' AS strategies, method, score, {nothing}
        FROM (
            SELECT id, {method} AS method, generate_subscripts(classes, 1) - 1 AS sample,
                unnest(classes)::VARCHAR AS class, unnest(scores)::VARCHAR AS score
            FROM prompts ORDER BY r
        )
    """


def _repeats(source: Source, method: str) -> Blame:
    """How to name a prompt that stands twice; its generations can't be wrong one by one."""

    def key(record: Record, dialect: str) -> tuple[str, str]:
        named = record.get(method)
        return (NAME.value(named, dialect) if named is not None else "", NAME.value(record["id"], dialect))

    def twice(found: Any) -> tuple[str, str]:
        return (
            "id",
            f"must come once; the prompt {shown(found[1])} stands twice (two models? add a `method` column)",
        )

    def repeat(place: tuple[str, str, str]) -> NoReturn:
        raise_repeat(source.files, FIELDS, key, place[:2].__eq__, twice)

    def value(present: frozenset[str], reason: str) -> NoReturn:
        _blame(source, present, reason)

    return Blame(value, repeat)


_NO_MIN_SCORE = (
    "a NoveltyBench score belongs to a generation in its sequence (a repeated class scores nothing), so "
    "that a threshold tells no correct samples; leave it out"
)

FORMAT = Format(
    "noveltybench",
    "id, partition",
    _recognises,
    _read,
    kinds=TABLES - {"csv"},
    no_min_score=_NO_MIN_SCORE,
)
