"""Chapter 8: a cache that you can trust."""
