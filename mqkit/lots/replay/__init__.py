"""Replays: messages of a lot sent back to work.

edits      changes of a message, by the paths of conditions
outgoing   a message as it is sent: where to, and with which headers
report     the counts, and the messages in doubt, by name
replaying  windows of at most 100: published, confirmed, acked
"""
