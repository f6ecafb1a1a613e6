"""The answer to a proposal as the end of an agreement: for requests, which wait for the one and are
handled again then."""

from __future__ import annotations

from reference_broker.cluster.coordinator import InDoubt, Lost, Won
from reference_broker.cluster.metadata.proposal import Answered
from reference_broker.cluster.metadata.view import View
from reference_broker.core.work.until import Agreement
from reference_broker.errors import NotAgreed, ReplyCode


def conclude(agreement: Agreement, view: View, answered: Answered) -> None:
    """End ``agreement`` as ``answered`` says: for what was carried out when ``view`` has it."""
    if isinstance(answered, Won):
        agreement.is_agreed = True
        if view.revision.value < answered.revision:
            view.revision.when_at(answered.revision, agreement.happened)
            return
    elif not isinstance(answered, Lost):
        doubt = "may have been made" if isinstance(answered, InDoubt) else "was not made"
        agreement.failure = NotAgreed(
            ReplyCode.INTERNAL_ERROR, f"the change {doubt}: {answered.reason}"
        )
    agreement.happened()
