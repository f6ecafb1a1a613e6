"""Does a checkpoint belong to a spool folder, and how do they go on together? Pure.

Spark gives the offset of its newest finished batch, so batches up to it can be settled. A batch
that stands after it was planned, and its offset perhaps not logged, or the checkpoint was set back
by hand: it is given again as it is, under its own name. Anything else is another query's
checkpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mqkit_spark.source.stream.offset import START, Offset
from mqkit_spark.source.stream.spool.faults import DataLoss, SpoolError


@dataclass(frozen=True, slots=True)
class Standing:
    """A batch in the folder; ``is_taken`` if some of its messages may have been acked."""

    offset: Offset
    is_taken: bool


@dataclass(frozen=True, slots=True)
class Following:
    """To do at a start offset: batches to settle, the batch to give ``again`` (else plan one with
    ``number``), and the words for what is lost, if something is."""

    settle: Sequence[Offset]
    again: Offset | None
    number: int
    lost: str | None = None


def follow(
    start: Offset, last: Offset | None, standing: Sequence[Standing], *, fail_on_data_loss: bool
) -> Following:
    """The steps of a query that has finished all up to ``start``. ``last`` is the newest settled
    batch, ``standing`` are the others, in their order.

    Raises :exc:`~.faults.SpoolError` where the folder is another query's, and
    :exc:`~.faults.DataLoss`.
    """
    newest = max([start.batch, *(each.offset.batch for each in standing)])
    if last is not None:
        newest = max(newest, last.batch)
    later = [each.offset for each in standing if each.offset.batch > start.batch]
    again = later[0] if later else None
    if start == START:
        if last is not None or any(each.is_taken for each in standing):
            raise SpoolError(
                "the spool folder is that of a query with another checkpoint: take a new folder"
                " for a new checkpoint"
            )
        return Following((), again, newest + 1)
    over = [each.offset for each in standing if each.offset.batch <= start.batch]
    if start == last or start in over:
        return Following(over, again, newest + 1)
    if last is None and not standing:
        lost = f"the spool folder is new, and the checkpoint has batch {start.batch} already"
    elif last is not None and start.batch < last.batch and not over:
        lost = (
            f"the checkpoint was set back to batch {start.batch}, and the files up to batch"
            f" {last.batch} are gone"
        )
    else:
        raise SpoolError("the spool folder is that of a query with another checkpoint")
    if fail_on_data_loss:
        raise DataLoss(f"{lost}; failOnDataLoss=false goes on without them")
    return Following((), again, newest + 1, lost)
