"""Fits the model, chooses its settings, learns its confidence, exports it."""
