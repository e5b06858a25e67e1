"""The scan that runs any policy: tiles of (inputs x trials) runs, some draws at a time.

A tile is computed by one program of fixed size, whatever the number of tiles, so that not even the rounding
inside a policy's `choose` depends on how the work is cut up.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Int, UInt32

from coverjax.foundation import rng
from coverjax.montecarlo import packed
from coverjax.montecarlo.tables import Shape, Tables, draw_actions, draw_outcomes
from coverjax.policy.stage import Frozen, joined


class Job(NamedTuple):
    """What is compiled: hashable.

    Attributes:
        frozen: the policy without its numbers.
        shape: sizes of the tables.
        strategies: number of strategy columns.
        trials: runs of one input in a tile.
        draws: draws of one call.
        held, used, law: whether to count draws per strategy, latents, and runs by |S_k|.
        generator: the name of the random generator.
    """

    frozen: Frozen
    shape: Shape
    strategies: int
    trials: int
    draws: int
    held: bool
    used: bool
    law: bool
    generator: str


class Tile(NamedTuple):
    """What a tile reads. All arrays have the tile's inputs as their first axis but `first`.

    Attributes:
        keys: the random stream of each input, as raw words.
        known: what the policy knows about each input.
        tables: the law of a draw.
        first: number of the tile's first trial, a scalar.
    """

    keys: Any
    known: Any
    tables: Tables
    first: Any


class Runs(NamedTuple):
    """The state of the runs of a tile.

    Attributes:
        keys: the random stream of each run, as raw words [inputs, trials, words].
        seen: strategies covered [words, inputs, trials].
        used: latents used [words, inputs, trials], no words when not counted.
        held: draws after which each strategy was covered [members, inputs, trials], no members when not
        counted.
        state: the policy's own, with axes (inputs, trials) first.
        bad: whether a policy's logits were NaN or +inf.
    """

    keys: Any
    seen: UInt32[jax.Array, "words inputs trials"]
    used: UInt32[jax.Array, "latentwords inputs trials"]
    held: Int[jax.Array, "members inputs trials"]
    state: Any
    bad: Bool[jax.Array, ""]


class Limits(NamedTuple):
    """Traced whole numbers: the draw that a call starts with, the budget and the number of trials."""

    start: Any
    budget: Any
    trials: Any


# -- one tile --------------------------------------------------------------------------------------


def start_tile(numbers: Any, tile: Tile, job: Job) -> Runs:
    """Return the runs before their first draw."""
    policy = joined(numbers, job.frozen)
    trial = tile.first + jnp.arange(job.trials, dtype=jnp.int32)
    streams = jax.random.wrap_key_data(tile.keys, impl=job.generator)
    keys = jax.vmap(lambda key: jax.vmap(lambda t: jax.random.fold_in(key, t))(trial))(streams)
    inputs, words = tile.tables.declared.shape
    state = jax.vmap(policy.init)(tile.known)
    spread = jax.tree.map(lambda leaf: _per_trial(leaf, job.trials), state)

    def empty(count: int, kind: Any) -> jax.Array:
        return jnp.zeros((count, inputs, job.trials), kind)

    return Runs(
        keys=jax.random.key_data(keys),
        seen=empty(words, jnp.uint32),
        used=empty(-(-job.shape.actions // packed.WORD) if job.used else 0, jnp.uint32),
        held=empty(words * packed.WORD if job.held else 0, jnp.int32),
        state=spread,
        bad=jnp.zeros((), bool),
    )


def _per_trial(leaf: Any, trials: int) -> jax.Array:
    array = jnp.asarray(leaf)
    return jnp.repeat(array[:, None], trials, axis=1)


def advance_tile(
    numbers: Any, limits: Limits, tile: Tile, runs: Runs, job: Job
) -> tuple[Runs, dict[str, jax.Array]]:
    """Return the runs after `job.draws` more draws, and sums over the trials for each of these draws."""
    policy = joined(numbers, job.frozen)
    real = (tile.first + jnp.arange(job.trials, dtype=jnp.int32) < limits.trials)[None]
    words = tile.tables.declared.shape[1]
    slices = packed.slices(job.draws) if job.held else 0
    counters = (jnp.zeros(runs.seen.shape, jnp.uint32),) * slices

    def step(carry: tuple, offset: jax.Array) -> tuple[tuple, dict[str, jax.Array]]:
        runs, counters = carry
        draw = limits.start + offset
        runs, fresh, action = _draw(policy, tile, runs, draw, job, words)
        if job.held:
            counted = (real & (draw < limits.budget))[None]
            counters = packed.count_up(counters, jnp.where(counted, runs.seen, jnp.uint32(0)))
        if job.used:
            used = runs.used | packed.single(action, runs.used.shape[0])
            runs = runs._replace(used=used)
        return (runs, counters), _sums(tile, runs, fresh, real, job)

    (runs, counters), sums = jax.lax.scan(step, (runs, counters), jnp.arange(job.draws, dtype=jnp.int32))
    if job.held:
        runs = runs._replace(held=runs.held + packed.counts(counters))
    return runs, sums


def _draw(
    policy: Any, tile: Tile, runs: Runs, draw: jax.Array, job: Job, words: int
) -> tuple[Runs, UInt32[jax.Array, "words inputs trials"], Int[jax.Array, "inputs trials"]]:
    """One draw of every run: choose an action, draw its outcome, unite the match set."""
    streams = jax.random.wrap_key_data(runs.keys, impl=job.generator)
    bits = jax.vmap(jax.vmap(lambda key: rng.words(key, draw)))(streams)
    bad = runs.bad
    if policy.acts_on == "base":
        action = jnp.zeros(bits.shape[:2], jnp.int32)
    else:
        # A blind policy has no state to map over: the size must be told.
        each = jax.vmap(policy.choose, in_axes=(None, 0, None), axis_size=job.trials)
        choose = jax.vmap(each, in_axes=(0, 0, None))
        logits = choose(tile.known, runs.state, draw)
        action, wrong = draw_actions(logits, bits[..., 0])
        bad = bad | wrong
    named = tile.tables.height is None
    outcome = action if named else draw_outcomes(tile.tables, action, bits[..., 1], job.shape)
    nothing = (action < 0) | (outcome >= job.shape.outcomes)
    outcome = jnp.where(nothing, job.shape.outcomes, outcome)
    matched = _match_sets(tile.tables, outcome, words)
    fresh = matched & ~runs.seen
    state = runs.state
    if jax.tree.leaves(state):
        state = _updated(policy, tile, runs, draw, action, matched, job)
    return runs._replace(seen=runs.seen | matched, state=state, bad=bad), fresh, action


def _match_sets(
    tables: Tables, outcome: Int[jax.Array, "inputs trials"], words: int
) -> UInt32[jax.Array, "words inputs trials"]:
    if tables.sets is None:
        return packed.single(outcome, words) & tables.declared.T[:, :, None]
    word = jnp.arange(words, dtype=jnp.int32)[:, None, None]
    inputs = jnp.arange(outcome.shape[0], dtype=jnp.int32)[None, :, None]
    return tables.sets.at[inputs, outcome[None], word].get(mode="promise_in_bounds")


def _updated(
    policy: Any, tile: Tile, runs: Runs, draw: jax.Array, action: jax.Array, matched: jax.Array, job: Job
) -> Any:
    """The policy's state after a draw; it is told what it sees and nothing else."""
    inputs, trials = action.shape
    if policy.sees in ("outcomes", "oracle"):
        flags = packed.unpacked(matched, job.strategies)
    else:
        flags = jnp.zeros((inputs, trials, job.strategies), bool)
    told = jnp.full_like(action, -1) if policy.sees == "blind" else action
    update = jax.vmap(jax.vmap(policy.update, in_axes=(None, 0, None, 0, 0)), in_axes=(0, 0, None, 0, 0))
    after = update(tile.known, runs.state, draw, told, flags)
    return jax.tree.map(lambda new, old: new.astype(old.dtype), after, runs.state)


