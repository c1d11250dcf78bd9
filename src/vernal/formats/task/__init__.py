"""Task files: TOML that says what is verified and what is asked of it."""
