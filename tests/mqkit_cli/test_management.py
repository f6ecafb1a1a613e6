"""A management API's answers, in words."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from mqkit_cli.connection import target_of
from mqkit_cli.errors import CommandError
from mqkit_cli.management import ManagementApi, reason_of


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"error": "bad_request", "reason": "no\\nway"}', "no way"),
        (
            json.dumps(
                {"error": "bad_request", "reason": ["amqp_error", [*map(ord, "no way")], "none"]}
            ).encode(),
            "amqp_error: no way",
        ),
        (b'{"reason": ["no_such_vhost", "shop"]}', "no_such_vhost: shop"),
        (b'{"reason": []}', "it gave no reason"),
        (b"<html>Bad Gateway</html>", "<html>Bad Gateway</html>"),
        (b"[1]", "[1]"),
        (b"", "it gave no reason"),
    ],
)
def test_a_reason(body: bytes, reason: str) -> None:
    assert reason_of(body) == reason


@pytest.mark.parametrize("url", ["127.0.0.1:15672", "amqp://127.0.0.1", "http://"])
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(CommandError, match="is not one"):
        ManagementApi(target_of(None, url), 1)


@pytest.mark.parametrize("url", ["https://u:CAN/ARY@h:1", "https://u:CAN#ARY@h", "http://u:C?N@h"])
def test_a_password_that_breaks_the_url_is_not_shown(url: str) -> None:
    with pytest.raises(CommandError, match="is not one") as refusal:
        ManagementApi(target_of(None, url), 1)
    assert "CAN" not in str(refusal.value)
    assert "ARY" not in str(refusal.value)


def test_nobody_answers() -> None:
    with pytest.raises(CommandError, match=r"^no management API at http://127\.0\.0\.1:1: [^@]*$"):
        ManagementApi(target_of(None, "http://a:sesame@127.0.0.1:1"), 5).get("/api/definitions")


def test_a_place_that_was_guessed_is_to_be_named() -> None:
    with pytest.raises(CommandError, match="say where it is with --management-url"):
        ManagementApi(target_of("amqp://127.0.0.2:1/", None), 5).get("/api/definitions")


def test_it_does_not_wait_for_ever() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        api = ManagementApi(target_of(None, f"http://127.0.0.1:{silent.getsockname()[1]}"), 0.1)
        with pytest.raises(CommandError, match=r"^waited 0\.1 s for the management API at [^(]*$"):
            api.get("/api/definitions")
        with pytest.raises(CommandError, match="it may have been done all the same"):
            api.post("/api/definitions", b"{}")


def test_a_wrong_password(reference_broker: Any) -> None:
    url = reference_broker.management_url.replace("//", "//guest:sesame@")
    with pytest.raises(CommandError, match="refused the login: Login failed") as refused:
        ManagementApi(target_of(None, url), 5).get("/api/definitions")
    assert "sesame" not in str(refused.value)


def test_a_url_with_its_api_path(reference_broker: Any) -> None:
    api = ManagementApi(target_of(None, f"{reference_broker.management_url}/api/"), 5)
    assert json.loads(api.get("/api/whoami"))["name"] == "guest"
