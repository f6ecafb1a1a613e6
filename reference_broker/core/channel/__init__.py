"""A channel: its consumers, confirms, settlements and transactions, and what becomes of a publish.

Law: the answers of a channel leave in the order of its methods; behind a method that waits for the
disk, all later frames of the channel wait. Read ``channel.py`` first.
"""
