"""Files for TLS that can't be used: one clear line each."""

from __future__ import annotations

import ssl
from dataclasses import replace
from pathlib import Path

import pytest

from mqkit.testing.certificates import Authority
from reference_broker.errors import BadConfiguration
from reference_broker.runtime.etcd.config import Endpoint, EtcdConfig
from reference_broker.runtime.etcd.tls_context import tls_context

SAFE = EtcdConfig((Endpoint("127.0.0.1", 2379, tls=True),))


def test_none_is_needed_without_tls() -> None:
    assert tls_context(EtcdConfig((Endpoint("127.0.0.1", 2379),))) is None


def test_members_are_always_verified(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    client = authority.issue("client")
    for config in (
        SAFE,
        replace(SAFE, authority=authority.path, certificate=client.certificate, key=client.key),
    ):
        context = tls_context(config)
        assert context is not None
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert context.check_hostname


def test_files_that_can_not_be_used_are_named(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    client, other = authority.issue("client"), authority.issue("other")
    gone = tmp_path / "gone.pem"
    for config, words in [
        (replace(SAFE, authority=gone), f"authority {gone}: No such file"),
        (replace(SAFE, authority=client.key), f"authority {client.key}: "),
        (replace(SAFE, certificate=gone, key=client.key), f"certificate {gone} with key"),
        (replace(SAFE, certificate=client.certificate, key=other.key), "KEY_VALUES_MISMATCH"),
    ]:
        with pytest.raises(BadConfiguration) as raised:
            tls_context(config)
        assert words in str(raised.value)
        assert "\n" not in str(raised.value)
