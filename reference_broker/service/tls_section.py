"""The section ``tls`` of the broker's configuration file."""

from __future__ import annotations

from pathlib import Path

from mqkit.topology.file.document import ScalarNode
from mqkit.topology.file.fault import Fault
from mqkit.topology.file.section import Section
from reference_broker.errors import BadConfiguration
from reference_broker.runtime.config import Address
from reference_broker.runtime.tls.config import LoginFrom, TlsConfig, TlsVersion, Verify

TLS_KEYS = (
    "listen", "https", "certificate", "key", "key_password", "authority", "verify",
    "https_verify", "min_version", "login_from",
)  # fmt: skip


def read_address(section: Section, key: str) -> Address | None:
    """``HOST:PORT``; ``None`` where there is none, or a fault was noted."""
    text = section.text(key)
    if text is None:
        return None
    try:
        return Address.parse(text)
    except BadConfiguration as error:
        section.faults.append(Fault(section.line_of(key), section.child(key), str(error)))
        return None


def read_tls(top: Section, folder: Path) -> TlsConfig | None:
    """The TLS configuration in the file's ``tls`` section; ``None`` without one. The files that it
    names are looked at later."""
    node = top.node("tls")
    if node is None:
        return None
    section = Section(node, "tls", TLS_KEYS, top.faults)
    certificate, key = _file(section, "certificate", folder), _file(section, "key", folder)
    config = TlsConfig(
        certificate or folder,
        key or folder,
        authority=_file(section, "authority", folder),
        amqp=read_address(section, "listen"),
        https=read_address(section, "https"),
        verify=section.choice("verify", Verify) or Verify.NONE,
        https_verify=section.choice("https_verify", Verify) or Verify.NONE,
        oldest=section.choice("min_version", TlsVersion) or TlsVersion.TLS_1_2,
        login_from=section.choice("login_from", LoginFrom) or LoginFrom.DISTINGUISHED_NAME,
        key_password=_secret(section, "key_password"),
    )
    if section.is_mapping:
        if certificate is None or key is None:
            _fault(top, "expected certificate and key, the names of two PEM files")
        if not (section.has("listen") or section.has("https")):
            _fault(top, "expected listen or https, where TLS is spoken")
    return config


def _file(section: Section, key: str, folder: Path) -> Path | None:
    text = section.text(key)
    return None if text is None else folder / text


def _secret(section: Section, key: str) -> str | None:
    """A fault never shows what was found."""
    node = section.node(key)
    if node is None:
        return None
    if isinstance(node, ScalarNode) and isinstance(node.value, str) and node.value:
        return node.value
    expected = "expected the password, as text (quote it if it is a number)"
    section.faults.append(Fault(section.line_of(key), section.child(key), expected))
    return None


def _fault(top: Section, text: str) -> None:
    top.faults.append(Fault(top.line_of("tls"), "tls", text))
