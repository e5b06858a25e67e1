"""`coverjax simulate`: simulated curves of policies on a known law."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from coverjax.cli.laws import LawOptions, report_policies
from coverjax.cli.options import parse_with_file
from coverjax.curves import Curves


@dataclasses.dataclass(frozen=True)
class SimulateOptions(LawOptions):
    """Simulate the coverage of policies on a known law; standard errors stand beside every number.

    coverjax simulate --family confusion --strategies 8 --eps 0.1 --budget 32 --trials 4096
    coverjax simulate --law model.csv --policy GoodUCB mine:MyPolicy --seed 1
    """

    trials: int = 1_024
    """Simulated runs of each input."""
    chunk: int | None = None
    """Trials at once; the numbers do not depend on it. Default: from the memory there is."""


def run(argv: Sequence[str]) -> None:
    """Run the verb with these arguments."""
    options = parse_with_file(SimulateOptions, "simulate", argv)

    def produce(policy: Any, law: Any) -> Curves:
        import jax

        from coverjax.montecarlo.scan import simulate

        key = jax.random.key(options.seed)
        include = ("default", "count_law")
        return simulate(
            key, policy, law, options.budget, options.trials, options.coverage, include, chunk=options.chunk
        )

    report_policies("simulate", options, produce)
