"""A handler of batches: ``async def store(rows: Batch[Row]) -> None``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, get_args, get_origin

from mqkit.consumer.acks.manual_delivery import ManualDelivery
from mqkit.consumer.batches.batch import Batch
from mqkit.consumer.handler import Handler, HandlerFunction, annotations_of
from mqkit.errors import ConfigurationError
from mqkit.incoming import Decode, decoder_of
from mqkit.message import Delivery
from mqkit.resources import AppResources

BatchFunction: TypeAlias = Callable[[Batch[Any]], object]
"""A function that handles a batch, for type checkers."""


class AnyBatchHandler(Protocol):
    """A handler of batches, as a consumer calls it."""

    takes_deliveries: bool

    @property
    def name(self) -> str: ...

    @property
    def decode(self) -> Decode: ...

    @property
    def timeout_s(self) -> float | None: ...

    async def __call__(self, *arguments: Any) -> object: ...


class BatchHandler(Handler):
    """Takes one argument, annotated ``Batch[...]``, ``Batch`` or nothing."""

    def __init__(
        self,
        function: HandlerFunction,
        *,
        timeout_s: float | None = None,
        threads: int = 1,
        resources: AppResources | None = None,
    ) -> None:
        super().__init__(function, timeout_s=timeout_s, threads=threads, resources=resources)
        annotations = annotations_of(function, self.name)
        if len(annotations) != 1:
            raise ConfigurationError(
                f"the batch handler {self.name} takes {len(annotations)} arguments; it takes one,"
                " the Batch"
            )
        annotation = annotations[0]
        if get_origin(annotation) is Batch:
            (item,) = get_args(annotation)
        elif annotation is Batch or annotation is Delivery:
            item = Delivery
        else:
            item = None
        if item is None or item is ManualDelivery:
            raise ConfigurationError(
                f"the batch handler {self.name} asks for {annotation!r}; annotate its argument"
                " Batch[...] with the type of one item"
            )
        self.decode = decoder_of(item, f"the batch handler {self.name}")
        self.takes_deliveries = item is Delivery
        """True if the items are the deliveries."""
