"""PROXY headers, version 2, as a proxy writes them: for tests of who reads them."""

from __future__ import annotations

import struct
from ipaddress import ip_address

from crc32c import crc32c

from reference_broker.core.base.peer import Ends

LOCAL, RELAYED = 0x20, 0x21
"""The octet of version 2 and a command: a health check, and a client's connection."""
TCP4, TCP6 = 0x11, 0x21
"""The octet of an address family and STREAM."""

_SIGNATURE = bytes.fromhex("0d0a0d0a000d0a515549540a")
_CRC32C = 3


def tlv(kind: int, value: bytes) -> bytes:
    """One TLV."""
    return struct.pack(">BH", kind, len(value)) + value


def header(command: int, family: int, block: bytes) -> bytes:
    """A header of any octets: ``block`` is all that follows its length."""
    return _SIGNATURE + struct.pack(">BBH", command, family, len(block)) + block


def relayed(ends: Ends, *tlvs: bytes, checksum: bool = False) -> bytes:
    """The header of a client's connection between ``ends``, with ``tlvs`` behind, and the checksum
    in the last one if it is wanted."""
    source, destination = ip_address(ends.host), ip_address(ends.local_host)
    ports = struct.pack(">HH", ends.port, ends.local_port)
    block = source.packed + destination.packed + ports + b"".join(tlvs)
    family = TCP4 if source.version == 4 else TCP6
    if not checksum:
        return header(RELAYED, family, block)
    zeroed = header(RELAYED, family, block + tlv(_CRC32C, bytes(4)))
    return zeroed[:-4] + struct.pack(">I", crc32c(zeroed))


def health_check() -> bytes:
    """The header of a connection that the proxy makes for itself."""
    return header(LOCAL, 0, b"")
