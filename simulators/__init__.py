"""The bench: an industrial user's discharge, and instruments that look like the real ones on real Modbus lines."""
