# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # 3. Training a router, and coverage advantages in an RL loop
#
# Coverage is differentiable where the law is known; and from samples alone its gradient has an unbiased
# estimate that drops into any policy-gradient loop.

# %%
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax

import coverjax as cj

# %% [markdown]
# ## A router to its optimum
#
# Eight inputs, five strategies, uneven routers. For a router that sees nothing, AUC is concave in its
# probabilities, and by the symmetry of this model the even router is the best: training must find it.

# %%
model = cj.families.confusion(8, 5, 0.1, router=np.array([0.5, 0.2, 0.15, 0.1, 0.05]))
policy, history = cj.train_policy(
    jax.random.key(0), cj.LatentIID, model, 10, steps=300, every=100, progress=False
)
even = cj.RouterGenerator(np.full((8, 5), 0.2), model.generator)
best = cj.auc(cj.exact(cj.LatentIID(), even, 10)).mean()
reached = cj.auc(cj.exact(policy, model, 10)).mean()
before = cj.auc(cj.exact(cj.LatentIID(), model, 10)).mean()
print(f"AUC {before:.4f} before, {reached:.6f} after, {best:.6f} at most")
assert before < reached < best + 1e-6  # trained in float32
assert best - reached < 1e-4

# %% [markdown]
# A *schedule*, one router for each draw, need not be even: it can take turns.

# %%
schedule, _ = cj.train_policy(
    jax.random.key(0), cj.LatentSchedule, model, 10, steps=300, every=100, progress=False
)
turns = cj.auc(cj.exact(schedule, model, 10)).mean()
ceiling = cj.auc(cj.exact(cj.OptimalLatent(), model, 10)).mean()
assert reached < turns < ceiling
print(f"schedule {turns:.4f}; the best adaptive policy {ceiling:.4f}")

# %% [markdown]
# ## In somebody else's loop
#
# You have samples of one prompt and know which strategies each matched: `coverage_advantages` returns a
# weight for each sample so that the weighted gradient of its log-probability is an unbiased estimate of the
# gradient of C(k). NumPy, JAX and torch arrays go in and come out. With one label it is the gradient of
# pass@k; with k = 1 and leave-one-out it is the plain reward.

# %%
one_label = np.array([[1], [0], [0], [1.0]]) > 0
assert np.allclose(cj.coverage_advantages(one_label, 1, baseline="loo"), np.array([1, 0, 0, 1]) / 4)

# %% [markdown]
# A sampler over 12 strategies of which three are correct, the third very rare. Two rewards, the same loop:
# plain correctness, and coverage of the correct strategies by 8 samples.

# %%
CORRECT, K, SAMPLES, GROUPS, STEPS = 3, 8, 16, 8, 400
START = np.log(np.array([0.2, 0.05, 0.01] + [0.74 / 9] * 9)).astype(np.float32)


def advantages(reward, samples):
    found = samples[..., None] == jnp.arange(CORRECT)
    if reward == "coverage":
        return cj.coverage_advantages(found, K, baseline="loo")
    right = found.any(axis=-1).astype(jnp.float32)
    others = (right.sum(axis=-1, keepdims=True) - right) / (SAMPLES - 1)
    return (right - others) / SAMPLES


@partial(jax.jit, static_argnames="reward")
def train(key, reward):
    tool = optax.adam(0.05)

    def update(carry, number):
        logits, state = carry
        samples = jax.random.categorical(jax.random.fold_in(key, number), logits, shape=(GROUPS, SAMPLES))
        weights = advantages(reward, samples)

        def surrogate(logits):
            return -jnp.sum(weights * jax.nn.log_softmax(logits)[samples]) / GROUPS

        change, state = tool.update(jax.grad(surrogate)(logits), state, logits)
        return (logits + change, state), None

    start = jnp.asarray(START)
    (logits, _), _ = jax.lax.scan(update, (start, tool.init(start)), jnp.arange(STEPS, dtype=jnp.int32))
    return jax.nn.softmax(logits)[:CORRECT]


ends = {}
for reward in ("plain", "coverage"):
    p = np.asarray(train(jax.random.key(1), reward), np.float64)
    ends[reward] = (1 - (1 - p) ** K).mean()
    print(f"{reward:9} correct strategies {p.round(3)}  pass@1 {p.sum():.3f}  C({K}) {ends[reward]:.3f}")

# %% [markdown]
# The plain reward does not care which correct strategy it gets, and lets the rare one go. The coverage reward
# keeps all three.

# %%
assert ends["coverage"] > 0.9
assert ends["plain"] < 0.75
