"""Full coverage, novelty (any) and the count law of exchangeable runs: averages over ALL k-subsets.

Two exact forms. The subset lattice serves any match sets of up to 16 strategies that are sometimes but not
always matched; a chain over the samples serves runs in which a sample matches at most one strategy,
whatever their number.
"""

import dataclasses
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from coverjax.estimators.avoidance import avoidance_sums, weighted_histogram
from coverjax.foundation import lattice
from coverjax.foundation.precision import float64_kernel
from coverjax.foundation.shapes import blocks, bucket, pad_axis

_LATTICE_NUMBERS = 1 << 22
_CHAIN_NUMBERS = 1 << 22


@dataclasses.dataclass(frozen=True)
class SetCurves:
    """The curves that need match sets and not only counts, [runs, budgets, ...]; None where not asked."""

    full_coverage: np.ndarray | None = None
    novelty_any: np.ndarray | None = None
    count_law: np.ndarray | None = None


@float64_kernel
def _lattice_counts(
    masks: Int[Array, "runs samples"], counted: Float[Array, "runs samples"], zeros: Float[Array, "subsets"]
) -> tuple[Float[Array, "runs subsets"], Float[Array, "runs subsets"]]:
    """How many samples have their match set inside T, and how many contain T, for every T."""

    def one(mask: Array, count: Array) -> Array:
        return zeros.at[mask].add(count)

    histogram = jax.vmap(one)(masks, counted)
    return lattice.subset_sums(histogram), lattice.superset_sums(histogram)


