"""The child process that compiles, verifies and times models, and the protocol that it speaks."""
