"""What is verified, as frozen data: expressions, networks, agents, environments, systems and flows."""
