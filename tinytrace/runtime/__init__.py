"""From C text to something that runs: the only layer that knows the disk, the compiler and the C runtime."""
