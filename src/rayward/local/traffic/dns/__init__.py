"""Names of services and pods, answered in their network; other names are asked of this machine's resolvers."""
