"""Everything that the project claims about speed and memory, measured beside its peers in the same run.

`make bench`, or `python -m benchmarks --help` from the root of the project.
"""
