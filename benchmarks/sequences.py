"""Drawing texts with a key-value cache against computing every text anew for every token."""

import functools

import jax
import numpy as np

from benchmarks.harness import Floor, Row, against, seconds
from coverjax.sequences.decoding import sample_tokens
from coverjax.sequences.transformer import Transformer, preset, token_flops

VOCABULARY, TEXT = 32, 25
ASKED = 16


def cores_limit() -> float:
    """Floating-point operations per second of one large float32 product: the arithmetic limit, measured."""
    size = 1024
    a = jax.random.normal(jax.random.key(0), (size, size), np.float32)
    product = jax.jit(lambda x: x @ x)
    jax.block_until_ready(product(a))
    best = min(seconds(lambda: product(a))[0] for _ in range(10))
    return 2.0 * size**3 / best


def rows(smoke: bool) -> list[Row]:
    """Return the rows for generation."""
    texts, longest = (64, 8) if smoke else (4096, 32)
    size = preset("quick")
    network = Transformer.random(jax.random.key(0), size, VOCABULARY)
    rng = np.random.default_rng(0)
    prompts = rng.integers(1, VOCABULARY, (texts, ASKED)).astype(np.int32)
    pads = rng.integers(0, 4, texts).astype(np.int32)
    keys = jax.random.split(jax.random.key(1), texts)
    draw = functools.partial(sample_tokens, network, prompts, pads, keys, longest, TEXT)
    said = draw()
    # The loop runs until the last text of a chunk has ended; a token costs the same at every place.
    worked = texts * (ASKED + longest)
    work = worked * token_flops(size, VOCABULARY, ASKED + longest)
    limit = cores_limit()

    def floor(ours: float) -> Floor:
        told = f"{work / 1e9:.1f} Gflop at {limit / 1e9:.0f} Gflop/s"
        return Floor(work / limit, f"{told}; we do {texts * longest / ours:,.0f} tokens/s")

    name = f"{texts:,} texts of up to {longest} tokens, {size.parameters(VOCABULARY):,} parameters"
    return [
        against(
            f"sampling {name}, {said.shape[1]} steps",
            draw,
            "the same network without a key-value cache",
            functools.partial(draw, cached=False),
            target=0 if smoke else 5,
            pairs=1 if smoke else 3,
            floor=floor,
            difference=lambda ours, theirs: float((ours != theirs).any(axis=1).sum()),
        )
    ]
