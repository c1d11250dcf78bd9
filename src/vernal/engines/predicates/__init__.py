"""The engine `predicates`: policy predicate abstraction of systems over bounded integers."""
