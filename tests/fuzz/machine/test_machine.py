"""Connections of one broker against what a ledger says: random histories, the long run of which is
``make fuzz`` (MQKIT_FUZZ_EXAMPLES)."""

from __future__ import annotations

import os

from hypothesis import settings

from fuzz.machine.machine import ConnectionMachine

EXAMPLES = int(os.environ.get("MQKIT_FUZZ_EXAMPLES", "60"))

TestConnections = ConnectionMachine.TestCase
TestConnections.settings = settings(max_examples=EXAMPLES, stateful_step_count=40, deadline=None)
