"""The proposals of one node: one transaction at a time, of as many proposals as fit into it.

    IDLE --ask--> ASKING --won--> IDLE
     ^              | |
     |      no answer | lost, or stood down
     |--again-- PAUSED|
     |--seen--- LOOKING      until the view has seen why

An outcome that is not known is resolved by writing, never by reading: a read that shows the old
value does not prove that the lost request will not arrive yet. So every transaction compares, and
puts, a key of the node's own, ``proposals/<node>``, whose value is a number that no other
transaction has. Of all that compare one revision of that key only one can be carried out, ever. So
the same transaction may be asked for again and again, and that key says whether it was carried out.
If it was not, and a compare fails, the node *stands down*: a transaction of nothing but the node's
own key shuts out whatever may still be under way, before anybody is told that he lost.

A node that was replaced by a later run of itself finds another run's value there, and proposes
nothing more.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from enum import Enum, auto
from functools import partial

from reference_broker.cluster.coordinator import (
    Compare,
    Coordinator,
    Delete,
    Event,
    InDoubt,
    Lost,
    Outcome,
    Put,
    Refused,
    Transaction,
    Won,
)
from reference_broker.cluster.metadata.keys import PROPOSALS
from reference_broker.cluster.metadata.proposal import Answered, Batch, Proposal, seen_proposal
from reference_broker.cluster.metadata.view import View
from reference_broker.cluster.pause import Pause, Timer
from reference_broker.core.base.transitions import TransitionTable

PATIENCE_S = 30.0
"""Seconds after which whoever proposed is told that etcd does not answer."""

NUDGE_S = 0.5
"""Seconds after which the view is helped to see what etcd had seen. It mostly does so before the
answer comes."""

WAITING_MAX = 10_000
"""Proposals that wait. Each holds a channel, or an HTTP request, which can't propose another one
meanwhile: more than that many wait only when etcd does not answer."""


class ProposalsState(Enum):
    """See the picture at the top of the module."""

    IDLE = auto()
    ASKING = auto()
    PAUSED = auto()
    LOOKING = auto()
    ENDED = auto()


class ProposalsEvent(Enum):
    """An event of the life of proposals."""

    ASK = auto()
    WON = auto()
    STOOD_DOWN = auto()
    LOST = auto()
    NO_ANSWER = auto()
    REFUSED = auto()
    AGAIN = auto()
    SEEN = auto()
    END = auto()


PROPOSALS_TABLE = TransitionTable(
    {
        (ProposalsState.IDLE, ProposalsEvent.ASK): ProposalsState.ASKING,
        (ProposalsState.ASKING, ProposalsEvent.WON): ProposalsState.IDLE,
        (ProposalsState.ASKING, ProposalsEvent.REFUSED): ProposalsState.IDLE,
        (ProposalsState.ASKING, ProposalsEvent.STOOD_DOWN): ProposalsState.LOOKING,
        (ProposalsState.ASKING, ProposalsEvent.LOST): ProposalsState.LOOKING,
        (ProposalsState.ASKING, ProposalsEvent.NO_ANSWER): ProposalsState.PAUSED,
        (ProposalsState.PAUSED, ProposalsEvent.AGAIN): ProposalsState.IDLE,
        (ProposalsState.LOOKING, ProposalsEvent.SEEN): ProposalsState.IDLE,
        **{(state, ProposalsEvent.END): ProposalsState.ENDED for state in ProposalsState},
    }
)


class Proposals:
    """The proposals of the node ``node_name`` in its ``run``. :meth:`begin` has to follow once the
    view is whole. ``replaced`` is called when another run of the node has taken over,
    and ``gone_back`` when the store has a lower revision, its second argument, than the view had
    before: then the process has to end."""

    def __init__(
        self,
        coordinator: Coordinator,
        prefix: str,
        view: View,
        after: Timer,
        node_name: str,
        run: int,
        replaced: Callable[[], None],
        gone_back: Callable[[int, int], None],
    ) -> None:
        self.state = ProposalsState.IDLE
        self.proposed = 0
        """The number of proposals that were ever made."""
        self.outcomes: Counter[type[Answered]] = Counter()
        """The number of those that were answered, by answer. Read only."""
        self._coordinator = coordinator
        self._prefix = prefix
        self._view = view
        self._after = after
        self._pause = Pause(after)
        self._key = PROPOSALS + node_name
        self._run = run
        self._replaced = replaced
        self._gone_back = gone_back
        self._view_at = 0
        """The revision of the view when the transaction was asked for."""
        self._number = 0
        """Of the transaction that was asked for last."""
        self._revision = 0
        """Of the node's own key, as its last transaction has left it."""
        self._seen = (0, 0, 0)
        """Run, number and revision of that key in the view."""
        self._has_begun = self._is_claimed = False
        """The node's own key may be claimed; it is this run's."""
        self._waiting: deque[Proposal] = deque()
        self._batch = Batch()
        self._batch_number = 0
        """Of the transaction of the batch; a later number is asked for to stand down from it."""
        self._is_in_doubt = False
        """The transaction of the batch may have been carried out, or may be yet."""
        self._looks = 0
        """The number of times that it has waited for the view."""
        self._alone = 0
        """Proposals at the head of those that wait which are asked for one by one, since etcd
        takes one of them from nobody."""
        self._trouble = "no answer so far"
        view.follow(self._key, self)

    def __len__(self) -> int:
        """The number of proposals that are not answered."""
        return sum(each.is_open for each in (*self._batch.proposals, *self._waiting))

    def begin(self) -> None:
        """Take the node's own key over from an earlier run."""
        self._has_begun = True
        self._revision = self._view.revision_of(self._key)
        self._ask_next()

    def propose(
        self,
        compares: Sequence[Compare],
        changes: Sequence[Put | Delete],
        answer: Callable[[Answered], None],
    ) -> None:
        """Have ``changes`` made, if every compare holds; keys come without the prefix. ``answer``
        is called once, never within the call: after :data:`PATIENCE_S` at the latest."""
        proposal = Proposal(compares, changes, answer)
        self.proposed += 1
        if self.state is ProposalsState.ENDED:
            self._after(0, partial(self._end, proposal, Refused("the node is ending")))
            return
        if len(self._waiting) >= WAITING_MAX:
            reason = f"{WAITING_MAX} changes of the cluster's metadata are waiting for etcd"
            self._after(0, partial(self._end, proposal, Refused(reason)))
            return
        proposal.deadline = self._after(PATIENCE_S, partial(self._give_up, proposal))
        self._waiting.append(proposal)
        if self.state is ProposalsState.IDLE and self._has_begun:
            self._ask_next()

    def end(self, reason: str) -> None:
        """Ask nothing more; whoever was not answered is told :class:`InDoubt`, and ``reason``.
        Idempotent."""
        if self.state is ProposalsState.ENDED:
            return
        self._pass(ProposalsEvent.END)
        self._pause.end()
        unanswered = [*self._batch.proposals, *self._waiting]
        self._batch, self._waiting = Batch(), deque()
        for proposal in unanswered:
            self._end(proposal, InDoubt(reason))

    def _end(self, proposal: Proposal, answered: Answered) -> None:
        if proposal.is_open:
            self.outcomes[type(answered)] += 1
        proposal.end(answered)

    def changed(self, event: Event) -> None:
        """See :class:`~reference_broker.cluster.metadata.view.Follower`: the node's own key."""
        if event.key != self._key or event.value is None:
            return
        _, run, number = seen_proposal(event)
        self._seen = (run, number, event.revision)
        if run > self._run and self.state is not ProposalsState.ENDED:
            self.end("another run of this node has begun")
            self._replaced()

    # Asking

    def _pass(self, event: ProposalsEvent) -> None:
        self.state = PROPOSALS_TABLE.after(self.state, event)

    def _ask_next(self) -> None:
        """Ask for the transaction of what waits, if anything does; the first one of a run is asked
        for in any case."""
        self._batch = batch = Batch()
        while self._waiting and not (self._alone and batch.proposals):
            if self._waiting[0].is_open and not batch.take(self._waiting[0]):
                break
            self._waiting.popleft()
        self._alone = max(self._alone - 1, 0)
        if batch.proposals or not self._is_claimed:
            self._number += 1
            self._batch_number = self._number
            self._is_in_doubt = False
            self._ask()

    @property
    def _stands_down(self) -> bool:
        return self._number != self._batch_number

    def _ask(self) -> None:
        self._pass(ProposalsEvent.ASK)
        head = self._prefix
        compares = [Compare(head + self._key, self._revision)]
        changes: list[Put | Delete] = [Put(head + self._key, b"%d %d" % (self._run, self._number))]
        if not self._stands_down:
            compares += [each._replace(key=head + each.key) for each in self._batch.compares]
            changes += [each._replace(key=head + each.key) for each in self._batch.changes]
        self._view_at = self._view.revision.value
        self._coordinator.propose(Transaction(tuple(compares), tuple(changes)), self._answered)

    def _answered(self, outcome: Outcome) -> None:
        if self.state is not ProposalsState.ASKING:
            return  # ended meanwhile
        if isinstance(outcome, Won | Lost) and outcome.revision < self._view_at:
            self.end("etcd has another history")
            self._gone_back(self._view_at, outcome.revision)
        elif isinstance(outcome, Won) and self._stands_down:
            self._pause.reset()
            self._pass(ProposalsEvent.STOOD_DOWN)
            self._look(outcome.revision)
        elif isinstance(outcome, Won):
            self._pause.reset()
            self._pass(ProposalsEvent.WON)
            self._carried_out(outcome.revision)
        elif isinstance(outcome, Lost):
            self._pause.reset()
            self._pass(ProposalsEvent.LOST)
            self._look(outcome.revision)
        elif isinstance(outcome, Refused) and outcome.lasting and not self._stands_down:
            self._pause.reset()
            self._pass(ProposalsEvent.REFUSED)
            self._refused(outcome)
        else:
            self._pass(ProposalsEvent.NO_ANSWER)
            self._trouble = outcome.reason
            self._is_in_doubt = self._is_in_doubt or isinstance(outcome, InDoubt)
            self._pause.begin(self._ask_again)

    def _ask_again(self) -> None:
        """Ask once more: for the same, where it may have been carried out, else for what waits by
        now."""
        self._pass(ProposalsEvent.AGAIN)
        if self._is_in_doubt:
            self._ask()
        else:
            self._put_back(self._batch.proposals)
            self._ask_next()

    def _put_back(self, proposals: Sequence[Proposal]) -> None:
        self._waiting.extendleft(reversed(proposals))

    def _give_up(self, proposal: Proposal) -> None:
        """Whoever proposed has waited long enough."""
        proposal.deadline = None
        in_batch = any(each is proposal for each in self._batch.proposals)
        if in_batch and (self._is_in_doubt or self.state is ProposalsState.ASKING):
            self._end(proposal, InDoubt(f"etcd has not answered: {self._trouble}"))
        else:
            self._end(proposal, Refused(f"etcd can't be asked: {self._trouble}"))

    # Outcomes

    def _carried_out(self, revision: int) -> None:
        """The transaction of the batch was carried out at ``revision``."""
        self._revision = revision
        self._is_claimed = True
        ended = self._batch.proposals
        self._ask_next()
        for proposal in ended:
            self._end(proposal, Won(revision))

    def _refused(self, refused: Refused) -> None:
        """etcd does not take the transaction, for the sake of one of the batch: find out which."""
        if self._is_in_doubt:  # it may have taken it before
            self._stand_down()
            return
        ended = self._batch.proposals
        if len(ended) > 1:
            self._alone = len(ended)
            self._put_back(ended)
            ended = []
        self._ask_next()
        for proposal in ended:
            self._end(proposal, refused)

    def _look(self, revision: int) -> None:
        """Go on when the view has seen what etcd had at ``revision``."""
        self._looks += 1
        seen = partial(self._seen_why, self._looks, revision)
        if self._view.revision.value >= revision:
            seen()
            return
        self._view.revision.when_at(revision, seen)
        if not self._stands_down:
            self._after(NUDGE_S, partial(self._nudge, self._looks))

    def _nudge(self, look: int) -> None:
        """The view has not got there: it hears nothing of what others write to that etcd. Of this
        node's own next transaction it does."""
        if self.state is ProposalsState.LOOKING and look == self._looks:
            self._pass(ProposalsEvent.SEEN)
            self._stand_down()

    def _seen_why(self, look: int, at: int) -> None:
        if self.state is not ProposalsState.LOOKING or look != self._looks:
            return  # ended meanwhile, or nudged
        self._pass(ProposalsEvent.SEEN)
        run, number, revision = self._seen
        is_own = run == self._run and self._batch_number <= number <= self._number
        # By an earlier request, whose answer was lost; or an earlier run may have written the key.
        self._revision = revision if is_own else self._view.revision_of(self._key)
        if is_own and number == self._batch_number:
            self._carried_out(revision)
        elif is_own:
            self._is_claimed = True
            self._sort_out(at)
        elif self._stands_down:
            self._ask()
        elif self._is_in_doubt:
            self._stand_down()
        else:
            self._sort_out(at)

    def _stand_down(self) -> None:
        """Shut out whatever of the batch may still be under way."""
        self._number += 1
        self._ask()

    def _sort_out(self, lost_at: int) -> None:
        """The transaction of the batch was not carried out and never will be: answer those whose
        compares don't hold, and propose the others again."""
        ended = [each for each in self._batch.proposals if not self._holds(each)]
        self._put_back([each for each in self._batch.proposals if self._holds(each)])
        self._ask_next()
        for proposal in ended:
            self._end(proposal, Lost(lost_at))

    def _holds(self, proposal: Proposal) -> bool:
        return all(self._view.revision_of(key) == revision for key, revision in proposal.compares)
