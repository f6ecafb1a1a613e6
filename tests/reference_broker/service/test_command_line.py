"""The options of `python -m reference_broker`, as the standard library parses them."""

from __future__ import annotations

from pathlib import Path

import pytest

from reference_broker.errors import BadConfiguration
from reference_broker.runtime.tls.config import LoginFrom, Verify
from reference_broker.service.command_line import parse
from reference_broker.service.options import DESCRIPTION, TABLE, BrokerOptions


def test_values_have_their_types() -> None:
    words = "--listen 127.0.0.1:0 --tls-cert=a.pem --tls-verify peer --cert-login-from san_dns"
    assert parse(words.split()) == BrokerOptions(
        listen="127.0.0.1:0",
        tls_cert=Path("a.pem"),
        tls_verify=Verify.PEER,
        cert_login_from=LoginFrom.DNS_NAME,
    )
    assert parse([]) == BrokerOptions()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--lisen x", "unrecognized arguments: --lisen x"),
        ("--lis x", "unrecognized arguments: --lis x"),  # no abbreviations: typer has none
        ("here", "unrecognized arguments: here"),
        ("--listen", "--listen: expected one argument"),
        ("--tls-verify perhaps", "choose from"),
    ],
)
def test_a_mistyped_option_is_one_line(words: str, said: str) -> None:
    with pytest.raises(BadConfiguration) as refused:
        parse(words.split())
    assert said in str(refused.value)
    assert str(refused.value).endswith("(see: python -m reference_broker --help)")
    assert "\n" not in str(refused.value)


def test_the_help_has_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert shown.startswith("usage: python -m reference_broker [-h]")
    assert DESCRIPTION.split()[:5] == shown.partition("\n\n")[2].split()[:5]
    for option in TABLE:
        assert f"  {option.flag} " in shown
