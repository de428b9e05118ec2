"""Output formats: one module each, behind one function ``render(diagnoses, options) -> str``."""
