"""``python -m coverjax``."""

import sys

from coverjax.cli.main import main

sys.exit(main())
