"""``mqkit broker store``: a data folder that no broker runs on, checked, dumped and repaired."""
