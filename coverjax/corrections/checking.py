"""Whether cases measure what they should: every correction brings one token, and nothing leaks."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from coverjax.corrections.cases import Case, Paths, Problem, scan_cases
from coverjax.corrections.tokens import RULES, only_token, tokens_of
from coverjax.foundation.checks import InputError, file_error, json_fault, listed, one_of, shown
from coverjax.logs.files import facts


def check_cases(
    cases: "Paths | Sequence[Paths | Case | Mapping[str, Any]]",
    pack: "Paths | None" = None,
    rule: str = "unicode",
) -> list[Problem]:
    """Return everything that is wrong with cases, in the order of the cases; an empty list where nothing is.

    * Each correction introduces exactly one expected token, one that no earlier correction of the
      curriculum holds, and `expected_tokens` is the union of these.
    * No expected token stands in the probe or the seed turn: an echo would count as a hit.
    * An expected token is exactly one token by the rule, and none stands twice; nor does a correction.
    * A concept stands once: never twice in a split, and never in two splits.
    * With a pack, each concept is in it.

    Args:
        cases: as in `read_cases`.
        pack: a file of the allowed concepts: one a line, or a JSON list.
        rule: the token rule, "unicode" or "ascii".

    Raises:
        InputError: a file can't be read, or there is no case at all.
    """
    one_of("rule", rule, tuple(RULES))
    allowed = None if pack is None else read_pack(pack)
    read, problems = scan_cases(cases)
    seen: dict[str, Case] = {}
    for case in read:
        problems += _tokens_of(case, rule)
        problems += _curriculum_of(case, rule)
        problems += _leaks_of(case, rule)
        problems += _place_of(case, seen, allowed)
    return sorted(problems, key=lambda problem: (problem.path or "", problem.line or 0))


def refuse(problems: Sequence[Problem]) -> None:
    """Raise the first problem, saying how many more there are."""
    if problems:
        more = len(problems) - 1
        tail = f" (and {more} more: see coverjax corrections check)" if more else ""
        raise InputError(f"{problems[0].error()}{tail}")


def read_pack(path: Paths) -> frozenset[str]:
    """Read the names of the allowed concepts: a JSON list of texts, or one a line (# begins a comment).

    Raises:
        InputError: the file can't be read, is no UTF-8, or holds no name.
    """
    name = os.fspath(path)
    facts(name)
    try:
        with open(name, encoding="utf-8-sig") as file:
            text = file.read()
    except UnicodeDecodeError as error:
        raise file_error(name, None, None, f"must be UTF-8 text; {error.reason}") from None
    if text.lstrip().startswith("["):
        names = _json_names(name, text)
    else:
        lines = (line.strip() for line in text.splitlines())
        names = [line for line in lines if line and not line.startswith("#")]
    if not names:
        raise file_error(name, None, None, "must name at least one concept, one a line or as a JSON list")
    return frozenset(map(_key, names))


def _json_names(path: str, text: str) -> list[str]:
    try:
        names = json.loads(text)
    except json.JSONDecodeError as error:
        raise file_error(path, error.lineno, None, json_fault(error)) from None
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise file_error(path, None, None, f"must be a list of texts; got {shown(wrong[0])}")
    return names


def _key(concept: str) -> str:
    """A concept by its letters: neither case nor blanks make another concept."""
    return " ".join(concept.casefold().split())


def _tokens_of(case: Case, rule: str) -> Iterable[Problem]:
    seen: dict[str, str] = {}
    for word in case.expected_tokens:
        token = only_token(word, rule)
        if token is None:
            read = tokens_of(word, rule)
            got = f"reads as {', '.join(map(repr, read))}" if read else "holds none"
            yield case.problem(
                "expected_tokens", f"must be single tokens; {shown(word)} {got} by the rule {rule!r}"
            )
        elif token in seen:
            yield case.problem(
                "expected_tokens",
                f"must be distinct; {shown(word)} stands twice"
                + (f", as {shown(seen[token])} too" if seen[token] != word else ""),
            )
        else:
            seen[token] = word


def _curriculum_of(case: Case, rule: str) -> Iterable[Problem]:
    expected = {only_token(word, rule): word for word in case.expected_tokens}
    expected.pop(None, None)
    earlier: set[str] = set()
    texts: dict[str, int] = {}
    for number, text in enumerate(case.curriculum, start=1):
        twin = texts.setdefault(_key(text), number)
        if twin != number:
            yield case.problem(
                "curriculum", f"corrections must differ; number {number} repeats number {twin}: drop it"
            )
            continue
        new = [token for token in dict.fromkeys(tokens_of(text, rule)) if token in expected]
        new = [token for token in new if token not in earlier]
        if len(new) != 1:
            got = f"brings {len(new)} ({listed(new)})" if new else "brings none"
            yield case.problem(
                "curriculum",
                f"each correction must bring exactly one new expected token; number {number} {got}",
            )
        earlier |= set(new)
    missing = [word for token, word in expected.items() if token not in earlier]
    if missing:
        yield case.problem(
            "expected_tokens", f"must all be brought by a correction; none brings {listed(missing)}"
        )


def _leaks_of(case: Case, rule: str) -> Iterable[Problem]:
    for field in ("probe", "seed"):
        there = set(tokens_of(getattr(case, field) or "", rule))
        leaked = [word for word in case.expected_tokens if only_token(word, rule) in there]
        if leaked:
            yield case.problem(
                field, f"must hold no expected token, an echo would count as a hit; holds {listed(leaked)}"
            )


def _place_of(case: Case, seen: dict[str, Case], allowed: frozenset[str] | None) -> Iterable[Problem]:
    key = _key(case.concept)
    first = seen.setdefault(key, case)
    if first is not case:
        where = "" if first.line is None else f" ({first.path}:{first.line})"
        what = (
            f"must stand once; {shown(case.concept)} stands twice in {case.split}{where}"
            if first.split == case.split
            else f"splits must share no concept; {shown(case.concept)} is in {first.split}{where} and in "
            f"{case.split}"
        )
        yield case.problem("concept", what)
    if allowed is not None and key not in allowed:
        yield case.problem(
            "concept", f"must be in the pack of allowed concepts; {shown(case.concept)} is not"
        )
