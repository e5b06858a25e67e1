"""Write a fitted model in half precision, as it comes with the package.

python -m benchmarks.ship_fitted model.npz coverjax/sequences/fitted/list_summation.npz
"""

import sys

from coverjax.sequences.language_model import LanguageModel


def main() -> None:
    """Read the one, write the other."""
    LanguageModel.read(sys.argv[1]).save(sys.argv[2], dtype="float16")


if __name__ == "__main__":
    main()
