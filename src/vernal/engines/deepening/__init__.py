"""The engine `deepening`: claims without a bound, as far as finitely many steps decide them."""
