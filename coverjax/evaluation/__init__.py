"""Methods against a baseline on the same inputs: gain, who finds what, and how much data that takes."""
