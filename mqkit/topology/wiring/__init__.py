"""The objects of a file or of a broker by their names: which belongs to which, and which way a
message goes. Read by doctor and graph. Pure."""
