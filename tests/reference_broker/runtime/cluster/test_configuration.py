"""configuration: the files that the settings of a node name."""

from __future__ import annotations

import ssl
from dataclasses import replace
from pathlib import Path

import pytest

from mqkit.testing.certificates import Authority
from reference_broker.errors import BadConfiguration
from reference_broker.runtime.cluster.configuration import cluster_config
from reference_broker.runtime.cluster_settings import ClusterSettings, EtcdSettings, LinkFiles
from reference_broker.runtime.etcd.config import Endpoint
from reference_broker.runtime.net.address import Address


@pytest.fixture
def settings(tmp_path: Path) -> ClusterSettings:
    secret, password = tmp_path / "secret", tmp_path / "password"
    secret.write_text("the secret\n")
    password.write_text("the password\n")
    return ClusterSettings(
        "prod",
        EtcdSettings(("http://127.0.0.1:1", "http://[::1]:2"), "mqkit", password),
        Address("127.0.0.1", 0),
        secret,
    )


def test_files_are_read_without_their_newline(settings: ClusterSettings) -> None:
    made = cluster_config(settings, "a", amqp="127.0.0.1:5672")
    assert (made.cluster, made.node, made.amqp, made.http) == ("prod", "a", "127.0.0.1:5672", "")
    assert made.etcd.endpoints == (Endpoint("127.0.0.1", 1), Endpoint("::1", 2))
    assert (made.etcd.user, made.etcd.password) == ("mqkit", "the password")
    settings.secret_file.write_text("the secret")
    assert cluster_config(settings, "a").secret.fingerprint == made.secret.fingerprint
    assert made.tls is None


def test_links_with_tls_verify_both_ends(settings: ClusterSettings, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    node = authority.issue("a", "127.0.0.1")
    files = LinkFiles(node.certificate, node.key, authority.path)
    made = cluster_config(replace(settings, tls=files), "a")
    assert made.tls is not None
    accepting, dialling = made.tls.for_accepting(), made.tls.for_dialling()
    assert accepting.verify_mode is dialling.verify_mode is ssl.CERT_REQUIRED
    assert dialling.check_hostname


def test_what_cannot_be_used_is_named(settings: ClusterSettings, tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.pem"
    cases = [
        (replace(settings, secret_file=nothing), "the cluster's secret can't be read from"),
        (
            replace(settings, etcd=replace(settings.etcd, password_file=nothing)),
            "the password for etcd can't be read from",
        ),
        (replace(settings, tls=LinkFiles(nothing, nothing, nothing)), "TLS certificate"),
    ]
    for wrong, said in cases:
        with pytest.raises(BadConfiguration, match=said) as raised:
            cluster_config(wrong, "a")
        assert str(nothing) in str(raised.value)
    with pytest.raises(BadConfiguration, match="is no endpoint"):
        cluster_config(replace(settings, etcd=EtcdSettings(("127.0.0.1:1",))), "a")
