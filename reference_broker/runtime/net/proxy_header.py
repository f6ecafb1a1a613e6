"""The header of the PROXY protocol, version 2, as a proxy sends it before anything of its client.

      12 octets   1                1                      2        length octets
    +-----------+----------------+----------------------+--------+----------------------------+
    | signature | version, command | family, transport  | length | addresses, then TLVs       |
    +-----------+----------------+----------------------+--------+----------------------------+

Pure: octets in; a header, the number of octets that are missing, or a refusal out. Whoever reads
no more octets than are missing leaves those behind the header to the protocol that follows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from socket import AF_INET, AF_INET6, inet_ntop
from typing import NamedTuple

from reference_broker.core.base.peer import Ends, ProxyHeader
from reference_broker.store.format.checksum import PREFERRED, ChecksumKind, checksum_of

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"

FIXED_BYTES = 16
"""The part that every header has: all up to the length."""

HEADER_BYTES_MAX = 4_096
"""A longer header is refused. Its length field allows 65,551 octets, and the specification wants a
header to fit into the smallest segment, 536; nginx takes 4,096. A TLV that a proxy adds has some
tens of octets, the longest (a host's name, a certificate's) hundreds."""

_V1 = b"PROXY "
_AMQP, _TLS_HANDSHAKE = b"AMQP", b"\x16\x03"
_V2, _LOCAL, _PROXY = 2, 0, 1
_UNSPEC, _INET, _INET6, _UNIX = 0, 1, 2, 3
_STREAM, _DGRAM = 1, 2
_ADDRESS_BYTES = {_INET: 12, _INET6: 36, _UNIX: 216}
"""Octets of a family's addresses, ports included."""

_CRC32C = 3
"""The type of the TLV with the header's checksum."""
_CRC32C_BYTES = 4
_TLV = struct.Struct(">BH")
_ENDS = {_INET: struct.Struct(">4s4sHH"), _INET6: struct.Struct(">16s16sHH")}
_FAMILIES = {_INET: AF_INET, _INET6: AF_INET6}


class BadProxyHeader(ValueError):
    """Octets that are no header, or none that is taken. Its text is the reason, said of the sender:
    close the connection."""


class Incomplete(NamedTuple):
    """The beginning of a header. At least ``missing`` octets more belong to it."""

    missing: int


def parse_proxy_header(data: bytes) -> ProxyHeader | Incomplete:
    """The header in ``data``, which are the first octets of a connection and none that
    :class:`Incomplete` has not asked for.

    Raises :exc:`BadProxyHeader` as soon as the octets can't become a header.
    """
    if not SIGNATURE.startswith(data[: len(SIGNATURE)]):
        return _no_signature(data)
    if len(data) < FIXED_BYTES:
        return Incomplete(FIXED_BYTES - len(data))
    version, command = data[12] >> 4, data[12] & 0x0F
    length = int.from_bytes(data[14:FIXED_BYTES], "big")
    if version != _V2:
        raise BadProxyHeader(f"its PROXY header has version {version}: version 2 is taken")
    if command not in (_LOCAL, _PROXY):
        raise BadProxyHeader(f"its PROXY header has command {command}, which nobody knows")
    if FIXED_BYTES + length > HEADER_BYTES_MAX:
        raise BadProxyHeader(
            f"its PROXY header has {FIXED_BYTES + length} bytes, and at most"
            f" {HEADER_BYTES_MAX} are taken"
        )
    missing = FIXED_BYTES + length - len(data)
    assert missing >= 0, "octets behind the header were read"
    if missing:
        return Incomplete(missing)
    return ProxyHeader() if command == _LOCAL else ProxyHeader(_claimed(data))


def _no_signature(data: bytes) -> Incomplete:
    """Octets that don't begin a header of version 2: the few that may become version 1 are waited
    for, to say so."""
    if data.startswith(_V1):
        raise BadProxyHeader(
            "its PROXY header is version 1, and only version 2 is taken (haproxy: send-proxy-v2)"
        )
    if _V1.startswith(data):
        return Incomplete(len(_V1) - len(data))
    spoken = "AMQP" if data.startswith(_AMQP) else "TLS" if data.startswith(_TLS_HANDSHAKE) else ""
    instead = f", but speaks {spoken}" if spoken else ""
    raise BadProxyHeader(f"it sends no PROXY header{instead}: proxies of --proxy-from have to")


def _claimed(data: bytes) -> Ends | None:
    """The ends in a whole header of a connection that is relayed. ``None`` for a family or a
    transport that is none of TCP's: the specification wants them taken as unknown."""
    family, transport = data[13] >> 4, data[13] & 0x0F
    if family > _UNIX or transport > _DGRAM:
        raise BadProxyHeader(f"its PROXY header has address family 0x{data[13]:02x}, which is none")
    if family == _UNSPEC:
        return None  # nobody says where addresses would end and TLVs begin
    behind = FIXED_BYTES + _ADDRESS_BYTES[family]
    if len(data) < behind:
        raise BadProxyHeader(
            f"its PROXY header has {len(data) - FIXED_BYTES} bytes for its addresses, which take"
            f" {_ADDRESS_BYTES[family]}"
        )
    _check_tlvs(data, behind)
    if transport != _STREAM or family not in _ENDS:
        return None
    source, destination, port, local_port = _ENDS[family].unpack_from(data, FIXED_BYTES)
    kind = _FAMILIES[family]
    return Ends(inet_ntop(kind, source), port, inet_ntop(kind, destination), local_port)


def _check_tlvs(data: bytes, begin: int) -> None:
    """Check that the TLVs end where the header does, and its checksum if there is one. Else they
    are skipped."""
    for kind, start, end in _tlvs(data, begin):
        if kind == _CRC32C and PREFERRED is ChecksumKind.CRC32C:  # else the package is missing
            if end - start != _CRC32C_BYTES:
                raise BadProxyHeader(f"its PROXY header has a checksum of {end - start} bytes")
            zeroed = data[:start] + bytes(_CRC32C_BYTES) + data[end:]
            if checksum_of(ChecksumKind.CRC32C)(zeroed, 0).to_bytes(4, "big") != data[start:end]:
                raise BadProxyHeader("the checksum of its PROXY header is wrong")


def _tlvs(data: bytes, at: int) -> Iterator[tuple[int, int, int]]:
    """Type, start and end of each value."""
    while at < len(data):
        start = at + _TLV.size
        if start <= len(data):
            kind, length = _TLV.unpack_from(data, at)
            at = start + length
        if start > len(data) or at > len(data):
            raise BadProxyHeader("its PROXY header ends in the middle of a TLV")
        yield kind, start, at
