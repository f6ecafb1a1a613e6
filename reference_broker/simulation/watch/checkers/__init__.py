"""The laws that a run is held to, one checker each."""

from reference_broker.simulation.watch.checkers.acks import AckChecker
from reference_broker.simulation.watch.checkers.books import BooksChecker
from reference_broker.simulation.watch.checkers.channel_books import ChannelBooksChecker
from reference_broker.simulation.watch.checkers.checker import Checker, Violation
from reference_broker.simulation.watch.checkers.definitions import DefinitionsChecker
from reference_broker.simulation.watch.checkers.disk_use import DiskUseChecker
from reference_broker.simulation.watch.checkers.durability import DurabilityChecker
from reference_broker.simulation.watch.checkers.expiry import ExpiryChecker
from reference_broker.simulation.watch.checkers.false_alarm import FalseAlarmChecker
from reference_broker.simulation.watch.checkers.order import OrderChecker
from reference_broker.simulation.watch.checkers.prefetch import PrefetchChecker
from reference_broker.simulation.watch.checkers.priority import PriorityChecker
from reference_broker.simulation.watch.checkers.rebuild import RebuildChecker
from reference_broker.simulation.watch.checkers.redelivered import RedeliveredChecker
from reference_broker.simulation.watch.checkers.x_death import XDeathChecker

__all__ = [
    "AckChecker",
    "BooksChecker",
    "ChannelBooksChecker",
    "Checker",
    "DefinitionsChecker",
    "DiskUseChecker",
    "DurabilityChecker",
    "ExpiryChecker",
    "FalseAlarmChecker",
    "OrderChecker",
    "PrefetchChecker",
    "PriorityChecker",
    "RebuildChecker",
    "RedeliveredChecker",
    "Violation",
    "XDeathChecker",
]
