"""What is wired besides instruments: contacts that are heard, outputs that are driven, the sampler. Pure."""
