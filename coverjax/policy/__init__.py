"""Policies: how the next draw is chosen, what they see while running, what they know beforehand."""
