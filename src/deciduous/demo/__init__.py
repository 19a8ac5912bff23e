"""What the package is for, in a minute: a clinic, a patient who asks to be forgotten, the proof, and the latency.

Run with `make demo`, or `python -m deciduous.demo --help`.
"""
