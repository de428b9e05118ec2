"""The trained text classifier: features, the shipped weights, a model of the user's own."""
