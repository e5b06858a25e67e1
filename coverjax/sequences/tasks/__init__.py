"""The tasks: six families of inputs with declared strategies, and their mixture."""
