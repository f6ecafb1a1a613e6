"""link_counts: what both ends count is the same, and nothing is lost with a link."""

from __future__ import annotations

from random import Random

from reference_broker.cluster.link.lane import Lane
from reference_broker.cluster.link.link_counts import LinkCounts, PastLinks
from reference_broker.testing.link_pair import LinkPair


def test_one_end_receives_what_the_other_has_sent() -> None:
    pair = LinkPair().opened()
    random = Random(7)
    for _ in range(200):
        lane = random.choice([Lane.PUBLISH, Lane.DELIVER])
        end = random.choice([pair.dialer, pair.acceptor])
        end.link.send(lane, 1, (bytes(random.randrange(300_000)),))
        if random.random() < 0.3:
            pair.settle()
    pair.settle()
    for sender, receiver in ((pair.dialer, pair.acceptor), (pair.acceptor, pair.dialer)):
        sent, received = sender.link.counts, receiver.link.counts
        assert sent.sent_frames == received.received_frames
        assert sent.sent_octets == received.received_octets
        assert all(received.received_frames[lane] > 20 for lane in (Lane.PUBLISH, Lane.DELIVER))
        assert received.received_frames[Lane.CONTROL] >= 2, "the handshake"
        assert received.received_frames[Lane.ASK] == 0


def test_links_that_have_ended_stay_counted() -> None:
    past = PastLinks()
    assert (past.number("b"), past.counts_with("b", None).sent_frames) == (0, [0] * len(Lane))
    counts = LinkCounts()
    counts.sent_frames[Lane.PUBLISH] = 3
    counts.stalls[Lane.DELIVER] = 1
    past.add("b", counts)
    past.add("c", LinkCounts())
    now = LinkCounts()
    now.sent_frames[Lane.PUBLISH] = 4
    assert past.counts_with("b", now).sent_frames[Lane.PUBLISH] == 7
    past.add("b", now)
    whole = past.counts_with("b", None)
    assert (whole.sent_frames[Lane.PUBLISH], whole.stalls[Lane.DELIVER]) == (7, 1)
    assert (past.number("b"), past.number("c")) == (2, 1)
    assert (now.sent_frames[Lane.PUBLISH], counts.sent_frames[Lane.PUBLISH]) == (4, 3)
