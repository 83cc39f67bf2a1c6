"""Programs for maintainers: what is generated, and recordings that no test makes for itself."""
