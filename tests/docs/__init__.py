"""What the docs say, done or checked."""
