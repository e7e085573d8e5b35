"""Chapter 10: vmap and pytrees."""
