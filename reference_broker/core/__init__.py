"""The protocol core. No I/O, no clock, no randomness: inputs and outputs are values.

In: bytes of a connection, ticks, "synced up to P", requests of the management API. Out: bytes for
connections, and records for the log. :mod:`reference_broker.core.broker` wires it together.
"""
