"""Work in portions (law 7): the budget of a turn of the loop.

Law: whoever does work in proportion to something that a client chose takes its units off the
:class:`~reference_broker.core.work.budget.Budget`, and stops when it is spent, with its place kept.
"""
