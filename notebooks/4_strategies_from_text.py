# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # 4. Strategies from text
#
# Nobody labels anything here. A small transformer has read sums of lists, solved by four strategies in a
# mixture. It is split into a router r(z|x) and a generator g(y|x,z) by reading more of the same text; then we
# choose z on purpose, read what it writes, and let a validator say which strategy that was.
#
# The base model comes with the package; the split is made now, in one to three minutes.

# %%
import numpy as np

import coverjax as cj
from coverjax.sequences.studies import quick_study

task = cj.sequences.task("list_summation")
x = task.sample_input(np.random.default_rng(0))
print("strategies:", task.strategies(x))
for strategy in task.strategies(x):
    print(f"{strategy:16}", task.render(x, strategy))

# %% [markdown]
# The validator credits exactly the strategies that write a trace.

# %%
for strategy in task.strategies(x):
    result = task.validate_y_text(x, task.render(x, strategy))
    assert result.answer_correct
    assert strategy in result.strategy_matches

# %%
study = quick_study(0, development=8, test=12, trials=2, samples=8, policies=("no repeat",))
(found,) = study.evaluation.families.values()
print("what each latent mostly writes:", found.main)
print("latents in use:", round(found.effective_latents, 1), " fidelity:", found.fidelity.mean.round(2))

# %% [markdown]
# Latents became strategies, as far as a few minutes go: not one is told what to be, and the split did not
# collapse onto a single one. It began with eight latents and dropped those that the text did not miss; a rare
# strategy may still be written with faults.

# %%
assert not found.collapsed
assert len({name for name in found.main if name != "off-strategy"}) >= 2
assert found.fidelity.mean[0] > 0.5

# %% [markdown]
# What came out is a log like anyone else's, with validity and correctness, and everything before applies to
# it.

# %%
logs = study.exploration.logs
for name, log in logs.items():
    curves = cj.estimate(log, budget=4)
    low, high = cj.interval(curves)
    mean = curves.mean().coverage[0, -1]
    print(f"{name:11} C(4) = {mean:.2f} [{low[-1]:.2f}, {high[-1]:.2f}]  valid {log.valid.mean():.2f}")
    assert 0.0 < mean <= 1.0
    correct = cj.estimate(log, budget=4, coverage="correct")
    assert (correct.coverage <= curves.coverage + 1e-12).all()

# %% [markdown]
# The table W, estimated from forced latents on other inputs, promises a curve before anything is generated.
# The promise of independent draws is easy; what choosing latents brings depends on how pure they are.

# %%
for name, predicted in study.exploration.predicted.items():
    print(f"{name:11} promised C(4) = {predicted.mean().coverage[0, 3]:.2f}")

# %% [markdown]
# Larger models and longer splits: `coverjax sequences fit`, `factorize`, `draw`, `evaluate`, and
# docs/sequences.md.
