"""Sensor diagnosis: what is wrong with an instrument, its NE 107 letter, and the one thing a technician does. Pure."""
