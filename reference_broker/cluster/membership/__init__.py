"""The nodes of a cluster: founding it, joining it, and who is there."""
