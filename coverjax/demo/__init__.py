"""The ladder of `coverjax demo`: each rung stands on the one before and ends in one page."""
