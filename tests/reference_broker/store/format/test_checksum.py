from __future__ import annotations

import sys
import zlib

import pytest

from reference_broker.errors import StoreError
from reference_broker.store.format.checksum import PREFERRED, ChecksumKind, checksum_of


def test_crc32c_is_the_castagnoli_polynomial() -> None:
    assert checksum_of(ChecksumKind.CRC32C)(b"123456789", 0) == 0xE3069283


def test_crc32_is_zlibs() -> None:
    assert checksum_of(ChecksumKind.CRC32)(b"123456789", 7) == zlib.crc32(b"123456789", 7)


@pytest.mark.parametrize("kind", ChecksumKind)
def test_a_checksum_goes_on_from_a_value(kind: ChecksumKind) -> None:
    checksum = checksum_of(kind)
    assert checksum(b"tail", checksum(b"head", 99)) == checksum(b"headtail", 99)
    assert checksum(memoryview(b"head"), 99) == checksum(b"head", 99)


def test_the_faster_one_is_preferred_where_it_is_installed() -> None:
    assert PREFERRED is ChecksumKind.CRC32C


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "crc32c", None)
    checksum_of.cache_clear()
    with pytest.raises(StoreError, match="install the crc32c package"):
        checksum_of(ChecksumKind.CRC32C)
