"""The data folder of a simulated node: what is left of a process when the next one starts."""

from __future__ import annotations

from dataclasses import dataclass

from reference_broker.cluster.membership.joining import FolderMark


@dataclass(slots=True)
class Folder:
    """``run`` is that of the last process that has opened it."""

    mark: FolderMark | None = None
    run: int = 0
