"""Parking lots: tools for a person, work by the clock, and alerts.

    link            the broker, with what is known of its lots; a deadline for each step
    listing         the lots, and how many messages lie in each
    choice          which messages: by id, reason, age, header, attempts, a condition (``where/``)
    reading         a lot, once, in order, in bounded windows
    looking         its first messages, and counts of what lies there
    archive/        into a file, and back
    replay/         back to work, with changes if need be
    moving          to another queue, as it is
    purging         to nowhere
    clock/          replay and archive by the clock, by one process at a time
    alerts/         depth and age, told once when crossed and once when over

The law of this room: a message leaves a lot only when the broker has confirmed it elsewhere, when
the disk has it, or when somebody purges. Whatever else happens, it stays, in its place.

    link = LotLink(parse("amqp://broker"), known=known_lots(topology))
    lots = await ls(link, ["delays.parked"])
    seen = await peek(link, "delays.parked", Choice(limit=10))
    report = await replay(link, ReplayRequest("delays.parked"))     # from mqkit.lots.replay
    report = await archive(link, "delays.parked")                   # from mqkit.lots.archive
"""

from typing import TYPE_CHECKING

from mqkit.lazy_names import lazy_names

if TYPE_CHECKING:
    from mqkit.lots.alerts.alert import Alert, AlertKind
    from mqkit.lots.choice import Choice
    from mqkit.lots.clock.run import Lots
    from mqkit.lots.link import LotLink
    from mqkit.lots.listing import ParkingLot, ls
    from mqkit.lots.looking import LotStats, peek, stats
    from mqkit.lots.moving import MoveReport, move
    from mqkit.lots.purging import purge

__all__ = [
    "Alert",
    "AlertKind",
    "Choice",
    "LotLink",
    "LotStats",
    "Lots",
    "MoveReport",
    "ParkingLot",
    "ls",
    "move",
    "peek",
    "purge",
    "stats",
]

__getattr__ = lazy_names(
    __name__,
    {
        "mqkit.lots.alerts.alert": ("Alert", "AlertKind"),
        "mqkit.lots.choice": ("Choice",),
        "mqkit.lots.clock.run": ("Lots",),
        "mqkit.lots.link": ("LotLink",),
        "mqkit.lots.listing": ("ParkingLot", "ls"),
        "mqkit.lots.looking": ("LotStats", "peek", "stats"),
        "mqkit.lots.moving": ("MoveReport", "move"),
        "mqkit.lots.purging": ("purge",),
    },
)
