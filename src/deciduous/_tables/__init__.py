"""Rows as users have them, in CSV and Arrow, as columns of the types that are asked for."""
