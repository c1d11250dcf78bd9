"""Two checkouts beside each other: the same questions to both in turn, what each says and what it takes."""
