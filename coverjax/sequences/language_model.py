"""`LanguageModel`: a network with its vocabulary; a base model, or a router and a generator in one."""

import dataclasses
import json
import os
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from coverjax._version import __version__
from coverjax.foundation.archives import ARRAY_FAULTS, open_arrays
from coverjax.foundation.checks import InputError, file_error, listed, one_of, whole_number
from coverjax.foundation.files import whole_file
from coverjax.sequences.gaussian import ARITHMETIC as GAUSSIAN_ARITHMETIC
from coverjax.sequences.gaussian import Gaussian
from coverjax.sequences.tasks.base import Task
from coverjax.sequences.tokenizer import Tokenizer
from coverjax.sequences.transformer import Added, Size, Transformer, logits_of, natural_dtype, stream

FORMAT = "coverjax-language-model-1"
"""How a file is laid out."""

ARITHMETIC = "decoder-1"
"""What the numbers in a file mean: how a text is laid out and how a network computes (`transformer`). Whoever
changes that, so that the same numbers are another model, gives it a new name: files of the old one are then
refused."""

UNNAMED = "decoder-1"
"""The arithmetic of files that were written before it was named in them."""

SPREAD = 0.5
"""How far the latents of a factorized base model start from `<none>`, in units of an embedding."""


class LanguageModel(eqx.Module):
    """A network that continues ``<begin> x <separator> LATENT``.

    With the token `<none>` in the latent's place it is the base model p(y | x). With latents it is the
    generator g(y | x, z), and the stream at `<separator>` gives the router r(z | x): one network for both.
    Latents are tokens, or, with `gaussian`, points z in R^d that are added to `<none>`.

    Attributes:
        network: the transformer.
        tokenizer: the vocabulary; `tokenizer.latents` is 0 for a base model.
        task: name of the task whose texts it was fitted to.
        prompt_length, text_length: longest prompt and longest whole text that it was made for, in tokens.
        gaussian: what reads and writes continuous latents; None where there are none.
    """

    network: Transformer
    tokenizer: Tokenizer = eqx.field(static=True)
    task: str = eqx.field(static=True)
    prompt_length: int = eqx.field(static=True)
    text_length: int = eqx.field(static=True)
    gaussian: Gaussian | None = None

    @property
    def latents(self) -> int:
        """Number of latents, 0 for a base model and where latents are continuous."""
        return self.tokenizer.latents

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a continuous latent, 0 where there are none."""
        return 0 if self.gaussian is None else self.gaussian.dimensions

    @property
    def parameters(self) -> int:
        """How many numbers were fitted."""
        return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(self, eqx.is_array)))

    def require_words(self, task: Task) -> None:
        """Raise unless what a task asks and answers can be written in the model's words.

        Raises:
            InputError: the task has others.
        """
        strange = [word for word in task.vocabulary() if word not in self.tokenizer.words]
        if strange:
            raise InputError(
                f"task: must be written in the words of the model, which was fitted to {self.task}; "
                f"{task.name} also has {listed(map(repr, strange))}"
            )

    def require_base(self, task: Task) -> None:
        """Raise unless this is a base model that a task can be explored with.

        Raises:
            InputError: it has latents, or the task has other words.
        """
        if self.latents or self.dimensions:
            held = f"{self.latents or 'continuous'} latents"
            raise InputError(f"base: must be a base model; this one has {held} already")
        self.require_words(task)

    def require_latents(self) -> None:
        """Raise unless there are latents to choose from, by number.

        Raises:
            InputError: this is a base model, or its latents are continuous.
        """
        if self.dimensions:
            raise InputError(
                f"model: must have latents to choose from; this one's are continuous, {self.dimensions} "
                "dimensions: explore them with explore_continuous"
            )
        if not self.latents:
            raise InputError("model: must have latents to choose from; this is a base model: factorize it")

    def require_continuous(self) -> None:
        """Raise unless there are continuous latents.

        Raises:
            InputError: this is a base model, or its latents have numbers.
        """
        if not self.dimensions:
            held = f"this one has {self.latents}, by number" if self.latents else "this is a base model"
            raise InputError(
                f"model: must have continuous latents; {held}: factorize a base with objective 'gaussian'"
            )

    def with_gaussian(self, key: jax.Array, dimensions: int) -> "LanguageModel":
        """Return the base model with continuous latents: z enters like `<none>` and a little noise; the
        router is standard normal on every input."""
        whole_number("dimensions", dimensions)
        gaussian = Gaussian.random(key, self.network.embedding.shape[1], dimensions)
        return LanguageModel(
            self.network, self.tokenizer, self.task, self.prompt_length, self.text_length, gaussian
        )

    def with_latents(self, key: jax.Array, latents: int) -> "LanguageModel":
        """Return the model with new latents: each enters like `<none>` and a little noise; router uniform."""
        whole_number("latents", latents)
        old, new = self.network, self.tokenizer.with_latents(latents)
        first = self.tokenizer.first_latent
        none = old.embedding[new.latent(-1)]
        noise = SPREAD * jax.random.normal(key, (latents, none.shape[0]), none.dtype)
        embedding = jnp.concatenate([old.embedding[:first], none + noise])
        head = jnp.pad(old.head[:, :first], ((0, 0), (0, latents)))
        network = eqx.tree_at(lambda net: (net.embedding, net.head), old, (embedding, head))
        return LanguageModel(network, new, self.task, self.prompt_length, self.text_length)

    def with_only(self, latents: Sequence[int]) -> "LanguageModel":
        """Return the model with some of its latents, numbered anew in the order given."""
        old, first = self.network, self.tokenizer.first_latent
        kept = jnp.concatenate([jnp.arange(first), first + jnp.asarray(latents, jnp.int32)])
        network = eqx.tree_at(
            lambda net: (net.embedding, net.head), old, (old.embedding[kept], old.head[:, kept])
        )
        tokenizer = self.tokenizer.with_latents(len(latents))
        return LanguageModel(network, tokenizer, self.task, self.prompt_length, self.text_length)

    def save(self, path: str | os.PathLike[str], dtype: str = "float32") -> None:
        """Write the model as one .npz file.

        Args:
            path: the file.
            dtype: of the numbers in it, "float32" or "float16", which halves the file and rounds to 3 digits.

        Raises:
            InputError: another dtype, or the place can't be written to.
        """
        one_of("dtype", dtype, ("float32", "float16"))
        facts = {
            "format": FORMAT,
            "arithmetic": _arithmetic(self.dimensions),
            "version": __version__,
            "task": self.task,
            "words": self.tokenizer.words,
            "latents": self.latents,
            "dimensions": self.dimensions,
            "heads": self.network.heads,
            "prompt_length": self.prompt_length,
            "text_length": self.text_length,
        }
        leaves = jax.tree.leaves(eqx.filter(self, eqx.is_array))
        arrays: dict[str, Any] = {
            f"part{place}": np.asarray(leaf).astype(dtype) for place, leaf in enumerate(leaves)
        }
        with whole_file(path) as part, part.open("wb") as file:
            np.savez_compressed(file, facts=np.array(json.dumps(facts)), **arrays)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "LanguageModel":
        """Read a model that `save` wrote.

        Raises:
            InputError: there is no such file, it is damaged, it is no model, or its numbers mean what another
                version computes.
        """
        try:
            with open_arrays(path) as file:
                facts, parts = _contents(file)
            tokenizer = Tokenizer(tuple(facts["words"]), facts["latents"])
            dimensions = whole_number("dimensions", facts.get("dimensions", 0), 0)
            network, gaussian = _rebuilt(parts, facts["heads"], tokenizer.size, dimensions)
            prompt, text = (whole_number(name, facts[name]) for name in ("prompt_length", "text_length"))
            return cls(network, tokenizer, str(facts["task"]), prompt, text, gaussian)
        except FileNotFoundError as error:
            raise file_error(path, None, None, "must be a file; there is none of that name") from error
        except OSError as error:
            raise file_error(
                path, None, None, f"must be a file that can be read; {error.strerror or error}"
            ) from error
        except ARRAY_FAULTS as error:
            what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
            raise file_error(path, None, None, f"must be a language model of coverjax; {what}") from error


def _contents(file: Any) -> tuple[dict[str, Any], list[jax.Array]]:
    """Return the facts and the arrays of an open file."""
    # A checkpoint and a learned policy of coverjax have a header, which says what they are.
    place = "header" if "header" in file.files else "facts"
    facts = json.loads(str(file[place]))
    if facts["format"] != FORMAT:
        raise ValueError(f"its format is {facts['format']}, this version reads {FORMAT}")
    meaning = facts.get("arithmetic", UNNAMED)
    ours = _arithmetic(facts.get("dimensions", 0))
    if meaning != ours:
        raise ValueError(f"its numbers are for {meaning}, this version computes {ours}: fit it anew")
    return facts, [jnp.asarray(file[f"part{k}"], jnp.float32) for k in range(len(file.files) - 1)]


def _arithmetic(dimensions: int) -> str:
    """What the numbers of a model with latents of so many dimensions mean; 0: of one without."""
    return f"{ARITHMETIC}+{GAUSSIAN_ARITHMETIC}" if dimensions else ARITHMETIC


def _rebuilt(
    parts: list[jax.Array], heads: int, vocabulary: int, dimensions: int
) -> tuple[Transformer, Gaussian | None]:
    """Return the network of which these are the numbers, and what reads and writes continuous latents."""
    of_gaussian = len(dataclasses.fields(Gaussian)) if dimensions else 0
    width, layers = parts[0].shape[1], (len(parts) - of_gaussian - 3) // 6
    hidden = parts[5].shape[1]

    def made(key: jax.Array) -> tuple[Transformer, Gaussian | None]:
        first, second = jax.random.split(key)
        size = Size(width, layers, heads, hidden)
        network = Transformer.random(first, size, vocabulary, natural_dtype())
        return network, Gaussian.random(second, width, dimensions) if dimensions else None

    shape = jax.eval_shape(made, jax.random.key(0))
    leaves, structure = jax.tree.flatten(shape)
    if [leaf.shape for leaf in leaves] != [part.shape for part in parts]:
        raise ValueError("its arrays do not fit together")
    return jax.tree.unflatten(structure, parts)


def text_surprisals(
    model: LanguageModel,
    tokens: Int[jax.Array, "*texts length"],
    slot: Int[jax.Array, "*texts"],
    end: Int[jax.Array, "*texts"],
    z: Float[jax.Array, "*texts dimensions"] | None = None,
) -> tuple[Float[jax.Array, "*texts length"], Float[jax.Array, "*texts length width"]]:
    """Return -log p of each token of y and `<end>`, given what stands before it, and the stream.

    Entry t is the surprisal of token t + 1; 0 outside y. What stands at `slot` decides whose it is: `<none>`
    the base model's, a latent the generator's.

    Args:
        model: the model.
        tokens: texts, padded on the right.
        slot: the place of the latent.
        end: the place of `<end>`.
        z: a continuous latent; None leaves what stands at `slot` as it is.
    """
    added = None
    if z is not None:
        assert model.gaussian is not None
        added = Added(slot, model.gaussian.entered(z))
    above = stream(model.network, tokens, added=added)
    scores = jax.nn.log_softmax(logits_of(model.network, above, 0, model.tokenizer.text_size), axis=-1)
    # The last token of a full row has no next one; its entry is outside y, so what wraps is not looked at.
    following = jnp.clip(jnp.roll(tokens, -1, axis=-1), 0, model.tokenizer.text_size - 1)
    place = jnp.arange(tokens.shape[-1])
    inside = (place >= slot[..., None]) & (place < end[..., None])
    told = jnp.take_along_axis(scores, following[..., None], axis=-1)[..., 0]
    return jnp.where(inside, -told, 0.0), above


def latent_logs(
    model: LanguageModel, above: Float[jax.Array, "*places width"]
) -> Float[jax.Array, "*places latents"]:
    """Return the log-probabilities of the latents that the stream at a place gives.

    At `<separator>` they are the router's; at `<end>`, which has read y, those of the encoder q(z | x, y).
    """
    first = model.tokenizer.first_latent
    logits = logits_of(model.network, above, first, first + model.latents)
    return jax.nn.log_softmax(logits, axis=-1)


def with_latent(
    model: LanguageModel,
    tokens: Int[jax.Array, "*texts length"],
    slot: Int[jax.Array, "*texts"],
    z: Int[jax.Array, "*texts"],
) -> Int[jax.Array, "*texts length"]:
    """Return the texts with latent z in its place."""
    latent = jnp.asarray(model.tokenizer.first_latent + z, tokens.dtype)
    here = jnp.arange(tokens.shape[-1]) == slot[..., None]
    return jnp.where(here, latent[..., None], tokens)


def start_model(
    key: jax.Array, task: str, words: tuple[str, ...], size: Size, lengths: tuple[int, int], latents: int = 0
) -> LanguageModel:
    """Return an untrained model; `lengths` are those of the longest prompt and of the longest text."""
    tokenizer = Tokenizer(words, latents)
    return LanguageModel(Transformer.random(key, size, tokenizer.size), tokenizer, task, *lengths)
