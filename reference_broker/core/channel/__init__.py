"""A channel: its consumers, confirms, settlements and transactions, and what becomes of a publish.

Law: the answers of a channel leave in the order of its methods; a frame behind one that waits
for the disk or for a page waits, too. Read ``channel.py`` first.
"""
