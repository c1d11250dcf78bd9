"""The engine `deepening`: claims without a time bound, where finitely many steps decide them."""
