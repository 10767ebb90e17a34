"""From an instrument to a sample: buses, the Modbus adapter, register decoding, device profiles, recorded series."""
