"""CustomResourceDefinitions: what a valid one is, the resources it defines, and its life from creation to removal."""
