"""The ``mqkit`` command, and ``python -m mqkit_cli``."""

from __future__ import annotations

import os
import sys
from functools import partial

from mqkit_cli.app import app
from mqkit_cli.errors import run_guarded


def main() -> None:
    """Run the command line of this process, and exit: 0, 1 for any error, or what the command
    documents."""
    _open_closed_streams()
    sys.exit(run_guarded(partial(app, prog_name="mqkit", standalone_mode=False)))


def _open_closed_streams() -> None:
    """``mqkit ... <&-``: Python has no stream then, and a socket could get its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for good


if __name__ == "__main__":
    main()
