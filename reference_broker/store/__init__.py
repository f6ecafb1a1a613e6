"""The segment store: one log per broker that survives a crash, and what it takes to read it back.

Formats and decisions only; files are touched by :mod:`reference_broker.runtime.disk.disk`.
"""

from reference_broker.store.disk.ports import Disk, Operation
from reference_broker.store.liveness.batch import Batch
from reference_broker.store.log.log import Log
from reference_broker.store.start.opening import open_log
from reference_broker.store.start.recovered import DamageReport, RecoveredLog

__all__ = [
    "Batch",
    "DamageReport",
    "Disk",
    "Log",
    "Operation",
    "RecoveredLog",
    "open_log",
]
