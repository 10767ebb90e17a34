"""The command line by subject: each file adds its commands and hands them to the body that carries them out."""
