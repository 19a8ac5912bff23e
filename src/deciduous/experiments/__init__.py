"""The evaluation of the paper, run with our forest: data sets, experiments, and a report with both sets of figures.

`deciduous experiment --help` on the command line; docs/experiments.md says what is run and what came out.
"""
