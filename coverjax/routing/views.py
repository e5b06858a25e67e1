"""The information boundary: what a router may look at, and a test that it looked at nothing else."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from coverjax.foundation.checks import InputError, listed, shown

Router = Callable[[Mapping[str, np.ndarray]], Any]
"""From fields, arrays with tasks first, to a team for each task."""


class PublicView(Mapping[str, np.ndarray]):
    """The public fields of the tasks, read-only: nothing else is in here, so nothing else can be read.

    Args:
        fields: all fields, arrays with tasks first.
        public: names of those that a router may look at.

    Raises:
        InputError: a public field that is not there; on access, a field that is not public.
    """

    def __init__(self, fields: Mapping[str, Any], public: Sequence[str]):
        missing = [name for name in public if name not in fields]
        if missing:
            raise InputError(
                f"public: must be fields of the tasks; {listed(missing)} is not among {listed(fields)}"
            )
        self._fields = {name: np.array(fields[name]) for name in public}
        for array in self._fields.values():
            array.flags.writeable = False

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._fields:
            raise InputError(
                f"{name}: a router may look at the public fields {listed(self._fields)} only; this one is "
                "private or unknown"
            )
        return self._fields[name]

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


def routed(router: Router, fields: Mapping[str, Any], public: Sequence[str]) -> np.ndarray:
    """Return a router's choices, made from the public fields alone [tasks]."""
    return np.asarray(router(PublicView(fields, public)))


def check_boundary(
    router: Router, fields: Mapping[str, Any], public: Sequence[str], seed: int = 0
) -> np.ndarray:
    """Check that a router which is handed ALL fields uses public ones only; return its choices.

    Each private field is permuted over the tasks, one at a time and then all together; the routes must stay
    the same bits. A test by example: it finds a use that changes a route under these permutations.

    Args:
        router: takes fields, returns a team for each task.
        fields: all fields, arrays with tasks first.
        public: names of the public ones; all others are private.
        seed: of the permutations.

    Raises:
        InputError: permuting a private field changes a route.
    """
    arrays = {name: np.asarray(values) for name, values in fields.items()}
    PublicView(arrays, public)
    private = [name for name in arrays if name not in public]
    before = np.asarray(router(dict(arrays)))
    rng = np.random.Generator(np.random.Philox(seed))
    for moved in [*([name] for name in private), private]:
        order = rng.permutation(len(before))
        changed = arrays | {name: arrays[name][order] for name in moved}
        after = np.asarray(router(changed))
        if after.tobytes() != before.tobytes():
            task = int((after != before).argmax())
            raise InputError(
                f"router: reads the private field {listed(map(shown, moved))}: permuting it changes the "
                "route of task "
                f"{task} from {before[task]} to {after[task]}; it may see {listed(public)} only"
            )
    return before
