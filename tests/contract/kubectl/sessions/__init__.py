"""The sessions, one module per theme, each with a list SESSIONS."""
