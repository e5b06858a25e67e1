"""Studies of small logs."""

import pytest
from sample_logs import LOGS

from coverjax.report.study import study_log


@pytest.fixture(scope="session")
def studies():
    """Studies of all these logs, by name, made once."""
    made = {}

    def get(name, **options):
        key = (name, *sorted(options.items()))
        if key not in made:
            made[key] = study_log(LOGS[name](), **options)
        return made[key]

    return get
