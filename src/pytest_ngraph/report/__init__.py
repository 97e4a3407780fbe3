"""Reports: records and metrics as people read them. Render only."""
