"""Rows of the training set, by where they come from."""
