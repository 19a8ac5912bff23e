"""The evaluation of the paper, run with our forest: its data sets, its experiments, and a report beside its figures.

`deciduous experiment --help` on the command line; docs/experiments.md says what is run and what came out.
"""
