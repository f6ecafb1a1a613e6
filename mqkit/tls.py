"""TLS as a client sets it up: whom to trust, what to show, which name to expect.

In a URL it stands behind the question mark, by the names of RabbitMQ's URI query parameters
(rabbitmq.com/docs/uri-query-parameters)::

    amqps://app:secret@mq1/?cacertfile=/etc/mq/ca.pem&certfile=app.pem&keyfile=app.key
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from mqkit.errors import ConfigurationError

_VERIFY = {"verify_peer": True, "verify_none": False}


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """The files are PEM; without ``cacertfile`` the system's authorities are trusted.
    ``server_name`` is the name that the server's certificate must have, where it is not the host of
    the URL. With ``verify`` off anybody may be the server: for tests only."""

    cacertfile: str | None = None
    certfile: str | None = None
    keyfile: str | None = None
    server_name: str | None = None
    verify: bool = True

    def context(self) -> ssl.SSLContext:
        """Reads the files. Raises :exc:`~mqkit.errors.ConfigurationError` naming the one that
        can't be used."""
        try:
            context = ssl.create_default_context(cafile=self.cacertfile)
        except (OSError, ValueError) as error:
            raise _unusable(f"cacertfile {self.cacertfile}", error) from None
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.certfile is not None:
            try:
                context.load_cert_chain(self.certfile, self.keyfile)
            except (OSError, ValueError) as error:
                files = f"certfile {self.certfile} with keyfile {self.keyfile or self.certfile}"
                raise _unusable(files, error) from None
        return context

    def request_extensions(self) -> dict[str, str]:
        """What an HTTP request says of it to httpx, beside the context."""
        return {} if self.server_name is None else {"sni_hostname": self.server_name}

    def query(self) -> str:
        """As it stands in a URL; empty where everything is as by default."""
        given = {
            "cacertfile": self.cacertfile,
            "certfile": self.certfile,
            "keyfile": self.keyfile,
            "server_name_indication": self.server_name,
            "verify": None if self.verify else "verify_none",
        }
        return urlencode({name: value for name, value in given.items() if value is not None})


DEFAULT_TLS = TlsOptions()


def query_parameters(query: str) -> Mapping[str, str]:
    """A URL's parameters by name; the last one wins."""
    return dict(parse_qsl(query, keep_blank_values=True))


_PARAMETERS = ("cacertfile", "certfile", "keyfile", "server_name_indication", "verify")


def said_of_tls(parameters: Mapping[str, str]) -> list[str]:
    """Those of a URL's parameters that are about TLS."""
    return [name for name in _PARAMETERS if name in parameters]


def tls_options(parameters: Mapping[str, str], is_tls: bool) -> TlsOptions:
    """What a URL says of TLS, and whether that is what its scheme speaks. Other parameters are
    somebody else's.

    Raises :exc:`~mqkit.errors.ConfigurationError`.
    """
    said = said_of_tls(parameters)
    if said and not is_tls:
        raise ConfigurationError(
            f"the URL has {said[0]}, and its scheme is the one without TLS (amqps:// and https://"
            " speak TLS)"
        )
    if empty := [name for name in said if not parameters[name]]:
        raise ConfigurationError(f"{empty[0]} in the URL is empty")
    verify = parameters.get("verify", "verify_peer")
    if verify not in _VERIFY:
        raise ConfigurationError(f"verify={verify} in the URL: verify_peer or verify_none")
    if "keyfile" in parameters and "certfile" not in parameters:
        raise ConfigurationError("the URL has a keyfile, and no certfile that it belongs to")
    return TlsOptions(
        parameters.get("cacertfile"),
        parameters.get("certfile"),
        parameters.get("keyfile"),
        parameters.get("server_name_indication"),
        _VERIFY[verify],
    )


def _unusable(what: str, error: Exception) -> ConfigurationError:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
    return ConfigurationError(f"TLS: {what} can't be used: {reason}")
