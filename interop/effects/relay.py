"""``mqkit outbox run``, which says when a window is confirmed and not written down yet."""

from __future__ import annotations

import time
from typing import Any

from interop.effects.moments import HOLD_S, say_in_between
from mqkit.outbox import marking, relay
from mqkit_cli.__main__ import main


def mark(*arguments: Any) -> Any:
    """Hold on for a moment, then write down."""
    if arguments[0]:
        say_in_between()
        time.sleep(HOLD_S)
    return marking.mark(*arguments)


if __name__ == "__main__":
    vars(relay)["mark"] = mark
    main()
