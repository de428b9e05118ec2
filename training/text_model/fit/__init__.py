"""Fits the model, chooses its settings, calibrates and exports it."""
