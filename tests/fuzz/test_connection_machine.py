"""Connections of one broker against what a ledger says: random histories, the long run of which is
``make fuzz``."""

from __future__ import annotations

from hypothesis import settings

from fuzz.machine.machine import ConnectionMachine

TestConnections = ConnectionMachine.TestCase
TestConnections.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
