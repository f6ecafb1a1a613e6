"""The way from what a broker has to what a file wants: differences, a plan of steps, its apply."""
