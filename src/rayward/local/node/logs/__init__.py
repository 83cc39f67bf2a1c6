"""Reading the logs that containers left."""
