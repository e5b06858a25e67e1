"""A small decoder-only transformer: causal, pre-norm, rotary positions, with or without a key-value cache.

`stream` takes one sequence or an array of them, `start_cache` and `continue_cache` one, and callers map
these over a batch. A sequence may have padding on the left (`pad` of it), which changes nothing: positions
count from the first real token and no token looks at padding. The numbers are float32 and are cast to the
network's dtype where they are used.
"""

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Float, Int

from coverjax.foundation.checks import InputError, one_of, whole_number

DTYPE = jnp.float32
TINY = 1e-6
"""Added to mean squares before the root."""

TURNS = 100.0
"""The longest wavelength of a rotary position, in tokens, over 2 pi. Texts are short: with the usual 10,000
half of the pairs never turn, and fitting takes half as many updates again."""


@dataclasses.dataclass(frozen=True)
class Size:
    """How large a network is.

    Attributes:
        width: numbers that stand for a token; a multiple of 2 x `heads`.
        layers: number of blocks.
        heads: attention heads of a block.
        hidden: width of the inner layer of a block.
    """

    width: int = 64
    layers: int = 2
    heads: int = 4
    hidden: int = 256

    def __post_init__(self) -> None:
        """Refuse sizes that can't be built."""
        for field in dataclasses.fields(self):
            whole_number(field.name, getattr(self, field.name))
        if self.width % (2 * self.heads):
            raise InputError(
                f"width: must be a multiple of 2 x heads = {2 * self.heads}, rotary positions turn pairs; "
                f"got {self.width}"
            )

    def parameters(self, vocabulary: int) -> int:
        """Return how many numbers a network of this size holds for so many tokens."""
        block = 4 * self.width**2 + 2 * self.width * self.hidden + 2 * self.width
        return self.layers * block + 2 * vocabulary * self.width + self.width


PRESETS = {
    "quick": Size(width=64, layers=2, heads=4, hidden=256),
    "small": Size(width=96, layers=3, heads=4, hidden=384),
    "medium": Size(width=256, layers=6, heads=8, hidden=1024),
    "large": Size(width=768, layers=12, heads=12, hidden=3072),
}
"""Name -> size: about 0.1, 0.34, 4.7 and 85 million parameters, whatever the vocabulary adds."""


def preset(name: str) -> Size:
    """Return the size of that name.

    Raises:
        InputError: there is none.

    >>> preset("quick").parameters(vocabulary=64)
    106816
    """
    return PRESETS[one_of("size", name, tuple(PRESETS))]


class Block(eqx.Module):
    """Attention, then a two-layer network, each on the normalised stream and added to it."""

    scale_attention: Float[jax.Array, " width"]
    into: Float[jax.Array, "width three_widths"]
    out: Float[jax.Array, "width width"]
    scale_hidden: Float[jax.Array, " width"]
    up: Float[jax.Array, "width hidden"]
    down: Float[jax.Array, "hidden width"]


class Transformer(eqx.Module):
    """A network over a vocabulary of `embedding.shape[0]` tokens.

    Attributes:
        embedding: what a token enters as [vocabulary, width].
        blocks: the layers.
        scale: of the last normalisation [width].
        head: from the stream to a logit per token [width, vocabulary].
        heads: attention heads.
        dtype: name of the dtype that it computes in; its numbers are float32.
    """

    embedding: Float[jax.Array, "vocabulary width"]
    blocks: tuple[Block, ...]
    scale: Float[jax.Array, " width"]
    head: Float[jax.Array, "width vocabulary"]
    heads: int = eqx.field(static=True)
    dtype: str = eqx.field(static=True, default="float32")

    @classmethod
    def random(cls, key: jax.Array, size: Size, vocabulary: int, dtype: str | None = None) -> "Transformer":
        """Draw a network: weights of variance 1 / inputs, those that write to the stream smaller by depth.

        Args:
            key: for the weights.
            size: how large.
            vocabulary: number of tokens.
            dtype: what it computes in; bfloat16 on a GPU and float32 elsewhere when None.
        """
        keys = iter(jax.random.split(key, 2 + 4 * size.layers))
        width, depth = size.width, (2.0 * size.layers) ** -0.5

        def drawn(rows: int, columns: int, scale: float = 1.0) -> jax.Array:
            return scale * rows**-0.5 * jax.random.normal(next(keys), (rows, columns), DTYPE)

        ones = jnp.ones(width, DTYPE)
        blocks = tuple(
            Block(
                scale_attention=ones,
                into=drawn(width, 3 * width),
                out=drawn(width, width, depth),
                scale_hidden=ones,
                up=drawn(width, size.hidden),
                down=drawn(size.hidden, width, depth),
            )
            for _ in range(size.layers)
        )
        embedding = jax.random.normal(next(keys), (vocabulary, width), DTYPE)
        head = drawn(width, vocabulary, 0.1)
        return cls(embedding, blocks, ones, head, size.heads, dtype or natural_dtype())

    @property
    def size(self) -> Size:
        """How large it is."""
        width, hidden = self.blocks[0].up.shape
        return Size(width, len(self.blocks), self.heads, hidden)


