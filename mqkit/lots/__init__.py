"""Parking lots: what is done with their messages by the clock, and the alerts about them."""

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
