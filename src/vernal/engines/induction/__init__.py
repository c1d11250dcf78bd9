"""The engine `induction`: a claim about every step that any step keeps."""