class Cache(NamedTuple):
    """Keys and values of the tokens so far, an array for each layer: one for all would be copied."""

    keys: tuple[Float[jax.Array, "heads length part"], ...]
    values: tuple[Float[jax.Array, "heads length part"], ...]


class Added(NamedTuple):
    """What is added to the embedding of one token of each sequence.

    Attributes:
        place: of the token.
        vector: what is added.
    """

    place: "Int[jax.Array, '*texts'] | int"
    vector: Float[jax.Array, "*texts width"]


def natural_dtype() -> str:
    """Return what a network computes in on this machine: bfloat16 on a GPU or TPU, else float32."""
    return "float32" if jax.default_backend() == "cpu" else "bfloat16"


def stream(
    network: Transformer,
    tokens: Int[jax.Array, "*texts length"],
    pad: "Int[jax.Array, '*texts'] | int" = 0,
    added: Added | None = None,
) -> Float[jax.Array, "*texts length width"]:
    """Return the normalised stream above the last block at every token.

    Args:
        network: the network.
        tokens: the sequences, with `pad` tokens of padding on their left.
        pad: how many.
        added: to the embedding of one token of each, where something is.
    """
    return _through(network, tokens, pad, added)[0]


def start_cache(
    network: Transformer,
    tokens: Int[jax.Array, " length"],
    pad: Int[jax.Array, ""],
    longest: int,
    added: Added | None = None,
) -> tuple[Float[jax.Array, " width"], Cache]:
    """Return the stream at the last token of a prompt, and a cache that holds the prompt and has room.

    Args:
        network: the network.
        tokens: the prompt, with `pad` tokens of padding on its left.
        pad: how many.
        longest: tokens that the cache has room for.
        added: to the embedding of one token, where something is.
    """
    above, keys, values = _through(network, tokens, pad, added)
    room = ((0, 0), (0, longest - tokens.shape[0]), (0, 0))
    return above[-1], Cache(tuple(jnp.pad(k, room) for k in keys), tuple(jnp.pad(v, room) for v in values))


def continue_cache(
    network: Transformer,
    cache: Cache,
    token: Int[jax.Array, ""],
    place: Int[jax.Array, ""],
    pad: Int[jax.Array, ""],
) -> tuple[Float[jax.Array, " width"], Cache]:
    """Return the stream at one more token, which stands at `place` in the cache, and the cache with it.

    The cost is that of one token, and of looking at those before it.
    """
    dtype = jnp.dtype(network.dtype)
    x = network.embedding[token].astype(dtype)
    length = cache.keys[0].shape[1]
    seen = (jnp.arange(length) <= place) & (jnp.arange(length) >= pad)
    turn = _turns(network, place - pad)
    kept_keys, kept_values = [], []
    for block, keys, values in zip(network.blocks, cache.keys, cache.values, strict=True):
        query, key, value = _inward(network, block, x, turn)
        keys = jax.lax.dynamic_update_slice_in_dim(keys, key[:, None], place, axis=1)
        values = jax.lax.dynamic_update_slice_in_dim(values, value[:, None], place, axis=1)
        scores = jnp.einsum("hd,hkd->hk", query, keys)
        share = _shares(jnp.where(seen, scores, -jnp.inf))
        mixed = jnp.einsum("hk,hkd->hd", share, values)
        x = x + _matmul(mixed.reshape(-1), block.out)
        x = x + _inner(block, x)
        kept_keys.append(keys)
        kept_values.append(values)
    return _normalised(x, network.scale), Cache(tuple(kept_keys), tuple(kept_values))


def logits_of(
    network: Transformer, above: Float[jax.Array, "*tokens width"], first: int, last: int
) -> Float[jax.Array, "*tokens some"]:
    """Return the float32 logits of tokens `first` to `last` (exclusive) of the vocabulary."""
    return _matmul(above, network.head[:, first:last]).astype(DTYPE)


