"""What is fixed by a table, whatever the routers are: oracle, best constant, headroom."""

import numpy as np

from coverjax.routing import answers, regrets
from coverjax.routing.answers import Answer
from coverjax.routing.draws import FAMILY_NOT_RUN, Draws, gated_mean
from coverjax.routing.tables import OutcomeTable


class Levels:
    """The oracle, the best constant team and what lies between.

    The best constant is chosen in hindsight on the same tasks, so that its mean is optimistic. Limits are
    those of the team that was chosen: choosing anew in each replicate takes the largest of many resampled
    means, whose percentiles lie above the value itself.
    """

    def __init__(self, table: OutcomeTable, draws: Draws):
        self.outcomes, self.draws = table.outcomes, draws
        best = regrets.best_constant(self.outcomes)
        self.constant_name = None if best is None else table.family.names[best]
        self.choices = len(regrets.constants(self.outcomes.legal))
        self.complete = bool(self.outcomes.complete.all())
        self.ends = regrets.oracle_bounds(self.outcomes)
        self.oracle_place = draws.add_ends(*self.ends)
        self.constant = None if best is None else self.outcomes.scores[:, best]
        if self.constant is not None:
            self.constant_place = draws.add(self.constant)

    def oracle(self) -> Answer:
        """Return the mean score of the best legal team."""
        return gated_mean("oracle", self.ends, FAMILY_NOT_RUN, self.draws, self.oracle_place)

    def constant_value(self) -> Answer:
        """Return the mean score of the best constant team."""
        name = "best constant in hindsight"
        if self.constant is None:
            why = "no team is legal on every task, or one that is was not run on some task"
            return answers.refusal(name, why)
        value = float(self.constant.mean())
        why = f"the best of {self.choices} teams on these very tasks: optimistic"
        return Answer(name, "point", value, value, *self.draws.limits(self.constant_place), why)

    def headroom(self) -> Answer:
        """Return oracle minus best constant."""
        low, high = regrets.headroom_bounds(self.outcomes)
        if np.isnan(low):
            return answers.refusal("headroom", "no team is legal on every task")
        if not self.complete:
            why = "not every legal team was run; the low end is attained, the high end need not be"
            open_tasks = int((~self.outcomes.complete).sum())
            return Answer("headroom", "interval", low, high, why=why, open_tasks=open_tasks)
        limits = (np.nan, np.nan)
        if self.draws.means is not None:
            limits = self.draws.limits(self._drawn(self.oracle_place[0]) - self._drawn(self.constant_place))
        return Answer("headroom", "point", low, low, *limits, "complete; over the best constant in hindsight")

    def gap_closed(self, value: Answer, place: int) -> Answer:
        """Return (value - best constant) / (oracle - best constant); 0 is the best constant, 1 the oracle."""
        name = "gap closed"
        if not self.complete or self.constant is None:
            return answers.refusal(name, "needs every legal team run and a team that is legal on every task")
        base = float(self.constant.mean())
        room = float(self.ends[0].mean()) - base
        if room <= 0.0:
            return answers.refusal(name, "the best constant team is as good as the oracle: there is no gap")
        found = (value.low - base) / room
        limits = (np.nan, np.nan)
        if self.draws.means is not None:
            constant = self._drawn(self.constant_place)
            rooms = self._drawn(self.oracle_place[0]) - constant
            if (rooms > 0.0).all():
                limits = self.draws.limits((self._drawn(place) - constant) / rooms)
        return Answer(name, "point", found, found, *limits, "of the way from the best constant to the oracle")

    def _drawn(self, place: int) -> np.ndarray:
        assert self.draws.means is not None
        return self.draws.means[:, place]
