"""Adapters, one a file: how other tools write logs.

To add one: write a file with a `FORMAT` (`base.Format`), whose `recognises` looks at how a file begins (its
columns and first record) and whose `read` returns a log or a count table, and put it into `registry.FORMATS`;
give it an example in `tests/log_formats.py`, which tests it against the native form and damages its files.

Rows a sample go through `rows.found_rows` (fields with their rules, checked by duckdb) and `rows.read_found`;
samples that lie nested in documents through `flattened.read_rows`; counts through `tallies.read_counts`; a
query with the columns of `tallying.FIELDS` through `base.read_samples`. Checks, counting and arrays are the
same for all. Rules (`logs/rules.py`, `logs/cells.py`) stand each once in SQL and once in Python, so that
`logs/locating.py` finds the line of whatever a check has seen. What a format leaves to the caller to choose
stands in `Format.takes`, and is answered by `choices.one_choice`.
"""
