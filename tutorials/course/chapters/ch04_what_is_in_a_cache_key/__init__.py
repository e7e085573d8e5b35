"""Chapter 4: what is in a cache key."""
