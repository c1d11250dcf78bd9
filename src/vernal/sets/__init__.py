"""Sets of states, what moves them, certified bounds over them, the query core, and the search over all of them."""
