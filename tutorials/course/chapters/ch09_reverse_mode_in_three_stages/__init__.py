"""Chapter 9: reverse mode in three stages."""
