"""Distinguished names, letter by letter as RabbitMQ 3.10.8 logged them for such certificates."""

from __future__ import annotations

import pytest
from cryptography.x509 import Name, NameAttribute, ObjectIdentifier, RelativeDistinguishedName
from cryptography.x509.oid import NameOID as Oid

from reference_broker.runtime.tls.distinguished_name import distinguished_name, escaped


def name(*attributes: tuple[ObjectIdentifier, str]) -> Name:
    return Name([NameAttribute(oid, value) for oid, value in attributes])


PLAIN = name(
    (Oid.COUNTRY_NAME, "DE"),
    (Oid.STATE_OR_PROVINCE_NAME, "Hes"),
    (Oid.LOCALITY_NAME, "FFM"),
    (Oid.ORGANIZATION_NAME, "Acme"),
    (Oid.ORGANIZATIONAL_UNIT_NAME, "Ops"),
    (Oid.COMMON_NAME, "client"),
)
ODD = name(
    (Oid.DOMAIN_COMPONENT, "org"),
    (Oid.DOMAIN_COMPONENT, "acme"),
    (Oid.ORGANIZATION_NAME, ' A, B+C "x" <y>; \\ #z '),
    (Oid.ORGANIZATIONAL_UNIT_NAME, "#lead"),
    (Oid.COMMON_NAME, "Jürgen=ü"),
)
MORE = name(
    (Oid.EMAIL_ADDRESS, "a@b.c"),
    (Oid.SERIAL_NUMBER, "123"),
    (Oid.TITLE, "Dr"),
    (Oid.GIVEN_NAME, "Gi"),
    (Oid.SURNAME, "Su"),
    (Oid.USER_ID, "uid1"),
    (Oid.INITIALS, "GS"),
    (Oid.GENERATION_QUALIFIER, "III"),
    (Oid.DN_QUALIFIER, "dnq"),
    (Oid.PSEUDONYM, "pse"),
    (Oid.STREET_ADDRESS, "street"),
    (Oid.POSTAL_CODE, "1234"),
    (Oid.COMMON_NAME, "one"),
    (Oid.COMMON_NAME, "two"),
)
SEVERAL = Name(
    [
        RelativeDistinguishedName(
            [
                NameAttribute(Oid.ORGANIZATIONAL_UNIT_NAME, "R"),
                NameAttribute(Oid.ORGANIZATION_NAME, "Acme"),
            ]
        ),
        RelativeDistinguishedName([NameAttribute(Oid.COMMON_NAME, "m")]),
    ]
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (PLAIN, "CN=client,OU=Ops,O=Acme,L=FFM,ST=Hes,C=DE"),
        (
            ODD,
            r"CN=J\C3\BCrgen=\C3\BC,OU=\#lead,O=\ A\, B\+C \"x\" \<y\>\; \\ #z\ ,DC=acme,DC=org",
        ),
        (
            MORE,
            "CN=two,CN=one,2.5.4.17=1234,2.5.4.9=street,PSEUDONYM=pse,2.5.4.46=dnq,"
            "GENERATIONQUALIFIER=III,INITIALS=GS,UID=uid1,SN=Su,GIVENNAME=Gi,TITLE=Dr,"
            "SERIALNUMBER=123,EMAILADDRESS=a@b.c",
        ),
        (SEVERAL, "CN=m,OU=R+O=Acme"),
        (Name([]), ""),
    ],
)
def test_a_name(name: Name, text: str) -> None:
    assert distinguished_name(name) == text


def test_control_characters_can_not_break_a_line_of_the_log() -> None:
    assert escaped("a\nb\x7f") == r"a\0Ab\7F"
