"""The client's log of a run: a file in the run's folder, and no lines between those of the view.
Hundreds of handlers fail on purpose here, and each failure is a log line with a traceback."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOGGER = "mqkit"
FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


@contextmanager
def logging_to(path: Path) -> Iterator[None]:
    """Everything that ``mqkit`` logs within this goes to ``path``, and nowhere else."""
    logger = logging.getLogger(LOGGER)
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter(FORMAT))
    level, propagates = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.propagate = propagates
        logger.removeHandler(handler)
        handler.close()
