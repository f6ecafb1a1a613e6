"""The AMQP transport of the commands: the one that an application on this machine would take."""

from __future__ import annotations

import os

from mqkit.transport.choice import DEFAULT, TRANSPORT_VARIABLE, chosen
from mqkit.transport.native import NativeTransport
from mqkit.transport.seam import Transport


def transport() -> Transport:
    """The one that ``MQKIT_TRANSPORT`` names, or the default.

    Raises :exc:`~mqkit.errors.ConfigurationError` for a name that there is not.
    """
    return chosen(os.environ.get(TRANSPORT_VARIABLE))


def exact_transport() -> Transport:
    """As :func:`transport`; mqkit's own keeps headers with their types, for messages that are sent
    on or put away."""
    named = os.environ.get(TRANSPORT_VARIABLE) or DEFAULT
    return NativeTransport(exact=True) if named == DEFAULT else chosen(named)
