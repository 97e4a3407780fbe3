"""What stored baselines find and miss on unchanged code, in simulation and in runs that were measured."""
