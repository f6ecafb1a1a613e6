"""All laws over the facts of one folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from interop.chaos.checker import calls, leftovers, messages, recovery
from interop.chaos.checker.history import History
from interop.chaos.checker.verdict import Verdict
from interop.chaos.facts import APPLICATION, REMAINS, RUN, STDERR, read

LAWS: tuple[Callable[[History], Verdict], ...] = (
    messages.was_at_the_broker,
    messages.was_refused,
    messages.is_kept,
    messages.ends_in_time,
    calls.is_its_own,
    calls.ends_in_time,
    calls.begins_before_the_deadline,
    leftovers.nothing_is_left,
    recovery.goes_on,
)


def history_in(folder: Path) -> History:
    """The history that the facts of ``folder`` tell."""
    history = History()
    for name in (APPLICATION, RUN, REMAINS):
        history.add_all(read(folder / name))
    stderr = folder / STDERR
    if stderr.exists():
        history.noise = stderr.read_text(errors="replace").splitlines()
    return history


def judge(history: History) -> list[Verdict]:
    """The verdict of each law, in their order."""
    return [law(history) for law in LAWS]
