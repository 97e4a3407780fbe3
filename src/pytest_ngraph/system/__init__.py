"""What we ask of the operating system and the interpreter."""
