"""`coverjax exact`: exact curves of policies on a known law."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from coverjax.cli.laws import LawOptions, report_policies
from coverjax.cli.options import parse_with_file
from coverjax.curves import Curves


@dataclasses.dataclass(frozen=True)
class ExactOptions(LawOptions):
    """Compute the exact coverage of policies on a known law: closed forms, no sampling.

    coverjax exact --family zipf --strategies 64 --inputs 1 --budget 256
    coverjax exact --law model.csv --policy LatentIID "LatentNoRepeat(order='router')" OptimalLatent
    """


def run(argv: Sequence[str]) -> None:
    """Run the verb with these arguments."""
    options = parse_with_file(ExactOptions, "exact", argv)

    def produce(policy: Any, law: Any) -> Curves:
        from coverjax.report.policy_study import exact_curves

        return exact_curves(policy, law, options.budget, options.coverage)

    report_policies("exact", options, produce)
