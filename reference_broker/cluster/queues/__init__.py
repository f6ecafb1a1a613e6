"""Queues at their home: a node works with the queues of another one, over the link between them.

Both ends of each link play both parts. The *origin* has the clients: it publishes, consumes and
asks, by :mod:`linked_home`. The *home* has the queues: it serves what comes over one link by
:mod:`origin_session`. Read :mod:`queue_links` first, which has both for every node.

    lane       to the home                              to the origin
    PUBLISH    PUBLISH                                  CONFIRMED, REFUSED (replies)
    DELIVER    ATTACH DETACH GRANT SETTLE GET           ATTACHED NOT_ATTACHED DETACHED GONE
               COUNT PURGE                              DELIVERY GOT GOT_NOTHING COUNTED PURGED
                                                        UNANSWERED

What is settled or asked never waits behind what is published, or acks could not make the room that
publishes wait for. A question says which publish it comes after, and is answered after that one.

The law: a wrong peer loses its link, and nothing else happens; what a peer makes large goes in
portions; and when a link is down, everything that it brought and that is not done is undone.
"""
