"""Unbiased curves from logs."""
