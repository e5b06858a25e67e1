# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # 1. Coverage in ten minutes
#
# A problem can be solved in several ways. We sample a model a few times and write down, for every sample, the
# *set* of strategies it used. How many of the strategies will the next K samples have covered?

# %%
import itertools

import matplotlib.pyplot as plt
import numpy as np

import coverjax as cj

# %% [markdown]
# Two inputs, six samples each, three declared strategies. A sample may use two strategies at once, or none
# that counts (it failed to parse, it was wrong in kind): that one is kept, because it was paid for.

# %%
matches = np.array(
    [
        [[1, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 0]],
        [[0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1], [1, 0, 0]],
    ]
)  # [inputs, samples, strategies]
log = cj.SampleLog.from_arrays(matches)
curves = cj.estimate(log)
curves.coverage.round(3)

# %% [markdown]
# Row 0 ends at 2/3: nobody ever used the third strategy there. The numbers are not a simulation: C(k) is the
# average over *every* k-subset of the six samples, in closed form. Here is the same by brute force.


# %%
def by_hand(one, k):
    subsets = list(itertools.combinations(range(len(one)), k))
    return np.mean([one[list(subset)].any(axis=0).mean() for subset in subsets])


brute = np.array([[by_hand(one, k) for k in range(1, 7)] for one in matches])
assert np.allclose(curves.coverage, brute, atol=1e-15)

# %% [markdown]
# ## More than one curve
#
# * `novelty_count`: the expected number of new strategies in sample k; the differences of the curve above.
# * `novelty_any`: the chance that sample k brings anything new. A sample with two new strategies counts once.
# * `full_coverage`: the chance that k samples hold everything.
# * `time_to_coverage(curves, tau)`: how many samples until the fraction tau is found, "never" included.

# %%
steps = np.diff(curves.distinct, axis=1, prepend=0.0)
assert np.allclose(curves.novelty_count, steps)
assert (curves.novelty_any <= curves.novelty_count + 1e-15).all()
curves.full_coverage.round(3)

# %%
half = cj.time_to_coverage(cj.estimate(log, include="all"), 0.5)
print("samples until half is found, input by input:", half.mean.round(2), "never:", half.censored.round(2))
assert half.need.tolist() == [2, 2]  # half of three strategies is two of them

# %% [markdown]
# ## How sure is that?
#
# The interval is **over inputs**: another set of inputs like these would give a mean in such a range. With
# two inputs it is nearly empty of meaning, and says so by its width. Here is a log with forty.

# %%
rng = np.random.default_rng(0)
shares = rng.dirichlet([1.0, 0.6, 0.3, 0.2], size=40)
drawn = np.stack([rng.choice(4, 24, p=row) for row in shares])
many = cj.SampleLog.from_arrays(drawn[..., None] == np.arange(4))
found = cj.estimate(many)
low, high = cj.interval(found)
print(
    f"C(24) = {found.mean().coverage[0, -1]:.3f}, 95 % interval over 40 inputs: {low[-1]:.3f} to "
    f"{high[-1]:.3f}"
)

# %% [markdown]
# We know the truth here, since we made the law: does the interval hold it?

# %%
truth = cj.exact(cj.IID(), cj.OutcomeLaw.from_probs(shares), 24)
assert low[-1] < truth.mean().coverage[0, -1] < high[-1]
_, ax = plt.subplots()
_ = cj.plot_coverage({"estimated from 24 samples": found, "the law itself": truth}, ax)
# %% [markdown]
# ## One number
#
# AUC(K) is the plain mean of C(1), ..., C(K). (Some papers use the trapezoid rule, which is another number.)

# %%
assert np.allclose(cj.auc(found), found.coverage.mean(axis=1))
print("mean AUC:", cj.auc(found).mean().round(3))

# %% [markdown]
# Next: [policies and their ceiling](2_policies_and_their_ceiling.py), or [your own logs](5_your_own_logs.py).
