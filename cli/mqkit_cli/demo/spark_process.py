"""The Spark job as a process of its own: its JVM's noise goes to a log, and none of it outlives us.

Where Spark can't run on this machine, :func:`why_not` says so in a line, and the demo goes on.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from mqkit_cli.demo.process_group import end_group
from mqkit_cli.demo.scenario import Item
from mqkit_cli.errors import CommandError

JAVA_VERSION_MIN = 17
"""Spark 4 runs on Java 17 and later."""

JAVA_ANSWER_TIMEOUT_S = 10.0
JOB_TIMEOUT_S = 180.0
"""A JVM's start, a write of all records and a stop: some ten seconds on two idle cores."""

STOP_TIMEOUT_S = 5.0
PACKAGES = ("pyspark", "pyarrow", "pandas")


async def why_not() -> str | None:
    """The reason why a Spark job can't run here; ``None`` if it can."""
    for package in PACKAGES:
        if importlib.util.find_spec(package) is None:
            return f"{package} is not installed (pip install 'mqkit[spark]')"
    home = os.environ.get("JAVA_HOME")
    # As Spark's own scripts choose it.
    java = shutil.which(os.path.join(home, "bin", "java") if home else "java")
    if java is None:
        return f"there is no Java on this machine (Spark needs {JAVA_VERSION_MIN} or later)"
    version = java_version(await _answer(java))
    if version is not None and version < JAVA_VERSION_MIN:
        return f"{java} is Java {version} (Spark needs {JAVA_VERSION_MIN} or later)"
    return None


def java_version(words: str) -> int | None:
    """The major version in what ``java -version`` says; ``None`` if it says none."""
    found = re.search(r'version "(?:1\.)?(\d+)', words)
    return int(found[1]) if found else None


def write_rows(items: Sequence[Item], path: Path) -> None:
    """The DataFrame that the job reads: a line for each message."""
    with path.open("w") as file:
        for item in items:
            body = item.message.body.decode()
            file.write(json.dumps({"message_id": item.message_id, "body": body}) + "\n")


async def run_job(rows: Path, queue: str, url: str, log: Path) -> int:
    """Run the job over ``rows``; how many messages the broker confirmed to it.

    Raises :exc:`~mqkit_cli.errors.CommandError` if the job fails; ``log`` has its words.
    """
    command = [sys.executable, "-m", "mqkit_cli.demo.spark_job", str(rows), queue]
    with log.open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "MQKIT_URL": url},
            start_new_session=True,
        )
    try:
        async with asyncio.timeout(JOB_TIMEOUT_S):
            output, _ = await process.communicate()
    except TimeoutError:
        raise CommandError(f"the Spark job was not done in {JOB_TIMEOUT_S:g} s ({log})") from None
    finally:
        await end_group(process, STOP_TIMEOUT_S)
    lines = output.decode(errors="replace").strip().splitlines()
    if process.returncode or not lines:
        raise CommandError(f"the Spark job failed: {_last_words(log)} ({log})")
    return int(json.loads(lines[-1])["confirmed"])


async def _answer(java: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *(java, "-version"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(JAVA_ANSWER_TIMEOUT_S):
            return (await process.communicate())[0].decode(errors="replace")
    except TimeoutError:
        return ""
    finally:
        await end_group(process, STOP_TIMEOUT_S)


def _last_words(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else "it said nothing"
