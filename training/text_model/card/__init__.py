"""The model card, and the comparisons that stand in it."""
