"""The engine `bounds`: linear bounds propagated through time."""
