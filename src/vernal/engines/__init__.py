"""Decision procedures: each takes a question and answers with a result that tells the truth."""