def _sums(
    tile: Tile, runs: Runs, fresh: UInt32[jax.Array, "words inputs trials"], real: jax.Array, job: Job
) -> dict[str, jax.Array]:
    """Sums over the real trials after one draw, [inputs] each."""
    size = jnp.where(real, packed.size(runs.seen), 0)
    some = real & packed.nonempty(fresh)
    full = real & (size == tile.tables.count[:, None])
    sums = {"distinct": _total(size), "any_new": _total(some), "full": _total(full)}
    sums |= _squares("distinct_squares", size)
    if tile.tables.sets is not None:
        new = jnp.where(real, packed.size(fresh), 0)
        sums |= {"new": _total(new)} | _squares("new_squares", new)
    if job.used:
        used = jnp.where(real, packed.size(runs.used), 0)
        sums |= {"used": _total(used)} | _squares("used_squares", used)
    if job.law:
        sizes = jnp.arange(job.strategies + 1, dtype=jnp.int32)
        there = (size[..., None] == sizes[None, None]) & real[..., None]
        sums["law"] = jnp.sum(there.astype(jnp.uint32), axis=1)
    return sums


def _total(values: jax.Array) -> UInt32[jax.Array, " inputs"]:
    return jnp.sum(values.astype(jnp.uint32), axis=1)


def _squares(name: str, values: Int[jax.Array, "inputs trials"]) -> dict[str, jax.Array]:
    """Sums of squares in two parts, each far below 2^32: the lower and the upper 16 bits."""
    square = values.astype(jnp.uint32) * values.astype(jnp.uint32)
    return {name: _total(square & jnp.uint32(0xFFFF)), name + "_high": _total(square >> jnp.uint32(16))}


def finish_tile(shift: Int[jax.Array, ""], runs: Runs) -> dict[str, jax.Array]:
    """Return sums over trials of `held`, shifted right too and squared, [inputs, members] each."""
    held = runs.held.astype(jnp.uint32)
    coarse = held >> shift.astype(jnp.uint32)
    square = coarse * coarse
    parts = {
        "held": held & jnp.uint32(0xFFFF),
        "held_high": held >> jnp.uint32(16),
        "coarse": coarse,
        "coarse_squares": square & jnp.uint32(0xFFFF),
        "coarse_squares_high": square >> jnp.uint32(16),
    }
    return {name: jnp.sum(part, axis=-1).T for name, part in parts.items()}
