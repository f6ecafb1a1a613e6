"""The ``mqkit`` command, and ``python -m mqkit_cli``."""

from __future__ import annotations

import sys
from functools import partial

from mqkit_cli.app import app
from mqkit_cli.errors import run_guarded


def main() -> None:
    """Run the command line of this process, and exit: 0, 1 for any error, or what the command
    documents."""
    sys.exit(run_guarded(partial(app, prog_name="mqkit", standalone_mode=False)))


if __name__ == "__main__":
    main()
