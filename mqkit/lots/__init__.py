"""Parking lots: tools for a person, work by the clock, and alerts.

    link            the broker, with what is known of its lots; a deadline for each step
    choice          which messages: by id, reason, age, header, attempts, a condition (``where/``)
    reading         a lot, once, in order, in bounded windows
    archive/        into a file, and back
    replay/         back to work, with changes if need be
    clock/          replay and archive by the clock, by one process at a time
    alerts/         depth and age, told once when crossed and once when over

The law of this room: a message leaves a lot only when the broker has confirmed it elsewhere, when
the disk has it, or when somebody purges. Whatever else happens, it stays, in its place.
"""

from typing import TYPE_CHECKING

from mqkit.lazy_names import lazy_names

if TYPE_CHECKING:
    from mqkit.lots.alerts.alert import Alert, AlertKind
    from mqkit.lots.clock.run import Lots

__all__ = ["Alert", "AlertKind", "Lots"]

__getattr__ = lazy_names(
    __name__,
    {
        "mqkit.lots.alerts.alert": ("Alert", "AlertKind"),
        "mqkit.lots.clock.run": ("Lots",),
    },
)
