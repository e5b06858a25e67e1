"""Numerics, checks and random streams without a word of the domain."""
