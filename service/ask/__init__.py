"""Asks a language model for its conclusion, by the pack alone; what it says is checked like every other source (classifier)."""
