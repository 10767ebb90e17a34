"""From a finding to a person: the alarm machine, its engine, the wording, and the delivery of texts."""
