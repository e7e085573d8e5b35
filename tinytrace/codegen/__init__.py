"""From a jaxpr to kernels and from kernels to C text; opens no file and starts no process."""
