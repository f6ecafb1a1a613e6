"""Spark's processes: the JVM below this process, and the Python workers below the JVM."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from mqkit_bench.contestant import TICKS_PER_S

JVM = "java"


@dataclass(frozen=True, slots=True)
class CpuSeconds:
    """User and system time so far, of the JVM and of the Python processes below it. Of those that
    have ended, only as far as a parent has waited for them; ``running`` are the ids of the others.
    """

    jvm: float
    python: float
    running: frozenset[int] = frozenset()

    def python_since(self, before: CpuSeconds) -> float | None:
        """The Python processes' time from ``before`` to this; ``None`` where one has ended
        meanwhile, and may have taken its account with it."""
        return self.python - before.python if before.running <= self.running else None


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    parent: int
    command: str
    own_s: float
    ended_children_s: float


def cpu_seconds(below: int | None = None) -> CpuSeconds:
    """The account of the kernel, of what is below the process ``below`` (this one by default). Of a
    process that ends, its parent has the time when it has waited for it."""
    jvm = python = 0.0
    processes = _below(below or os.getpid())
    for process in processes:
        if process.command == JVM:
            jvm += process.own_s
            python += process.ended_children_s
        else:
            python += process.own_s + process.ended_children_s
    return CpuSeconds(jvm, python, frozenset(process.pid for process in processes))


def peak_worker_mib(below: int | None = None) -> float:
    """The most memory (RSS) that any Python process below the JVM has ever had, of those that run
    now below the process ``below`` (this one by default); 0 when there is none."""
    processes = _below(below or os.getpid())
    peaks = [_peak_mib(process.pid) for process in processes if process.command != JVM]
    return max(peaks, default=0.0)


def _below(pid: int) -> list[_Process]:
    """The JVMs that ``pid`` started, with all below them."""
    children: dict[int, list[_Process]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (process := _process(int(entry.name))) is not None:
            children.setdefault(process.parent, []).append(process)
    found: list[_Process] = []
    waiting = [each for each in _all_below(pid, children) if each.command == JVM]
    for jvm in waiting:
        found += [jvm, *_all_below(jvm.pid, children)]
    return found


def _all_below(pid: int, children: dict[int, list[_Process]]) -> list[_Process]:
    found = []
    waiting = list(children.get(pid, ()))
    while waiting:
        process = waiting.pop()
        found.append(process)
        waiting += children.get(process.pid, ())
    return found


def _process(pid: int) -> _Process | None:
    try:
        head, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = rest.split()
    own, ended = (int(fields[at]) + int(fields[at + 1]) for at in (11, 13))
    return _Process(
        pid, int(fields[1]), head.partition("(")[2], own / TICKS_PER_S, ended / TICKS_PER_S
    )


def _peak_mib(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), 0.0)
