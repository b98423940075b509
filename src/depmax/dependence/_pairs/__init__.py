"""TODO: say what this drawer holds."""
