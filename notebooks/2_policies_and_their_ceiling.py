# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # 2. Policies and their ceiling
#
# Sampling again and again from one distribution spends most of the budget on strategies already seen. If the
# sampler is a *router-generator* (a router r(z|x) picks a latent strategy z, a generator g(y|x,z) carries it
# out) we may choose z on purpose. How much is there to gain?

# %%
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import coverjax as cj

# %% [markdown]
# Four strategies, four latents that are right nine times of ten, and a router that loves the first one.

# %%
router = np.array([0.6, 0.2, 0.15, 0.05])
model = cj.families.confusion(inputs=1, strategies=4, eps=0.1, router=router)
BUDGET = 12

policies = {
    "iid": cj.IID(),
    "latents, never twice": cj.LatentNoRepeat(),
    "greedy on W": cj.GreedyLatent(),
    "optimal": cj.OptimalLatent(),
    "one strategy a draw": cj.OracleNoRepeat(),
}
curves = {name: cj.exact(policy, model, BUDGET) for name, policy in policies.items()}
for name, policy in policies.items():
    print(f"{name:22} sees {policy.sees:8} knows {policy.knows:8} AUC {cj.auc(curves[name])[0]:.4f}")

# %% [markdown]
# These are exact: no sampling, no error bar. Three things always hold.

# %%
area = {name: cj.auc(line)[0] for name, line in curves.items()}
assert area["iid"] < area["latents, never twice"] < area["optimal"] < area["one strategy a draw"]
assert area["greedy on W"] <= area["optimal"] + 1e-12  # a backward program over (draw, seen set): the ceiling
# Drawing the latents from the router IS the base law: nothing is gained by naming them.
assert np.allclose(cj.exact(cj.LatentIID(), model, BUDGET).coverage, curves["iid"].coverage)

# %% [markdown]
# **Gain** is the share of the way from independent draws (0) to one new strategy with every draw (1).

# %%
gain = {name: cj.gain(line, curves["iid"], curves["one strategy a draw"])[0] for name, line in curves.items()}
assert gain["iid"] == 0.0
assert gain["one strategy a draw"] == 1.0
assert 0.5 < gain["latents, never twice"] < gain["optimal"] < 1.0
_, ax = plt.subplots()
_ = cj.plot_coverage(curves, ax)
# %% [markdown]
# Where does it come from: fewer repeats of common strategies, or rare ones found?

# %%
common, rare = cj.gain_split(curves["optimal"], curves["iid"], curves["one strategy a draw"], rare_below=2.0)
assert np.isclose(common[0] + rare[0], gain["optimal"])
print(
    f"of the gain {gain['optimal']:.2f}: {common[0]:.2f} from common strategies, {rare[0]:.2f} from rare ones"
)

# %% [markdown]
# ## Simulation says the same
#
# `simulate` runs any policy, exact form or not, with a standard error beside every number.

# %%
drawn = cj.simulate(jax.random.key(0), cj.LatentNoRepeat(), model, BUDGET, trials=4096)
distance = (drawn.coverage - curves["latents, never twice"].coverage) / np.maximum(
    drawn.mc_stderr.coverage, 1e-9
)
assert np.abs(distance[0, 1:]).max() < 5

# %% [markdown]
# ## A policy of your own
#
# Three small functions and four words: what it sees, what it knows, what it acts on, and whether it is Markov
# in the set of strategies seen so far (which lets `exact` compute it).


# %%
class Boldest(cj.Policy):
    """Choose the latent whose own favourite strategy is still missing; any latent when none is."""

    sees = "outcomes"
    knows = "true_W"
    acts_on = "latents"
    markov = True

    def init(self, known):
        return jnp.zeros(known.declared.shape, bool)

    def choose(self, known, state, draw):
        missing = ~state[jnp.argmax(known.table, axis=1)]
        return jnp.where(missing | ~missing.any(), 0.0, -jnp.inf)

    def update(self, known, state, draw, action, matched):
        return state | matched


mine = cj.exact(Boldest(), model, BUDGET)
assert area["latents, never twice"] < cj.auc(mine)[0] <= area["optimal"] + 1e-12
print("Boldest: AUC", cj.auc(mine)[0].round(4), "of at most", area["optimal"].round(4))
