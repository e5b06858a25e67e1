# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # 7. Corrections to competence
#
# How many reviewed corrections until a teachable system answers a fixed question as it should? Not pass or
# fail: a curve for each concept.

# %%
import matplotlib.pyplot as plt
import numpy as np

import coverjax as cj

# %%
cases = [
    {
        "concept": "tide",
        "curriculum": ["A tide is a rise of the sea.", "The moon pulls a tide.", "A tide comes twice daily."],
        "probe": "What is a tide?",
        "expected_tokens": ["sea", "moon", "daily"],
    },
    {
        "concept": "yeast",
        "curriculum": ["A yeast is a fungus.", "A yeast eats sugar.", "A yeast breathes gas into dough."],
        "probe": "What is a yeast?",
        "expected_tokens": ["fungus", "sugar", "dough"],
    },
]
assert all(len(case["expected_tokens"]) == len(case["curriculum"]) for case in cases)

# %% [markdown]
# Any object with `teach(text)` and `probe(text)` is a system. For k = 0..n a *fresh* one is built, taught the
# first k corrections, and asked. Then all of it again: the replay must give the same `trace_hash`.


# %%
class Parrot:
    """Says the last two things it was taught."""

    def __init__(self):
        self.heard = []

    def teach(self, text):
        self.heard.append(text)
        return True

    def probe(self, text):
        return {"surface": " ".join(self.heard[-2:]), "trace_hash": repr(self.heard)}


kept = cj.corrections.run(cases, "memory", workers=0)
short = cj.corrections.run(cases, Parrot, workers=0)
print("memory:", kept.hits.tolist(), " parrot:", short.hits.tolist())

# %% [markdown]
# The state after k corrections is a snapshot and not a union: a curve may stop, or fall. The parrot never
# holds all three; "never" is not a number, and is not left out either.

# %%
assert kept.hits.tolist() == [[0, 1, 2, 3], [0, 1, 2, 3]]
assert short.hits.tolist() == [[0, 1, 2, 2], [0, 1, 2, 2]]
assert kept.saturation.tolist() == [3, 3]
assert np.isnan(short.saturation).all()

assert kept.replay_determinism == short.replay_determinism == 1.0

# %% [markdown]
# On the command line, for systems of your own:
#
# ```sh
# coverjax corrections check cases.jsonl
# coverjax corrections run cases.jsonl --system mypkg.mod:MySystem --out mine
# coverjax corrections compare mine other
# ```
#
# A memory that forgets a fifth of what it holds at every later turn, over many concepts:

# %%
words = ["amber", "basil", "cedar", "delta", "ember", "fjord", "grove", "heath", "islet", "jetty"]
many = [
    {
        "concept": name,
        "curriculum": [f"The {name} has a {name[0]}{other}x." for other in words if other != name][:6],
        "probe": f"Tell me of the {name}",
        "expected_tokens": [f"{name[0]}{other}x" for other in words if other != name][:6],
    }
    for name in words
]
lossy = cj.corrections.run(many, "noisy-memory", settings={"forgetting": 0.2, "seed": 0}, workers=0)
whole = cj.corrections.run(many, "memory", workers=0)
found = lossy.hits.mean(axis=0) / 6
expected = np.array([sum(0.8**j for j in range(k)) for k in range(7)]) / 6
print("forgetful memory:", found.round(2).tolist(), "expected", expected.round(2).tolist())
assert np.abs(found - expected).max() < 0.2
assert (whole.hits[:, -1] == 6).all()
_, ax = plt.subplots()
ax.plot(range(7), whole.hits.mean(axis=0) / 6, label="memory")
ax.plot(range(7), found, label="forgets a fifth at every turn")
ax.set_xlabel("corrections taught, k")
ax.set_ylabel("fraction of the expected tokens")
_ = ax.legend()
