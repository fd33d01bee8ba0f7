"""Programs with one planted fault each."""
