"""The chat platforms: one module each, found by its name (``registry.Platform`` says what it declares)."""
