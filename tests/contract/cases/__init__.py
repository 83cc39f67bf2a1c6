"""The cases, one module per theme, each with a list CASES."""
