"""The rules that can be broken, by name."""

from __future__ import annotations

from enum import Enum


class BrokenRule(Enum):
    """Each is a rule of the protocol, turned around. Without it committed operations get lost."""

    CUT_BY_MARK = "cut by mark"
    """A follower of a new leader cuts its log at its own commit mark, not where the logs part."""

    COMMIT_ALONE = "commit alone"
    """The leader waits for nobody's disk but its own, and commits below the floor."""

    OUTSIDER = "outsider"
    """Whoever is not in the in-sync set stands for leader, too."""

    DISK_KEEPS_NUMBER = "disk keeps number"
    """A replica that lost its disk comes back as the copy that it was."""

    DROP_KEEPS_NUMBER = "drop keeps number"
    """A replica that drops its copy, and starts from nothing, goes on as the copy that it was."""

    ACK_FIRST = "ack first"
    """A follower acks what it has not synced."""

    NO_COMPARE = "no compare"
    """A candidate writes the key, whatever has become of it."""

    OLD_ELECTION = "old election"
    """A candidate leads by an election that it has won before a later leader, whom it has followed
    since."""

    SHRINK_WHEN_PROPOSED = "shrink when proposed"
    """The leader doesn't wait any more for whom it has proposed to take out."""

    GROW_WHEN_ANSWERED = "grow when answered"
    """The leader waits for whom it has proposed to take in only once it knows that it is so."""

    BY_READING = "by reading"
    """An outcome that is not known is taken from what the key is: if it is still the old one, the
    proposal is forgotten."""
