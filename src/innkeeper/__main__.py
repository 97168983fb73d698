"""``python -m innkeeper`` is the command ``innkeeper``."""

import sys

from innkeeper.cli import main

sys.exit(main())
