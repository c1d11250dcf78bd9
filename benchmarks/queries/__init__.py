"""Questions about networks alone: Vernal beside other verifiers, and instance sets of our own."""
