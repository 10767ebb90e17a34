"""From a sample to a reading: calibration, quality control, the dry interlock, flow through primary devices. Pure."""
