"""What a container is started with: its environment, its image, its user. Pure functions of objects."""
