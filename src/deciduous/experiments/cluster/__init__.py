"""Forests on large clusters: a model of what changes cost, and a simulation of them."""
