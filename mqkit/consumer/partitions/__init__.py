"""Order by key with concurrency: the messages of one key are handled one at a time, in order."""
