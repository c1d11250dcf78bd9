"""The tests of Vernal; folders mirror those of the package."""
