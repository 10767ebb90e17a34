"""From the journal to the world: each sink is a cursor over the journal, moved on acknowledgement."""
