"""VNN-LIB queries as data."""
