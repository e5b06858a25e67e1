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

    def produce(policy: Any, law: Any, name: str) -> Curves:
        from coverjax.closed_form.forms import exact

        return exact(policy, law, options.budget, options.coverage, ("default", "count_law"))

    report_policies("exact", options, _with_law_if_practical(produce, options))


def _with_law_if_practical(produce: Any, options: ExactOptions) -> Any:
    """The count law (for T below 1) where it is practical; without it where it isn't."""
    from coverjax.foundation.checks import InputError

    def either(policy: Any, law: Any, name: str) -> Curves:
        from coverjax.closed_form.forms import exact

        try:
            return produce(policy, law, name)
        except InputError:
            return exact(policy, law, options.budget, options.coverage)

    return either
