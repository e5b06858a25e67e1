# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # 6. Routing: is the chosen team as good as the best one?
#
# A router picks a team of agents for each task. Was it the best one? The score of teams that nobody ran is
# unknown, and unknown is not zero.

# %%
import numpy as np

import coverjax as cj

# %% [markdown]
# Four tasks, three legal teams, scores in [0, 1]. Two cells were never run.

# %%
nan = np.nan
scores = np.array(
    [
        [0.50, 1.00, 0.25],
        [0.75, 0.50, nan],
        [nan, 0.25, 0.75],
        [1.00, 0.00, 0.50],
    ]
)
executed, legal = ~np.isnan(scores), np.ones((4, 3), bool)
route = np.array([1, 0, 2, 1])

low, high = cj.routing.regret_bounds(scores, executed, legal, route)
print("regret of the router, task by task:", [f"[{a:.2f}, {b:.2f}]" for a, b in zip(low, high, strict=True)])
assert low.tolist() == [0.0, 0.0, 0.0, 1.0]
assert high.tolist() == [0.0, 0.25, 0.25, 1.0]

# %% [markdown]
# Task 1: the routed team has 0.75; the one that was not run could have anything up to 1, so regret is
# somewhere in [0, 0.25]. These ends are sharp: any completion of the table lies inside, and some completion
# reaches each.

# %%
rng = np.random.default_rng(0)
for _ in range(200):
    whole = np.where(executed, scores, rng.random(scores.shape))
    regret = whole.max(axis=1) - whole[np.arange(4), route]
    assert (low - 1e-12 <= regret).all()
    assert (regret <= high + 1e-12).all()

# %% [markdown]
# ## Comparing two routers needs less
#
# Where both choose the same team the difference is 0, even if nobody ever ran it.

# %%
other = np.array([1, 1, 2, 0])
low, high = cj.routing.contrast_bounds(scores, executed, route, other)
assert np.array_equal(low, high)  # identified everywhere
print("route - other:", low.tolist(), "mean", low.mean())

# %% [markdown]
# ## What to run
#
# For contrasts run only where the routers differ; for values what they chose; for regret everything.

# %%
found = cj.routing.plan({"route": route, "other": other}, legal)
print(
    found.contrast_rows,
    "rows tell the contrast,",
    found.value_rows,
    "the values,",
    found.complete_rows,
    "the regret",
)
assert (found.contrast_rows, found.value_rows, found.complete_rows) == (4, 6, 12)

# %% [markdown]
# ## How sure?
#
# Wins, losses and ties of two routers over 300 tasks: the bootstrap distribution of their paired sum is known
# in closed form, no resampling needed.

# %%
assert cj.routing.ternary_bootstrap_interval(68, 7, 225) == (46, 77)

# %% [markdown]
# Twelve workers in four teams of three so that the sum of pair scores is largest: 15,400 partitions, all
# looked at.

# %%
pairs = rng.random((12, 12))
pairs = pairs + pairs.T
teams = cj.routing.balanced_partition(pairs, 3)
assert sorted(worker for team in teams for worker in team) == list(range(12))
print([list(map(int, team)) for team in teams])
