"""Questions that a node asks the others, and its answers to theirs: once, within a second, or not
at all. They go in the lane ASK of the links, and keep no order with anything else.

:mod:`question` is what goes over a link; :mod:`asking` and :mod:`answering` are the two ends.
:mod:`answers` finds whoever knows the kind of a question. :mod:`peers` is the cluster as the
management API sees it. What asks and answers knows its kinds of questions; nobody here does.
"""
