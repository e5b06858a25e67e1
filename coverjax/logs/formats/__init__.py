"""Adapters, one a file: how other tools write logs.

To add one: write a file with a `FORMAT` (`base.Format`), whose `recognises` looks at how a file begins (its
columns and first record) and whose `read` returns a log or a count table, and put it into `registry.FORMATS`.
Samples are read by giving `base.read_samples` a query with the columns of `tallying.FIELDS`, counts by
`tallies.read_counts`: checks, counting and arrays are the same for all. Fields have rules (`logs/rules.py`),
each once in SQL and once in Python, so that `logs/locating.py` finds the line of whatever a check has seen.
"""
