"""The client's log goes to a file for the time of a run."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from mqkit_cli.demo.client_log import LOGGER, logging_to


def test_it_is_in_the_file_and_nowhere_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logger = logging.getLogger(f"{LOGGER}.some.module")
    with logging_to(tmp_path / "log"):
        logger.info("inside")
    logger.warning("outside")
    assert (tmp_path / "log").read_text().endswith(" INFO mqkit.some.module inside\n")
    assert [record.message for record in caplog.records] == ["outside"]
