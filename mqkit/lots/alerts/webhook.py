"""A webhook: alerts as JSON, POSTed to a URL that is a secret.

The request goes out by the transport of httpx, and not by its client: that would follow redirects
where a caller asks it to, and log the URL, and many a URL of a webhook has its password in its
path. Nothing here says the URL, in no error either.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mqkit.errors import ConfigurationError, MqkitError
from mqkit.timing.clock import Clock

if TYPE_CHECKING:
    from mqkit.lots.alerts.alert import Alert

WEBHOOK_VARIABLE = "MQKIT_ALERT_WEBHOOK"
TRIES = 3
TIMEOUT_S = 5.0
"""For one try, from the name's look-up to the status line."""
FIRST_PAUSE_S = 1.0
"""Before the second try; twice that before the third."""

_LOG = logging.getLogger(__name__)


class WebhookFailed(MqkitError):
    """The last try did not end with a 2xx status."""


def check_webhook(url: str) -> None:
    """Raises :exc:`~mqkit.errors.ConfigurationError`, without the URL, for one that can't be used.

    A login in front of the host is refused: nothing here would send it.
    """
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good or "@" in urlsplit(url).netloc:
        raise ConfigurationError(
            f"{WEBHOOK_VARIABLE} is not a URL like https://HOST/PATH (without a login before HOST)"
        )


class Webhook:
    """POSTs alerts to one URL."""

    def __init__(self, url: str, clock: Clock) -> None:
        check_webhook(url)
        self._url = url
        self._clock = clock

    def __repr__(self) -> str:
        return "Webhook('***')"

    async def post(self, alert: Alert) -> None:
        """Return when it was taken. Raises :exc:`WebhookFailed` when all tries have failed."""
        body = json.dumps(alert.to_dict()).encode()
        told = ""
        for number in range(TRIES):
            if number:
                await self._clock.sleep(FIRST_PAUSE_S * 2 ** (number - 1))
            told = await self._try(body)
            if not told:
                return
            _LOG.info("the alert webhook: try %d of %d: %s", number + 1, TRIES, told)
        raise WebhookFailed(f"an alert about {alert.queue!r} was not taken: {told}")

    async def _try(self, body: bytes) -> str:
        """Empty text, or why it was not taken."""
        import httpx  # 100 ms that only who has a webhook should wait for

        request = httpx.Request(
            "POST",
            self._url,
            content=body,
            headers={"content-type": "application/json", "user-agent": "mqkit"},
            extensions={"timeout": dict.fromkeys(("connect", "read", "write", "pool"), TIMEOUT_S)},
        )
        try:
            async with (
                self._clock.timeout(TIMEOUT_S),
                httpx.AsyncHTTPTransport() as transport,
            ):
                response = await transport.handle_async_request(request)
                await response.aclose()
        except TimeoutError:
            return f"no answer within {TIMEOUT_S:g} s"
        except (httpx.HTTPError, OSError) as error:
            return type(error).__name__
        return "" if response.is_success else f"status {response.status_code}"
