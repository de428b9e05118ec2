"""Regular expressions that are compiled when first used, or in the wheel."""
