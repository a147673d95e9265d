"""Rough parts of default kernels in few columns, which a bound on few rows does not show."""
