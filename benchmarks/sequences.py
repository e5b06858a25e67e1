"""Drawing texts with a key-value cache against computing every text anew for every token."""

import functools

import jax
import numpy as np

from benchmarks.harness import Row, against, arithmetic
from coverjax.sequences.decoding import sample_tokens
from coverjax.sequences.transformer import Transformer, preset, token_flops

VOCABULARY, TEXT, ASKED = 32, 25, 16


def rows(smoke: bool) -> list[Row]:
    """Return the row for generation."""
    texts, part, longest = (64, 64, 8) if smoke else (4096, 512, 32)
    size = preset("quick")
    network = Transformer.random(jax.random.key(0), size, VOCABULARY)
    rng = np.random.default_rng(0)
    prompts = rng.integers(1, VOCABULARY, (texts, ASKED)).astype(np.int32)
    pads = rng.integers(0, 4, texts).astype(np.int32)
    keys = jax.random.split(jax.random.key(1), texts)

    def draw(count: int, cached: bool) -> np.ndarray:
        rows = slice(count)
        return sample_tokens(network, prompts[rows], pads[rows], keys[rows], longest, TEXT, cached=cached)

    # Every text is asked in one pass; then the loop runs until the last text of a chunk has ended.
    flops = texts * (ASKED + longest) * token_flops(size, VOCABULARY, ASKED + longest)
    tokens = texts * longest
    return [
        against(
            f"sampling {texts:,} texts of up to {longest} tokens, {size.parameters(VOCABULARY):,} "
            f"parameters, {tokens:,} tokens a call",
            functools.partial(draw, texts, True),
            f"the same network without a key-value cache ({part:,} texts, scaled)",
            functools.partial(draw, part, False),
            target=0 if smoke else 5,
            pairs=1 if smoke else 3,
            scale=texts / part,
            floor=arithmetic(flops, dtype="float32"),
            note="largest difference: number of texts that differ in a token",
            difference=lambda ours, theirs: float((ours[: len(theirs)] != theirs).any(axis=1).sum()),
        )
    ]
