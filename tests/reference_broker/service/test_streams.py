"""Standard streams that were closed, or are given up."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, sys
from reference_broker.service.streams import *
open_closed_streams()
print("out"); sys.stdout.flush()
print("err", file=sys.stderr); sys.stderr.flush()
sys.stdin.read()
"""


def run(shell: str, program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", f"'{sys.executable}' -c \"$PROGRAM\" {shell}"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={"PROGRAM": program, "PYTHONPATH": ":".join(sys.path)},
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("closed", "out", "err"),
    [("<&-", "out\n", "err\n"), (">&-", "", "err\n"), ("2>&-", "out\n", "")],
)
def test_a_stream_that_was_closed_is_empty(closed: str, out: str, err: str) -> None:
    done = run(closed, PROGRAM)
    assert (done.returncode, done.stdout, done.stderr) == (0, out, err)


def test_a_stream_that_was_given_up_says_nothing_more() -> None:
    given_up = PROGRAM.replace('print("out', 'give_up_stdout(); give_up_stderr()\nprint("out')
    done = run("", given_up + "os.write(2, b'C')\nraise ValueError\n")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
