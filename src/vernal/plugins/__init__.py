"""Where people work: properties as tests of pytest, task files before a commit, verdicts while a policy is trained."""
