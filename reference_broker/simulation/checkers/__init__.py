"""The laws that a run is held to, one checker each."""

from reference_broker.simulation.checkers.acks import AckChecker
from reference_broker.simulation.checkers.books import BooksChecker
from reference_broker.simulation.checkers.checker import Checker, Violation
from reference_broker.simulation.checkers.disk_use import DiskUseChecker
from reference_broker.simulation.checkers.durability import DurabilityChecker
from reference_broker.simulation.checkers.expiry import ExpiryChecker
from reference_broker.simulation.checkers.order import OrderChecker
from reference_broker.simulation.checkers.prefetch import PrefetchChecker
from reference_broker.simulation.checkers.rebuild import RebuildChecker
from reference_broker.simulation.checkers.redelivered import RedeliveredChecker
from reference_broker.simulation.checkers.x_death import XDeathChecker

__all__ = [
    "AckChecker",
    "BooksChecker",
    "Checker",
    "DiskUseChecker",
    "DurabilityChecker",
    "ExpiryChecker",
    "OrderChecker",
    "PrefetchChecker",
    "RebuildChecker",
    "RedeliveredChecker",
    "Violation",
    "XDeathChecker",
]
