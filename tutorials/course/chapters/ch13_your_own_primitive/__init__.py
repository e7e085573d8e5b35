"""Chapter 13, the capstone: your own primitive."""
