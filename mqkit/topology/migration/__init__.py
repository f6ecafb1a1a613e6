"""A queue with other arguments: its messages wait in a temporary queue while it is declared again.

    checking     what would be lost, and what a migration is to do; pure
    migration    that, as a value, and as JSON
    names        the temporary queue, and the exchanges around it
    steps        the steps in their order, with every other way between them: a table
    journal      the file that says how far it is; ``progress`` reads it, pure
    session      the broker as the steps see it: one connection, which has the lock
    ways         the exchanges: bind, unbind, switch
    moving       messages from one queue to another, by publish and ack in one commit
    emptying     until the queue is empty, and stays so (``quiet``, pure)
    replacing    delete and declare
    acts         the act of each step
    run          start, go on, abort

Two steps of AMQP, a bind and an unbind, would put what is published between them into both queues.
So messages come by a gate: a fanout exchange that leads to the queue while that is bound to it,
and to the temporary queue (by ``alternate-exchange``) while nothing is. A message is routed either
way, and one bind or unbind is the whole switch:

    exchange --key--> gate --(if bound)--> orders
                        \\--(else)--> orders.migrating.in --> orders.migrating

The law of this room: a message is in a queue at every moment, and in one only.
"""

from typing import TYPE_CHECKING

from mqkit.lazy_names import lazy_names

if TYPE_CHECKING:
    from mqkit.topology.migration.checking import Checked, check_migration
    from mqkit.topology.migration.journal import Journal
    from mqkit.topology.migration.migration import Migration
    from mqkit.topology.migration.report import Outcome, Report
    from mqkit.topology.migration.run import Request, migrate
    from mqkit.topology.migration.stopped import Stopped

__all__ = [
    "Checked",
    "Journal",
    "Migration",
    "Outcome",
    "Report",
    "Request",
    "Stopped",
    "check_migration",
    "migrate",
]

__getattr__ = lazy_names(
    __name__,
    {
        "mqkit.topology.migration.checking": ("Checked", "check_migration"),
        "mqkit.topology.migration.journal": ("Journal",),
        "mqkit.topology.migration.migration": ("Migration",),
        "mqkit.topology.migration.report": ("Outcome", "Report"),
        "mqkit.topology.migration.run": ("Request", "migrate"),
        "mqkit.topology.migration.stopped": ("Stopped",),
    },
)
