"""Processes with a connection to a port, by the kernel's table."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from interop.spark_sink.writers import established, writers

TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1628 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1001 1
   1: 0100007F:1628 0100007F:9C4A 01 00000000:00000000 00:00000000 00000000     0        0 1002 1
   2: 0100007F:9C4A 0100007F:1628 01 00000000:00000000 00:00000000 00000000     0        0 1003 1
   3: 0100007F:9C4C 0100007F:1628 06 00000000:00000000 00:00000000 00000000     0        0 0 3
   4: 0100007F:9C4E 0100007F:1629 01 00000000:00000000 00:00000000 00000000     0        0 1005 1
"""


def test_only_the_clients_ends_of_open_connections_are_meant() -> None:
    assert established(TABLE, 0x1628) == {"1003"}
    assert established(TABLE, 0x1629) == {"1005"}
    assert established(TABLE, 1) == set()


def test_a_process_is_found_while_it_is_connected() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert writers([os.getpid()], port) == []
        with socket.create_connection(("127.0.0.1", port)):
            assert writers([os.getpid()], port) == [os.getpid()]


def test_a_process_that_has_gone_is_none() -> None:
    gone = int(Path("/proc/sys/kernel/pid_max").read_text()) + 1
    assert writers([gone], 5672) == []
