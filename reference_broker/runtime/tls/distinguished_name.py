r"""Distinguished names as RabbitMQ writes them (``rabbit_cert_info``), since they are user names.

    C=DE, O="Acme, Inc", CN=client   ->   CN=client,O=Acme\, Inc,C=DE

The last part comes first, as in RFC 4514. Octets that are not printable ASCII are ``\C3`` and so
on.
"""

from __future__ import annotations

from cryptography.x509 import Name, RelativeDistinguishedName

_TYPES = {
    "2.5.4.3": "CN",
    "2.5.4.4": "SN",
    "2.5.4.5": "SERIALNUMBER",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "2.5.4.12": "TITLE",
    "2.5.4.42": "GIVENNAME",
    "2.5.4.43": "INITIALS",
    "2.5.4.44": "GENERATIONQUALIFIER",
    "2.5.4.65": "PSEUDONYM",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
    "1.2.840.113549.1.9.1": "EMAILADDRESS",
}
"""Attribute types that RabbitMQ knows by name; any other is written by its number."""

_ESCAPED = b',+"\\<>;'


def distinguished_name(name: Name) -> str:
    """The whole name as RabbitMQ writes it, the last part first."""
    return ",".join(_part(each) for each in reversed(list(name.rdns)))


def _part(part: RelativeDistinguishedName) -> str:
    return "+".join(_attribute(each.oid.dotted_string, each.value) for each in part)


def _attribute(number: str, value: str | bytes) -> str:
    shown = escaped(value) if isinstance(value, str) else f"#{value.hex().upper()}"
    return f"{_TYPES.get(number, number)}={shown}"


def escaped(value: str) -> str:
    """The value of an attribute, with a backslash before each character that would mean something
    else."""
    octets = value.encode()
    last = len(octets) - 1
    return "".join(_escaped(octet, index, last) for index, octet in enumerate(octets))


def _escaped(octet: int, index: int, last: int) -> str:
    character = chr(octet)
    if octet < 0x20 or octet > 0x7E:
        return f"\\{octet:02X}"
    special = octet in _ESCAPED or (character == "#" and index == 0)
    if special or (character == " " and index in (0, last)):
        return "\\" + character
    return character
