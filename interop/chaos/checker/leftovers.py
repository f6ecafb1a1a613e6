"""The law of the end: nothing of the app is left, and nothing was forgotten on the way."""

from __future__ import annotations

from interop.chaos.checker.history import History
from interop.chaos.checker.verdict import Verdict

NOTHING_LEFT = "nothing of the app is left after its end"

FORGOTTEN = (
    "was never awaited",
    "was destroyed but it is pending",
    "exception was never retrieved",
    "Unclosed",
    "unclosed",
    "Exception ignored in",
)
"""Parts of lines by which Python tells of tasks, coroutines and sockets that nobody has ended."""


def nothing_is_left(history: History) -> Verdict:
    """No descriptor, task, thread or connection, and no word of forgotten ones on stderr."""
    verdict = Verdict(NOTHING_LEFT)
    verdict.judged = 1
    if history.left is None:
        verdict.offend("the app did not come to its end")
    else:
        for what, names in history.left.items():
            for name in names:
                verdict.offend(f"left of the app, {what}: {name}")
    if history.links_left:
        verdict.offend(f"{history.links_left} connections of the app were open after its end")
    if history.exit_code != 0:
        verdict.offend(f"the app's process ended with {history.exit_code}")
    for line in history.noise:
        if any(part in line for part in FORGOTTEN):
            verdict.offend(f"on stderr: {line.strip()}")
    return verdict
