"""The interpreters of programs: staging, jvp, linearize, partial evaluation, transposition, vmap."""