def token_flops(size: Size, vocabulary: int, length: int) -> float:
    """Return the arithmetic of one token forward, 2 for each multiply-add, looking at `length` tokens."""
    weights = size.parameters(vocabulary) - vocabulary * size.width
    return 2.0 * weights + 4.0 * size.layers * length * size.width


def _through(
    network: Transformer,
    tokens: jax.Array,
    pad: "jax.Array | int",
    added: Added | None,
) -> tuple[jax.Array, tuple[jax.Array, ...], tuple[jax.Array, ...]]:
    """Return the stream of whole sequences, and the keys and values of every layer."""
    place = jnp.arange(tokens.shape[-1])
    first = jnp.asarray(pad)[..., None]
    seen = (place[None, :] <= place[:, None]) & (place >= first)[..., None, :]
    seen |= place[None, :] == place[:, None]  # padding looks at itself: no row may be empty
    seen = seen[..., None, :, :]
    turn = _turns(network, place - first)
    x = network.embedding[tokens]
    if added is not None:
        here = place == jnp.asarray(added.place)[..., None]
        x += jnp.where(here[..., None], added.vector[..., None, :], 0.0)
    x = x.astype(jnp.dtype(network.dtype))
    kept = []
    for block in network.blocks:
        # Heads first: on a CPU the products take a third of the time that [length, heads, part] takes.
        three = _inward(network, block, x, turn)
        query, key, value = (jnp.swapaxes(part, -3, -2) for part in three)
        scores = jnp.einsum("...qd,...kd->...qk", query, key)
        share = _shares(jnp.where(seen, scores, -jnp.inf))
        mixed = jnp.einsum("...qk,...kd->...qd", share, value)
        x = x + _matmul(jnp.swapaxes(mixed, -3, -2).reshape(x.shape), block.out)
        x = x + _inner(block, x)
        kept.append((key, value))
    return _normalised(x, network.scale), tuple(key for key, _ in kept), tuple(value for _, value in kept)


def _inward(
    network: Transformer, block: Block, x: jax.Array, turn: tuple[jax.Array, jax.Array]
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return queries (turned and scaled), keys (turned) and values, [..., heads, part]."""
    three = _matmul(_normalised(x, block.scale_attention), block.into)
    query, key, value = jnp.split(three.reshape(*x.shape[:-1], 3 * network.heads, -1), 3, axis=-2)
    return _turned(query * query.shape[-1] ** -0.5, turn), _turned(key, turn), value


def _inner(block: Block, x: jax.Array) -> jax.Array:
    inner = jax.nn.relu(_matmul(_normalised(x, block.scale_hidden), block.up))
    return _matmul(jnp.square(inner), block.down)  # on a CPU a third of the time that gelu takes


def _matmul(x: jax.Array, weights: jax.Array) -> jax.Array:
    # One product of matrices for all texts: on a CPU a derivative through three axes takes twice the time.
    rows = x.reshape(-1, x.shape[-1]) if x.ndim > 2 else x
    return (rows @ weights.astype(x.dtype)).reshape(*x.shape[:-1], weights.shape[1])


def _shares(scores: jax.Array) -> jax.Array:
    """Softmax in float32; every row has something finite in it."""
    return jax.nn.softmax(scores.astype(DTYPE), axis=-1).astype(scores.dtype)


def _normalised(x: jax.Array, scale: jax.Array) -> jax.Array:
    """Divide by the root of the mean square, in float32."""
    wide = x.astype(DTYPE)
    root = jax.lax.rsqrt(jnp.mean(jnp.square(wide), axis=-1, keepdims=True) + TINY)
    return (wide * root * scale).astype(x.dtype)


def _turns(network: Transformer, place: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return cosine and sine of the angles at a place, [..., 1, half of a head]."""
    half = network.embedding.shape[1] // network.heads // 2
    pace = TURNS ** (-jnp.arange(half, dtype=DTYPE) / half)
    angle = place.astype(DTYPE)[..., None, None] * pace
    return jnp.cos(angle), jnp.sin(angle)


def _turned(x: jax.Array, turn: tuple[jax.Array, jax.Array]) -> jax.Array:
    """Turn each pair of numbers of each head by its angle (Su et al., RoFormer, 2021)."""
    cosine, sine = turn
    a, b = jnp.split(x.astype(DTYPE), 2, axis=-1)
    return jnp.concatenate([a * cosine - b * sine, a * sine + b * cosine], axis=-1).astype(x.dtype)
