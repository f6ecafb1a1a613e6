"""``mqkit demo``: the whole product in one run, with a ledger at the end.

Records go through a broker that is killed on the way; handlers fail on purpose; what is parked is
replayed; a Spark job sinks the same records. Everybody writes down the ids that it saw, and the
ledger (:mod:`mqkit_cli.demo.ledger`) compares those files.
"""
