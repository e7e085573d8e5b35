"""Every operation in one room: its type, its meaning in NumPy, its derivatives, its batching rule, and its C."""
