"""The AMQP transport of the commands: the one that an application on this machine would take."""

from __future__ import annotations

import os

from mqkit.transport.choice import TRANSPORT_VARIABLE, chosen
from mqkit.transport.seam import Transport


def transport() -> Transport:
    """The one that ``MQKIT_TRANSPORT`` names, or the default.

    Raises :exc:`~mqkit.errors.ConfigurationError` for a name that there is not.
    """
    return chosen(os.environ.get(TRANSPORT_VARIABLE))
