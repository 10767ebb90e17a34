"""What several tests share: small sites, scripted lines and devices, a broker of one's own."""
