"""One adapter per back end behind a small protocol, and a fake for tests."""
