"""The way out of the pods' network: an HTTP proxy that stands in it and reaches out of it."""
