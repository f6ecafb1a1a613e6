"""Process ids, which rabbitmqctl has for connections and channels and HTTP has not.

Test suites take one from ``list_connections`` and give it to ``close_connection``. So a connection
has one that is made of its name: ``<rabbit@host.1.N.0>``.
"""

from __future__ import annotations

import re
from zlib import crc32

from mqkit_cli.ctl.exits import UNAVAILABLE, CtlError

_PID = re.compile(r"<.+\.\d+\.\d+\.\d+>")


def connection_pid(node: str, connection_name: str) -> str:
    return f"<{node}.1.{crc32(connection_name.encode())}.0>"


def channel_pid(node: str, connection_name: str, number: int) -> str:
    return f"<{node}.1.{crc32(connection_name.encode())}.{number}>"


def check(pid: str) -> None:
    """Raises :exc:`CtlError` for what can't be one."""
    if not _PID.fullmatch(pid):
        raise CtlError(UNAVAILABLE, f'Error:\n{{:invalid_pid_syntax, "{pid}"}}')
