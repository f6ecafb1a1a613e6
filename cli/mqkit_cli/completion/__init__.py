"""Names of a broker's objects for a shell that completes a command line.

Somebody is typing: a broker is asked for :data:`~mqkit_cli.completion.asking.ANSWER_S` at most, and
whatever goes wrong, there are no names. ``parameters.py`` is what the commands take of this.
"""
