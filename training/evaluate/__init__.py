"""How well labelled logs are answered: figures, comparisons, reports, pictures, simpler ways to hold against it."""
