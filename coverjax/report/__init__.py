"""Tables, figures and summary documents made of curves."""
