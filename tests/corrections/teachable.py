"""Systems for the tests, found as `teachable:Name`, by worker processes too."""

import os
import random
import time


class Faithful:
    """Says everything that it was taught."""

    def __init__(self):
        self.taught = []

    def teach(self, text):
        self.taught.append(text)
        return True

    def said(self):
        return self.taught

    def probe(self, text):
        surface = " ".join(self.said())
        return {
            "surface": surface,
            "vault_hits": len(self.taught),
            "trace_hash": f"{len(self.taught)}:{surface}",
        }


class IgnoresFirst(Faithful):
    """Takes nothing from the first turn of all."""

    def said(self):
        return self.taught[1:]


class Windowed(Faithful):
    """Only knows its last two turns, but everything after three and six: its curve rises, falls, recovers."""

    def said(self):
        return self.taught if len(self.taught) in (3, 6) else self.taught[-2:]


class Knows(Faithful):
    """Knows one answer before it is taught, and nothing else ever."""

    def said(self):
        return ["red"]


class Mute(Faithful):
    """Never says a word, but proves that it was asked."""

    def said(self):
        return []


class Picky(Faithful):
    """Rejects what mentions blue."""

    def teach(self, text):
        if "blue" in text:
            return False, "no blue here"
        return super().teach(text)


class Restless(Faithful):
    """Answers otherwise each time, once it was taught two things."""

    def probe(self, text):
        answer = super().probe(text)
        return {**answer, "trace_hash": str(random.random())} if len(self.taught) >= 2 else answer


class Hashless(Faithful):
    """Leaves the trace hash empty after one correction."""

    def probe(self, text):
        return {**super().probe(text), "trace_hash": "" if len(self.taught) == 1 else "same"}


class Raises(Faithful):
    """Crashes on the third correction of some concepts."""

    def teach(self, text):
        if "c2 " in text and len(self.taught) == 2:
            raise RuntimeError("no\nroom")
        return super().teach(text)


class Dies(Faithful):
    """Ends its process when it is asked after two corrections of some concepts."""

    def probe(self, text):
        if len(self.taught) == 2 and "c3?" in text:
            os._exit(7)
        return super().probe(text)


class Seeded(Faithful):
    """Says its seed too."""

    def __init__(self, seed=None, prefix="seed"):
        super().__init__()
        self.seed = f"{prefix} {seed}"

    def said(self):
        return [*self.taught, self.seed]


class Chatty(Faithful):
    """Prints while it works."""

    def teach(self, text):
        print("I hear", text)
        return super().teach(text)


class Slow(Faithful):
    """Takes its time, so that a run can be killed in the middle."""

    def probe(self, text):
        time.sleep(0.02)
        return super().probe(text)