def lattice_curves(
    matches: np.ndarray, n: np.ndarray, width: np.ndarray, budgets: np.ndarray, want: frozenset[str]
) -> SetCurves:
    """Return the curves by inclusion and exclusion over the subsets of M strategies, M <= 16.

    With h(T) the number of samples whose match set lies inside T, P(S_k inside T) = C(h(T), k) / C(n, k).
    The signs of inclusion and exclusion are summed as integers over the subsets that share h before they
    meet a floating-point number. Cost 2^M (M + n) per run, plus a table. Source: Moebius inversion on the
    subset lattice; math of "all k-subsets" in docs/architecture.md.

    Args:
        matches: bool [runs, samples, M]; samples beyond n are all False.
        n: samples of each run [runs].
        width: number of strategies of each run [runs] (the first columns); F asks for all of these.
        budgets: k [B].
        want: names of the curves.
    """
    elements = matches.shape[2]
    widest = 1 << elements
    if "count_law" in want:
        widest = max(widest, (elements + 1) * (int(n.max(initial=0)) + 1))
    block = max(1, _LATTICE_NUMBERS // widest)
    parts = [
        _lattice_block(matches[part], n[part], width[part], budgets, want) for part in blocks(len(n), block)
    ]
    return _joined(parts)


def _lattice_block(
    matches: np.ndarray, n: np.ndarray, width: np.ndarray, budgets: np.ndarray, want: frozenset[str]
) -> SetCurves:
    runs, samples, elements = matches.shape
    counted = (np.arange(samples) < n[:, None]).astype(np.float64)
    masks = pad_axis(lattice.masks(matches), bucket(runs))
    inside, above = _lattice_counts(masks, pad_axis(counted, bucket(runs)), np.zeros(1 << elements))
    inside, above = (np.rint(values[:runs]).astype(np.int64) for values in (inside, above))
    size = lattice.sizes(elements)
    sign = np.where(size % 2, -1.0, 1.0)
    full = novelty = law = None
    if "full_coverage" in want:
        own = lattice.masks(np.arange(elements) < width[:, None])
        within = (np.arange(1 << elements) & ~own[:, None]) == 0
        weights = within * sign * np.where(width % 2, -1.0, 1.0)[:, None]
        full = avoidance_sums(n, n[:, None] - inside, weights, budgets)
        if budgets[0] < elements:
            least = fewest_that_cover(inside, weights.astype(np.int64), elements)
            full = np.where(budgets < least[:, None], 0.0, full)
    if "novelty_any" in want:
        weights = -sign * above / n[:, None]
        weights[:, 0] = 0.0
        others = np.clip(n[:, None] - 1 - inside[:, ::-1], 0, None)
        novelty = avoidance_sums(n - 1, others, weights, budgets - 1)
    if "count_law" in want:
        law = _level_law(n, inside, size, budgets)
    return SetCurves(full, novelty, law)


_PRIMES = (2_147_483_647, 2_147_483_629)


def fewest_that_cover(inside: np.ndarray, signs: np.ndarray, elements: int) -> np.ndarray:
    """Return the least k at which some k samples match every strategy, elements + 1 where none do [runs].

    sum_T sign(T) h(T)^k counts the k-tuples of samples whose union is everything: a whole number, so that it
    is 0 or not where the floating-point sum is rounding. Kept modulo two primes; a count that both divide by
    chance (1e-19) would be taken for 0.

    Args:
        inside: h(T), samples whose match set lies inside T [runs, subsets].
        signs: 1, -1, or 0 for subsets that are not of the run's own strategies [runs, subsets].
        elements: the largest k to look at: more are never needed than there are strategies.
    """
    least = np.full(len(inside), elements + 1)
    powers = [np.ones_like(inside) for _ in _PRIMES]
    for k in range(1, elements + 1):
        some = np.zeros(len(inside), bool)
        for i, prime in enumerate(_PRIMES):
            powers[i] = powers[i] * (inside % prime) % prime
            some |= (signs * powers[i]).sum(axis=1) % prime != 0
        least = np.where(some & (least > k), k, least)
        if (least <= k).all():
            break
    return least


def _level_law(n: np.ndarray, inside: np.ndarray, size: np.ndarray, budgets: np.ndarray) -> np.ndarray:
    """P(|S_k| = m) from the number of subsets with each (size, h): signs meet as integers first."""
    runs, subsets = inside.shape
    elements = subsets.bit_length() - 1
    most = int(n.max())
    joint = weighted_histogram(size[None, :] * (most + 1) + inside, None, (elements + 1) * (most + 1))
    joint = joint.reshape(runs, elements + 1, most + 1)
    signs = np.array(
        [
            [
                (-1.0) ** (m - a) * math.comb(elements - a, m - a) if a <= m else 0.0
                for a in range(elements + 1)
            ]
            for m in range(elements + 1)
        ]
    )
    weights = np.einsum("ma,rah->rmh", signs, joint).reshape(runs * (elements + 1), most + 1)
    rows = np.repeat(n, elements + 1)
    avoided = np.clip(rows[:, None] - np.arange(most + 1), 0, None)
    law = avoidance_sums(rows, avoided, weights, budgets).reshape(runs, elements + 1, len(budgets))
    return np.clip(law.swapaxes(1, 2), 0.0, 1.0)


def _grown(before: Array, takes: Array, axis_zero: Array) -> tuple[Array, Array]:
    """Subsets of one sample more: those without it, and those with it, by their size along the first axis.

    A uniform k-subset of the first t samples holds sample t with probability k / t.
    """
    return (1.0 - takes) * before, takes * jnp.roll(before, 1, axis=0).at[0].set(axis_zero)


@float64_kernel
def _chain(
    new: Int[Array, "runs samples"],
    off: Int[Array, "runs samples"],
    real: Int[Array, "runs samples"],
    like: Float[Array, "draws counts"],
) -> Float[Array, "runs draws counts"]:
    """P(|S_k| = j) over all k-subsets of runs with samples sorted by strategy, off-strategy ones first."""
    draws = jnp.arange(like.shape[0], dtype=like.dtype)[:, None]

    def one(news: Array, offs: Array, reals: Array) -> Array:
        def step(state: tuple[Array, Array], sample: tuple[Array, ...]) -> tuple[tuple[Array, Array], None]:
            untouched, touched = state
            number, is_new, is_off, is_real = sample
            untouched = jnp.where(is_new, untouched + touched, untouched)
            touched = jnp.where(is_new, 0.0, touched)
            takes = jnp.where(is_real, jnp.clip(draws / number, 0.0, 1.0), 0.0)
            without, held = _grown(untouched, takes, jnp.zeros(like.shape[1], like.dtype))
            kept, again = _grown(touched, takes, jnp.zeros(like.shape[1], like.dtype))
            more = jnp.roll(held, 1, axis=1).at[:, 0].set(0.0)
            touched = kept + jnp.where(is_off, 0.0, again + more)
            untouched = without + jnp.where(is_off, held, 0.0)
            return (untouched, touched), None

        numbers = jnp.arange(1, news.shape[0] + 1, dtype=like.dtype)
        start = (like.at[0, 0].set(1.0), like)
        (untouched, touched), _ = jax.lax.scan(step, start, (numbers, news > 0, offs > 0, reals > 0))
        return untouched + touched

    return jax.lax.map(lambda run: one(*run), (new, off, real))


@float64_kernel
def _full_chain(
    new: Int[Array, "runs samples"],
    off: Int[Array, "runs samples"],
    real: Int[Array, "runs samples"],
    like: Float[Array, "draws"],
) -> Float[Array, "runs draws"]:
    """P(all strategies in a k-subset), sorted as for `_chain`: subsets that left one out are dropped."""
    draws = jnp.arange(like.shape[0], dtype=like.dtype)

    def one(news: Array, offs: Array, reals: Array) -> Array:
        def step(state: tuple[Array, Array], sample: tuple[Array, ...]) -> tuple[tuple[Array, Array], None]:
            untouched, touched = state
            number, is_new, is_off, is_real = sample
            untouched = jnp.where(is_new, touched, untouched)
            touched = jnp.where(is_new, 0.0, touched)
            takes = jnp.where(is_real, jnp.clip(draws / number, 0.0, 1.0), 0.0)
            without, held = _grown(untouched, takes, jnp.zeros((), like.dtype))
            kept, again = _grown(touched, takes, jnp.zeros((), like.dtype))
            touched = kept + again + jnp.where(is_off, 0.0, held)
            return (without, touched), None

        numbers = jnp.arange(1, news.shape[0] + 1, dtype=like.dtype)
        start = (like, like.at[0].set(1.0))
        (_, touched), _ = jax.lax.scan(step, start, (numbers, news > 0, offs > 0, reals > 0))
        return touched

    return jax.lax.map(lambda run: one(*run), (new, off, real))


def single_label_law(codes: np.ndarray, most: int, strategies: int) -> np.ndarray:
    """Return P(|S_k| = m), k = 0..K, for runs whose samples match at most one strategy.

    A chain over the samples in positive arithmetic: no binomial, so nothing overflows and nothing cancels,
    for any number of strategies. Cost n x K x M per run. Sizes are padded to powers of two, so that logs of
    about one size share a compiled program.

    Args:
        codes: the strategy of each sample, -1 for none [runs, n].
        most: K, at most n.
        strategies: M; codes lie below it.

    Returns:
        float64 [runs, K + 1, M + 1].
    """
    like = np.zeros((bucket(most + 1), bucket(strategies + 1)))
    return _chained(_chain, codes, like)[:, : most + 1, : strategies + 1]


def single_label_full(codes: np.ndarray, most: int) -> np.ndarray:
    """Return P(a k-subset holds every strategy that some sample matches), k = 0..K, for the same runs.

    The chain of `single_label_law` without its counts: a subset that has left a strategy out is dropped. Cost
    n x K per run, whatever the number of strategies. float64 [runs, K + 1].
    """
    return _chained(_full_chain, codes, np.zeros(bucket(most + 1)))[:, : most + 1]


def _chained(kernel: Callable[..., np.ndarray], codes: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Run a chain over blocks of runs, samples sorted by strategy and padded at their end."""
    codes = np.sort(codes, axis=1)
    new = (np.diff(codes, axis=1, prepend=-2) != 0) & (codes >= 0)
    size = bucket(codes.shape[1])
    flags = [pad_axis(flag, size, axis=1) for flag in (new, codes < 0, np.ones(codes.shape, bool))]
    parts = []
    for part in blocks(len(codes), _CHAIN_NUMBERS // like.size):
        rows = bucket(len(codes[part]), smallest=1)
        parts.append(kernel(*(pad_axis(flag[part], rows) for flag in flags), like)[: len(codes[part])])
    return np.concatenate(parts)


def _joined(parts: list[SetCurves]) -> SetCurves:
    """Put the blocks of runs together again."""

    def one(name: str) -> np.ndarray | None:
        values = [getattr(part, name) for part in parts]
        return None if values[0] is None else np.concatenate(values)

    return SetCurves(one("full_coverage"), one("novelty_any"), one("count_law"))
