"""The laws that a run is held to, one checker each."""

from reference_broker.simulation.checkers.acks import AckChecker
from reference_broker.simulation.checkers.checker import Checker, Violation
from reference_broker.simulation.checkers.durability import DurabilityChecker
from reference_broker.simulation.checkers.order import OrderChecker
from reference_broker.simulation.checkers.prefetch import PrefetchChecker
from reference_broker.simulation.checkers.redelivered import RedeliveredChecker

__all__ = [
    "AckChecker",
    "Checker",
    "DurabilityChecker",
    "OrderChecker",
    "PrefetchChecker",
    "RedeliveredChecker",
    "Violation",
]
