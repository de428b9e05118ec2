"""From rows to numbers: the vocabulary and what it is worth."""
