# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # 5. Your own logs
#
# From a file with one line a sample to curves, intervals, a comparison and a picture.

# %%
import json
import pathlib
import tempfile

import matplotlib.pyplot as plt
import numpy as np

import coverjax as cj

folder = pathlib.Path(tempfile.mkdtemp())

# %% [markdown]
# Two methods on 30 problems, 12 samples each. `strategies` is a list (in CSV `a|b`); an empty one is a sample
# that matched nothing. `valid` and `correct` are optional, and so are `trial`, `score`, `latent`, `labeler`.

# %%
rng = np.random.default_rng(0)
NAMES = ["algebra", "casework", "geometry", "induction"]
with (folder / "log.jsonl").open("w") as file:
    for problem in range(30):
        law = rng.dirichlet([2.0, 1.0, 0.5, 0.3])
        for method, heat in (("cold", 2.0), ("warm", 0.7)):
            p = law**heat / (law**heat).sum()
            for sample in range(12):
                used = [NAMES[rng.choice(4, p=p)]] if rng.random() < 0.93 else []
                line = {"input": f"p{problem}", "method": method, "sample": sample, "strategies": used}
                file.write(json.dumps(line | {"correct": bool(used and rng.random() < 0.6)}) + "\n")
(folder / "declared.csv").write_text("strategy\n" + "\n".join(NAMES) + "\n")

log = cj.read_log(str(folder / "log.jsonl"), declared=str(folder / "declared.csv"))
curves = cj.estimate(log)  # a log with a `method` column gives a dict
assert set(curves) == {"cold", "warm"}

# %% [markdown]
# The same on the command line, with a page, figures and tables:
#
# ```sh
# coverjax estimate log.jsonl --declared declared.csv --out report
# ```

# %%
for name, line in curves.items():
    low, high = cj.interval(line)
    mean = line.mean().coverage[0, -1]
    print(
        f"{name}: 12 samples cover {mean:.1%}, 95 % interval over 30 problems {low[-1]:.1%} to {high[-1]:.1%}"
    )
    assert low[-1] < mean < high[-1]
_, ax = plt.subplots()
_ = cj.plot_coverage(curves, ax)
# %% [markdown]
# ## Which is better, and where?
#
# The difference is paired over the problems that both have, with one band over all budgets at once.

# %%
difference = cj.compare(curves["warm"], curves["cold"])
print("warm covers more at k =", difference.wins.tolist())
assert len(difference.losses) == 0
assert 12 in difference.wins

# %% [markdown]
# ## Coverage of what is correct
#
# The labels of other samples are emptied, the samples stay: they were paid for.

# %%
correct = cj.estimate(log, coverage="correct")
assert (correct["warm"].coverage <= curves["warm"].coverage + 1e-12).all()

# %% [markdown]
# ## See it
#
# One row a problem, one column a sample; a dot where a strategy appears for the first time.

# %%
_, ax = plt.subplots(figsize=(6.4, 6.8), layout="constrained")
_ = cj.plot_barcode(log.by_method()["warm"], ax)
# %% [markdown]
# ## What it refuses
#
# A budget beyond the samples is extrapolation, not estimation; a broken line is named.

# %%
try:
    cj.estimate(log, budget=13)
except cj.InputError as error:
    print(error)
    assert "must be at most 12" in str(error)

with (folder / "log.jsonl").open("a") as file:
    file.write('{"input": "p0", "method": "cold", "sample": 0, "strategies": [], "correct": false}\n')
try:
    cj.read_log(str(folder / "log.jsonl"))
except cj.InputError as error:
    print(str(error).replace(str(folder), "..."))
    assert "log.jsonl:721" in str(error)
