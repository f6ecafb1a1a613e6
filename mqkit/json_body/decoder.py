"""JSON bodies as values of a type."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from mqkit.errors import ConfigurationError
from mqkit.incoming import BodyMisfit, Decode
from mqkit.message import Delivery

FAULTS_SHOWN = 5
"""Faults of a body that an error names: the first few tell what is wrong with it."""


def json_decoder(annotation: Any, asker: str) -> Decode:
    """A decoder of JSON bodies; see :func:`mqkit.incoming.decoder_of`."""
    try:
        adapter = TypeAdapter(annotation)
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise ConfigurationError(
            f"{asker} asks for {annotation!r}, which can't be made from JSON:"
            f" {str(error).splitlines()[0]}"
        ) from None
    return lambda delivery: _validated(adapter, delivery)


def _validated(adapter: TypeAdapter[Any], delivery: Delivery) -> Any:
    try:
        return adapter.validate_json(delivery.body)
    except ValidationError as error:
        # Without the input: this goes into logs, and the body may be nobody's business there.
        faults = error.errors(include_input=False, include_url=False, include_context=False)
        shown = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'body'}: {fault['msg']}"
            for fault in faults[:FAULTS_SHOWN]
        )
        more = f"; and {len(faults) - FAULTS_SHOWN} more" if len(faults) > FAULTS_SHOWN else ""
        raise BodyMisfit(shown + more) from None
