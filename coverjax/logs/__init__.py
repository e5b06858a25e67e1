"""What was sampled: labelled samples, count tables, and how to read them."""
