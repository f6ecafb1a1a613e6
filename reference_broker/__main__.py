"""``python -m reference_broker``: the broker as a process, with ``mqkit[broker]`` alone.

Its options are those of ``mqkit broker run``. Exits with 0 after SIGTERM or Ctrl-C, and with 1 for
any error, which is one line on stderr.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial

from mqkit.extras import advice
from reference_broker.service.failure import EXIT_ERROR, TRACEBACK_VARIABLE, in_words
from reference_broker.service.streams import give_up_stdout, open_closed_streams

NAME = "reference_broker"
EXTRA = "broker"


def main(words: Sequence[str]) -> int:
    """Run a broker with these options; the exit code. Raises :exc:`SystemExit` for ``--help``."""
    open_closed_streams()
    try:
        _program(words)()
        sys.stdout.flush()
    except BrokenPipeError:
        give_up_stdout()
        return EXIT_ERROR
    except KeyboardInterrupt:
        return _say("interrupted")
    except ModuleNotFoundError as missing:
        line = advice(missing, EXTRA)
        if line is None:
            raise
        return _say(line)
    except Exception as error:  # noqa: BLE001 - the last place before a traceback
        if os.environ.get(TRACEBACK_VARIABLE):
            traceback.print_exc()
        return _say(in_words(error, EXTRA))
    return 0


def _program(words: Sequence[str]) -> Callable[[], None]:
    """The function that runs a broker with these options."""
    from reference_broker.service.command_line import parse

    options = parse(words)  # before the rest is loaded: a mistyped option is told at once
    from reference_broker.service.process import run

    return partial(run, options, NAME)


def _say(message: str) -> int:
    sys.stderr.write(f"{NAME}: {message}\n")
    return EXIT_ERROR


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
