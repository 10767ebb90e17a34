"""The journal: what was read, judged, raised and told, committed before the world hears of it."""
