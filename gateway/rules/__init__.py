"""From a reading to a finding: each module judges one kind of provision. Pure."""
