"""The output formats: one module each, found by its name (``interface.Format`` says what it declares)."""
